"""Kernels that Autocomp started from. Its harnesses put the imports before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import references as ref
from entry import BF16, Entry, made, positive

FOLDER = "autocomp"
OLD = (
    "import numpy as np; import math; import neuronxcc.nki as nki; import neuronxcc.nki.language as nl",
    "import neuronxcc.nki.isa as nisa; import neuronxcc.nki.typing as nt",
    "from neuronxcc.nki.language import par_dim; NEG_INF = -9984.0",
)
NEW = (
    "import numpy as np; import math; import nki; import nki.isa as nisa",
    "import nki.language as nl; NEG_INF = -9984.0",
)


def _cumulative(x: Any) -> Any:
    return np.cumsum(np.asarray(x, np.float64), -1)


def _swapped(x: Any, axis: int) -> Any:
    """The axis put last."""
    return np.moveaxis(x, axis, -1)


def _filtered(x: Any, w: Any) -> Any:
    """Edges padded by one."""
    return ref.convolved_channels(np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1))), w)


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    x, cos, sin = ref.wide(x, cos, sin)
    first, second = np.split(x, 2)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin])


def _scanned() -> tuple[Any, ...]:
    return (
        abs(made(1, 256, 512)) / 10, made(1, 256, 512), -abs(made(256, 4)), made(1, 4, 512), made(1, 4, 512),
    )  # fmt: skip


def _spread() -> tuple[Any, ...]:
    """Of today's: every state's row given once for each of 128 partitions."""
    delta, u, a, b, c = _scanned()
    return delta, u, a, np.repeat(b, 128, 1), np.repeat(c, 128, 1)


def _gathered(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    return ref.mamba(delta, u, a, b[:, ::128], c[:, ::128])


def _group(folder: str, header: tuple[str, ...]) -> list[Entry]:
    today = folder.endswith("2")

    def at(path: str, *rest: Any, **named: Any) -> Entry:
        generation = named.pop("generation", "trn2" if today else "trn1")
        group, _, name = path.partition("/")
        kernel = f"sols/trn-{group}-{folder}/{name}_ref.py::solution"
        return Entry(FOLDER, kernel, *rest, header=header, generation=generation, **named)

    bare = {"padding": ((0, 0), (1, 1))}
    return [
        at("advanced/0_cumsum", lambda: (made(256, 1024),), _cumulative, tolerance=1e-3),
        at("advanced/1_transpose", lambda: (made(128, 64, 128), 1), _swapped),
        at("advanced/2_maxpool", lambda: (made(512, 512), 3), ref.max_pool),
        at("advanced/3_rope", lambda: (made(128, 512), made(64, 512), made(64, 512)), _turned),
        at("advanced/4_conv1d", lambda: (made(2, 256, 1, 256), made(256, 1, 1, 3)), _filtered, named=bare),
        at("tutorial/0_rmsnorm", lambda: (made(256, 512), made(512)), lambda x, g: ref.rms_norm(x, g, 0.0)),
        at("tutorial/1_layernorm", lambda: (made(256, 1024), 1e-5, made(1024), made(1024)), ref.layer_norm),
        at("tutorial/2_gemm", lambda: (made(2048, 1024, dtype=BF16), made(2048, 2048, dtype=BF16)),
           ref.product, tolerance=2e-2),
        at("tutorial/3_mamba", _spread if today else _scanned, _gathered if today else ref.mamba),
        at("tutorial/4_attention", lambda: tuple(made(128, 4096, scale=0.5) for _ in range(3)),
           ref.turned_attention, tolerance=2e-2),
        at("tutorial/5_sdattention", lambda: tuple(positive(4096, 64) for _ in range(3)),
           lambda q, k, v: ref.attention(q, k, v, 0.125), tolerance=2e-2),
    ]  # fmt: skip


ENTRIES: tuple[Entry, ...] = (*_group("nki1", OLD), *_group("nki2", NEW))
