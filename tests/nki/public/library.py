"""More of nki-library, of the older samples, of the SDK, of nki-autotune's steps; against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import references as ref
from entry import BF16, Entry, made

LIBRARY = "src/nkilib_src/nkilib/"


def _interleaved(x: Any, cos: Any, sin: Any) -> Any:
    x, cos, sin = ref.wide(x, cos, sin)
    half = x.shape[0] // 2
    first, second, cos, sin = x[:half], x[half:], cos[:, :, None], sin[:, :, None]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin])


def _gradients(*given: Any) -> Any:
    return ref.attention_gradients(*given[:3], given[4])


def _attended(heads: int, depth: int, length: int) -> tuple[Any, ...]:
    """q, k, v, what attention makes of them, its gradient, the logarithm of each row's sum."""
    q, k, v, dy = (made(1, heads, depth, length, scale=0.5) for _ in range(4))
    turned = [np.swapaxes(each, -1, -2) for each in (q, k, v)]
    out = np.swapaxes(ref.attention(*turned, depth**-0.5, causal=True), -1, -2).astype(np.float32)
    sums = ref.log_sums(turned[0], turned[1], depth**-0.5, causal=True)
    lse = np.swapaxes(sums.reshape(1, heads, length // 128, 128), -1, -2).astype(np.float32)
    return q, k, v, out, dy, np.ascontiguousarray(lse)


def _library() -> list[Entry]:
    def at(path: str, *rest: Any, **named: Any) -> Entry:
        return Entry("nki-library", LIBRARY + path, *rest, **named)

    return [
        at("core/embeddings/rope.py::RoPE",
           lambda: (made(128, 2, 4, 256), made(64, 2, 256), made(64, 2, 256)), _interleaved),
        at("core/attention/attention_bwd.py::attention_bwd", lambda: _attended(1, 128, 512), _gradients,
           tolerance=2e-2, named={"use_causal_mask": True, "mixed_precision": True}),
        at("core/output_projection/output_projection_tkg.py::output_projection_tkg",
           lambda: (made(128, 1, 8, 4, dtype=BF16), made(1024, 512, scale=0.05, dtype=BF16)),
           lambda x, w: np.einsum("dbns,ndh->bsh", *ref.wide(x, w.reshape(8, 128, -1))).reshape(4, -1),
           tolerance=2e-2),
        at("experimental/conv/depthwise_conv1d.py::depthwise_conv1d_implicit_gemm",
           lambda: (made(2, 256, 1, 258), made(256, 1, 1, 3)), ref.convolved_channels, tolerance=1e-2,
           named={"feature_group_count": 256}),
        at("experimental/conv/conv1d.py::conv1d", lambda: (made(2, 128, 256), made(3, 128, 128, scale=0.1)),
           ref.convolved_rows, tolerance=1e-2),
    ]  # fmt: skip


def _samples() -> list[Entry]:
    old, new, tutorials = "nki-samples-c8327e0", "nki-samples", "src/nki_samples/tutorials/"
    return [
        Entry(old, "src/nki_samples/reference/attention.py::flash_attn_bwd",
              lambda: (*_attended(1, 128, 1024), None), _gradients, (1, 1), 2e-2, "trn1",
              {"use_causal_mask": True, "mixed_precision": True}),
        Entry(old, "src/nki_samples/reference/tutorial.py::add_kernel_nx8x128x512",
              lambda: (made(2, 8, 128, 512), made(2, 8, 128, 512), 2 * 8 * 128 * 512),
              lambda a, b, _: a + b, (2,)),
        *(Entry(new, f"{tutorials}attention_fwd_performance/attention_kernels.py::attn_fwd_v{version}",
                lambda version=version: tuple(made(128, 128 if version in ("1", "2") else 2048, scale=0.5)
                                              for _ in range(3)),
                ref.turned_attention, tolerance=2e-2)
          for version in ("1", "2", "3", "4", "5", "6", "7", "8", "8a", "9", "11")),
        *(Entry(new, f"{tutorials}tensor_addition/{name}_nki_kernels.py::nki_tensor_add_kernel_",
                lambda: (made(256, 1024), made(256, 1024)), np.add, (2, 2))
          for name in ("spmd_tensor_addition", "tensor_addition")),
        Entry(new, "contributed/maxpooling.py::max_pooling_2d_stride_1", lambda: (made(448, 448), 3),
              ref.max_pool),
        Entry(new, "contributed/interpolate_bilinear_fwd.py::interpolate_bilinear_2x_fwd",
              lambda: (made(2, 64, 30, 30),), ref.grown_twice),
        Entry(new, "contributed/interpolate_trilinear_fwd.py::interpolate_trilinear_2x_fwd",
              lambda: (made(2, 64, 7, 7, 7),), ref.grown_twice),
    ]  # fmt: skip


def _steps() -> list[Entry]:
    """Each step of a product's tuning, at the size it is written for."""
    return [
        Entry("nki-autotune", f"kernel_transforms.py::kernel_{number}",
              lambda: (made(2048, 2048, dtype=BF16), made(2048, 2048, dtype=BF16)), ref.product,
              tolerance=2e-2, imports="nkigym/src")
        for number in range(16)
    ]  # fmt: skip


ENTRIES: tuple[Entry, ...] = (*_library(), *_samples(), *_steps())
