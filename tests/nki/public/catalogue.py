"""Public kernels that are tried unchanged: where they are, what they are given, what they should give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import course
import library
import numpy as np
import references as ref
import suite
import tuned
from entry import BF16, RNG, Entry, made, positive

OLD, NEW = "nki-samples-c8327e0", "nki-samples"
TUTORIALS = "src/nki_samples/tutorials/"
REFERENCE = "src/nki_samples/reference/"


def _tutorials(folder: str) -> list[Entry]:
    products = "matrix_multiplication/matrix_multiplication_nki_kernels.py::nki_matmul_"
    mamba = "fused_mamba/mamba_nki_kernels.py::mamba_v"

    def at(path: str, *rest: Any, **named: Any) -> Entry:
        return Entry(folder, TUTORIALS + path, *rest, **named)

    def scanned() -> tuple[Any, ...]:
        return (
            abs(made(1, 256, 512)) / 10, made(1, 256, 512), -abs(made(256, 4)), made(1, 4, 512),
            made(1, 4, 512),
        )  # fmt: skip

    return [
        at("average_pool2d/average_pool2d_nki_kernels.py::tensor_avgpool_kernel",
           lambda: (made(16, 8, 12), 2), ref.average_pool),
        at("transpose2d/transpose2d_nki_kernels.py::tensor_transpose2D_kernel_",
           lambda: (made(5, 12), (3, 4)), ref.turned_parts),
        *(at(products + name, lambda m=m, k=k, n=n: (made(k, m), made(k, n)), ref.product)
          for name, k, m, n in (("basic_", 128, 64, 512), ("tiled_", 256, 256, 1024),
                                ("hoist_load_", 256, 256, 1024),
                                ("block_free_dimension_", 256, 256, 1024),
                                ("fully_optimized_", 1024, 2048, 1024))),
        *(at(mamba + version, scanned, ref.mamba) for version in "123"),
    ]  # fmt: skip


def _qkv(depth: int, length: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(made(depth, length, scale=0.5) for _ in range(3))


def _samples() -> list[Entry]:
    def at(path: str, *rest: Any, **named: Any) -> Entry:
        return Entry(OLD, path, *rest, **named)

    forward = TUTORIALS + "attention_fwd_performance/attention_kernels.py::attn_fwd_v"
    rows = positive(256, 512)
    return [
        *_tutorials(NEW),
        *_tutorials(OLD),
        *(at(f"{TUTORIALS}tensor_addition/{name}_nki_kernels.py::nki_tensor_add_kernel_",
             lambda: (made(256, 1024), made(256, 1024)), np.add, (2, 2))
          for name in ("spmd_tensor_addition", "tensor_addition")),
        *(at(forward + version, _qkv(128, 128 if version in ("1", "2") else 2048),
             ref.turned_attention, tolerance=2e-2)
          for version in ("1", "2", "3", "4", "5", "6", "7", "8", "8a", "9", "10", "11")),
        at(TUTORIALS + "softmax/softmax_nki_kernels.py::nki_softmax_kernel", lambda: (rows,), ref.softmax),
        at(TUTORIALS + "rmsnorm/rmsnorm_nki_kernels.py::nki_rmsnorm_kernel",
           lambda: (made(250, 512), made(512)), lambda x, g: ref.rms_norm(x, g, 0.0)),
        *(at(f"{TUTORIALS}layernorm/layernorm_nki_kernel.py::nki_layernorm_kernel_v{version}",
             lambda: (made(300, 1000), 1e-5, made(1000), made(1000)), ref.layer_norm)
          for version in "12"),
        at(TUTORIALS + "sd_attention/sd_attention_nki_kernels.py::fused_self_attn_for_SD_small_head_size",
           lambda: tuple(positive(1024, 64) for _ in range(3)),
           lambda q, k, v: ref.attention(q, k, v, 0.125), tolerance=1e-2),
        at(REFERENCE + "attention.py::fused_self_attn_for_SD_small_head_size",
           lambda: (positive(1, 64, 1024), positive(1, 1024, 64), positive(1, 1024, 64)),
           lambda q, k, v: ref.attention(q.swapaxes(1, 2), k, v, 0.125), (1,), 1e-2),
        at(REFERENCE + "allocated_attention.py::allocated_fused_self_attn_for_SD_small_head_size",
           lambda: (positive(1, 128, 1024), positive(1, 128, 1024), positive(1, 1024, 128)),
           lambda q, k, v: ref.attention(q.swapaxes(1, 2), k.swapaxes(1, 2), v, 0.125).swapaxes(1, 2),
           (1,), 1e-2),
        at(REFERENCE + "allocated_fused_linear.py::allocated_fused_rms_norm_qkv",
           lambda: (made(1, 128, 512), made(512, 512, scale=0.1)),
           lambda x, w: ref.rms_norm(x) @ np.asarray(w, np.float64), None, 1e-2),
        at(REFERENCE + "vision.py::resize_nearest_fixed_dma_kernel",
           lambda: (made(2, 30, 20, 64), (2, 59, 38, 64)),
           lambda x, _: x[:, np.arange(59) * 30 // 59][:, :, np.arange(38) * 20 // 38], (2,)),
        at(REFERENCE + "vision.py::adaptive_avg_pool2d_kernel",
           lambda: (made(2, 16, 14, 14), 7), ref.adaptive_pool),
        at("contributed/matmul.py::matmul",
           lambda: (made(1024, 2048, dtype=np.float16), made(1024, 2048, dtype=np.float16)),
           ref.product, None, 1e-2),
        at("contributed/maxpooling.py::max_pooling_2d_stride_1", lambda: (made(448, 448), 3), ref.max_pool),
        at("contributed/interpolate_bilinear_fwd.py::interpolate_bilinear_2x_fwd",
           lambda: (made(2, 64, 30, 30),), ref.grown_twice),
        at("contributed/interpolate_trilinear_fwd.py::interpolate_trilinear_2x_fwd",
           lambda: (made(2, 64, 7, 7, 7),), ref.grown_twice),
    ]  # fmt: skip


def _others() -> list[Entry]:
    fusion, course = "trainium-kernel-fusion", "xaviergonzalez__asst4-trainium2"

    def dense() -> tuple[Any, ...]:
        return made(256, 256, scale=0.2), made(256, 512, scale=0.2), made(1, 512)

    def conv(pool: int, dtype: Any) -> Callable[[], tuple[Any, ...]]:
        return lambda: (
            made(1, 128, 32, 18, dtype=dtype), made(128, 128, 3, 3, scale=0.1, dtype=dtype),
            made(128, dtype=dtype), pool,
        )  # fmt: skip

    return [
        Entry(fusion, "kernels/baseline/attention.py::baseline_attention", _qkv(128, 512),
              ref.turned_attention),
        Entry(fusion, "kernels/fused/attention.py::fused_attention", _qkv(128, 512), ref.turned_attention),
        Entry(fusion, "kernels/baseline/softmax.py::softmax_kernel", lambda: (made(256, 512),), ref.softmax),
        Entry(fusion, "kernels/baseline/mlp_gemm.py::gemm_kernel", dense,
              lambda x, w, b: ref.product(x, w) + b),
        Entry(fusion, "kernels/baseline/mlp_gemm.py::gelu_kernel", lambda: (made(256, 512),), ref.gelu),
        Entry(fusion, "kernels/fused/mlp.py::fused_mlp_pwl", dense, ref.dense_gelu),
        Entry(fusion, "kernels/fused/mlp.py::fused_mlp_taylor", dense, ref.dense_gelu, tolerance=3e-3),
        Entry(course, "part1/kernels.py::vector_add_naive", lambda: (made(128), made(128)), np.add),
        Entry(course, "part1/kernels.py::vector_add_tiled", lambda: (made(25600), made(25600)), np.add),
        Entry(course, "part1/kernels.py::vector_add_stream", lambda: (made(256000), made(256000)), np.add),
        Entry(course, "part1/kernels.py::matrix_transpose", lambda: (made(256, 384),), np.transpose),
        Entry(course, "part2/conv2d.py::fused_conv2d_maxpool", conv(1, np.float32), ref.convolved),
        Entry(course, "part2/conv2d.py::fused_conv2d_maxpool", conv(2, np.float32), ref.convolved),
        Entry("InferenceX", "experimental/operatorx/runners/trainium/backends/nkilib.py::_matmul_lnc2",
              lambda: (made(1024, 2048, dtype=BF16), made(1024, 2048, dtype=BF16)), ref.product, 2, 2e-2,
              "trn3"),
        *(Entry("nki-autotune", f"kernel_library/matmul/{path}",
                lambda: (made(2048, 2048, dtype=BF16), made(2048, 2048, dtype=BF16)), reference,
                tolerance=2e-2)
          for path, reference in (
              ("lhsT_rhs/kernel_hand_90.92mfu.py::matmul_lhsT_rhs_nkigym", ref.product),
              ("lhs_rhs/kernel_handtuned_89.26mfu.py::matmul_lhs_rhs_nkigym",
               lambda a, b: ref.product(a.T, b)))),
        Entry("nki-autotune", "kernel_library/rmsnorm_matmul/kernel_hand_online.py::rmsnorm_matmul_online",
              lambda: (made(2048, 2048, dtype=BF16), made(2048, 2048, scale=0.1, dtype=BF16)),
              lambda a, b: ref.rms_norm(a) @ np.asarray(b, np.float64), tolerance=3e-2),
        Entry("AccelOpt", "NKIBench/kernels/mamba_M7168_C256_S16_0.py::kernel",
              lambda: (abs(made(128, 64)) / 10, made(128, 64), -abs(made(128, 4)), made(4, 64), made(4, 64)),
              ref.mamba, generation="trn1"),
    ]  # fmt: skip


LIBRARY = "src/nkilib_src/nkilib/"


def _library() -> list[Entry]:
    """Kernels of nki-library. Its own tests need PyTorch; these are held against NumPy."""

    def at(path: str, *rest: Any, **named: Any) -> Entry:
        return Entry("nki-library", LIBRARY + path, *rest, **named)

    def heads() -> tuple[Any, ...]:
        return made(1, 1024, 128, scale=0.3), made(1, 128, 1024, scale=0.3), made(1, 1024, 128)

    def causal(q: Any, k: Any, v: Any) -> Any:
        return ref.attention(q, k.swapaxes(1, 2), v, causal=True)

    def whole(q: Any, k: Any, v: Any) -> Any:
        return ref.attention(q, k.swapaxes(1, 2), v)

    def projected(x: Any, w: Any) -> Any:
        return np.asarray(x, np.float64) @ np.asarray(w, np.float64)

    def merged(x: Any, w: Any) -> Any:
        x, w = ref.wide(x, w)
        return np.einsum("bnds,ndh->bsh", x, w.reshape(*x.shape[1:3], -1))

    def rows(count: int) -> Callable[[], tuple[Any, ...]]:
        return lambda: (made(1, count, 512, dtype=BF16), made(512, 768, scale=0.05, dtype=BF16))

    attending = "core/attention/attention_cte.py::attention_cte"
    return [
        at("core/cumsum/cumsum.py::cumsum", lambda: (made(256, 1000),), lambda x: np.cumsum(x, -1)),
        *(at("core/max/cascaded_max.py::cascaded_max", lambda: (made(8, 20000),),
             lambda x: (x.max(-1), x.argmax(-1)), grid) for grid in (None, 2)),
        at(attending, heads, causal, None, 1e-2),
        at(attending, heads, causal, 2, 1e-2),
        at(attending, heads, whole, None, 1e-2, named={"causal_mask": False}),
        *(at("core/qkv/qkv.py::qkv", rows(count), projected, None, 2e-2) for count in (4, 512)),
        at("core/output_projection/output_projection_cte/output_projection_cte.py::output_projection_cte",
           lambda: (made(1, 8, 128, 512, dtype=BF16), made(1024, 512, scale=0.05, dtype=BF16)), merged, None,
           2e-2),
        at("experimental/dynamic_shapes/dynamic_elementwise_add.py::dynamic_elementwise_add",
           lambda: (made(256, 512), made(256, 512), np.array([[2]], np.int32)), lambda x, y, _: x + y),
        at("core/subkernels/find_nonzero_indices.py::find_nonzero_indices",
           lambda: ((RNG.random((128, 1)) > 0.5).astype(np.float32),), ref.places_of_nonzero),
        at("experimental/loss/cross_entropy.py::cross_entropy_forward",
           lambda: (made(64, 4000), RNG.integers(0, 4000, 64).astype(np.int32)), ref.cross_entropy, None,
           2e-2, named={"chunk_size": 2000}),
        at("core/mlp/mlp.py::mlp",
           lambda: (made(1, 512, 512), *(made(512, 512, scale=0.05) for _ in range(3))), ref.swiglu),
    ]  # fmt: skip


ENTRIES: tuple[Entry, ...] = (
    *_samples(), *_library(), *_others(), *course.ENTRIES, *library.ENTRIES, *suite.ENTRIES, *tuned.ENTRIES
)  # fmt: skip
