"""What the emulator's commands ask published evidence about, beside cases of a run."""

from __future__ import annotations

import msgspec


class KernelQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's NKI kernel. `source` is "path/to/file.py::function" or "package.module:name"; `operation` is
    what an installed kernel that is written by it does, in the words of published points, else ""."""

    source: str
    dtype: str
    operation: str = ""


class CollectiveQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One collective, or message, of `size` bytes over `ranks` on `nodes` hosts."""

    collective: str
    size: float
    ranks: int
    cores_per_rank: int
    nodes: int = 1
    context: str
    point_to_point: bool = False
