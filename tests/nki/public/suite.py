"""NKIBench: the baselines of AccelOpt, and what others made of them, at the sizes they are written for."""

from __future__ import annotations

from typing import Any

import numpy as np
import references as ref
from entry import Entry, made

BASE, PROMOTED = "AccelOpt", "kda-for-trainium"
HEADER = (
    "import numpy as np; import neuronxcc.nki as nki; import neuronxcc.nki.language as nl",
    "import neuronxcc.nki.typing as nt; import neuronxcc.nki.isa as nisa",
    "from neuronxcc.nki import trace; from neuronxcc.nki.language import par_dim",
)
M, EPSILON = 4096, 1e-5


def _silu() -> tuple[Any, ...]:
    return (made(128, 32, 7168),)


def _normed() -> tuple[Any, ...]:
    return made(32, 128, 1024), made(8, 128, 2048)


def _added() -> tuple[Any, ...]:
    return made(M, 1024), made(1024, 2048), EPSILON, made(M, 1024), made(1024)


def _adding() -> tuple[Any, ...]:
    return made(M, 2048), made(2048, 2048), EPSILON, made(M, 2048), made(2048)


def _turning() -> tuple[Any, ...]:
    return made(128, 4096), made(64, 4096), made(64, 4096)


def _stepped() -> tuple[Any, ...]:
    return made(10944, 2048), made(10944, 2048), made(10944, 2048), abs(made(10944, 2048))


def _scanned() -> tuple[Any, ...]:
    shapes = (256, 7168), (256, 7168), (256, 16), (16, 7168), (16, 7168)
    return tuple(made(*shape, scale=0.05) for shape in shapes)


def _short() -> tuple[Any, ...]:
    shapes = (256, 1024), (256, 1024), (256, 4), (4, 1024), (4, 1024)
    return tuple(made(*shape, scale=0.05) for shape in shapes)


def _sigmoid_times(x: Any) -> Any:
    (x,) = ref.wide(x)
    return x / (1 + np.exp(-x))


def _rows(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])


def _normed_product(x: Any, w: Any) -> Any:
    return ref.rms_norm(_rows(x), epsilon=0.0) @ np.asarray(_rows(w), np.float64)


def _sum_normed_product(x: Any, w: Any, epsilon: float, z: Any, gain: Any) -> Any:
    return ref.rms_norm(x + z, gain, epsilon) @ np.asarray(w, np.float64)


def _product_sum_normed(x: Any, w: Any, epsilon: float, z: Any, gain: Any) -> Any:
    x, w, z = ref.wide(x, w, z)
    return ref.rms_norm(x @ w + z, gain, epsilon)


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    x, cos, sin = ref.wide(x, cos, sin)
    first, second = np.split(x, 2)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos])


def _step(theta: Any, g: Any, m: Any, v: Any) -> Any:
    """One of AdamW: decay 1e-5, rate 0.01, betas 0.9 and 0.999, the first step."""
    theta, g, m, v = ref.wide(theta, g, m, v)
    moved = (0.9 * m + 0.1 * g) / (np.sqrt(1000 * (0.999 * v + 0.001 * g * g)) + 1e-8)
    return theta - 1e-5 * theta - 0.01 * moved


def _scan(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    return ref.mamba(delta[None], u[None], a, b[None], c[None])[0]


def _both(operation: str, size: str, promoted: str, given: Any, reference: Any, **rest: Any) -> list[Entry]:
    path = f"workspaces/{operation}/runs/{promoted}.py::kernel"
    return [
        Entry(BASE, f"NKIBench/kernels/{operation}_{size}_0.py::kernel", given, reference, generation="trn1"),
        *([Entry(PROMOTED, path, given, reference, **rest)] if promoted else []),
    ]


ENTRIES: tuple[Entry, ...] = (
    *_both("silu", "M4096_N7168", "silu_v3_s7", _silu, _sigmoid_times),
    *_both("rmsnorm_matmul", "M4096_N2048_K1024", "rmsnorm_matmul_v4_bf16_split", _normed, _normed_product),
    *_both("add_rmsnorm_matmul", "M4096_N2048_K1024", "add_rmsnorm_matmul_v3_bf16_split", _added,
           _sum_normed_product),
    *_both("matmul_add_rmsnorm", "M4096_N2048_K2048", "", _adding, _product_sum_normed),
    *_both("rope_single_freq_apply", "B1_H64_N4096_D128", "rope_v3_layoutB_pe", _turning, _turned),
    *_both("adamw", "M10944_N2048", "adamw_v2_ch1824", _stepped, _step),
    *(Entry(BASE, f"samples/nki/mamba_{name}.py::kernel", _short, _scan, generation="trn1", header=HEADER)
      for name in ("v1", "v2", "v3", "optimized")),
    Entry(BASE, "samples/nki/rope_optimized.py::kernel", _turning, _turned, generation="trn1", header=HEADER),
    Entry(PROMOTED, "workspaces/mamba/runs/mamba_v4_s4unroll.py::kernel", _scanned, _scan),
)  # fmt: skip
