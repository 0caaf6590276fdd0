"""nki.typing: names for annotations in kernels."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.names import refuse
from trnbench_emulator.nki.tensor import NkiTensor

tensor = NkiTensor

__all__ = ["NkiTensor", "tensor"]


def __getattr__(name: str) -> Any:
    raise refuse("nki.typing", name, __all__)
