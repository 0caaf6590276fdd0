"""neuronxcc.nki.compiler: decorators and allocation, which direct a compiler that is not here."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.language import no_reorder
from trnbench_emulator.nki.memory import Buffer


class Placed:
    """A buffer with an allocation: `sbuf.alloc(…)`, `sbuf.mod_alloc(…)`. Where tiles lie is not modelled."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    def alloc(self, *args: Any, **named: Any) -> Placed:
        return self

    def mod_alloc(self, *args: Any, **named: Any) -> Placed:
        return self

    def auto_alloc(self, *args: Any, **named: Any) -> Placed:
        return self


sbuf, psum = Placed(Buffer.SBUF), Placed(Buffer.PSUM)


def _unchanged(function: Any = None, **_: Any) -> Any:
    return (lambda each: each) if function is None else function


skip_middle_end_transformations = _unchanged
enable_stack_allocator = _unchanged
force_auto_alloc = _unchanged

__all__ = [
    "enable_stack_allocator", "force_auto_alloc", "no_reorder", "psum", "sbuf",
    "skip_middle_end_transformations",
]  # fmt: skip
