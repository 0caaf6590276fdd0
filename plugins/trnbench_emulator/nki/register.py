"""Registers of the engines' sequencers: integers known while the kernel runs."""

from __future__ import annotations

from trnbench.errors import KernelError
from trnbench_emulator.nki import site


class VirtualRegister:
    """A register. Its value is unknown where it was loaded from memory in timing mode."""

    __slots__ = ("value",)

    def __init__(self, value: int | None = None) -> None:
        self.value = value

    def known(self, use: str) -> int:
        """The value; raises `KernelError` when no value flows through this run."""
        if self.value is None:
            raise KernelError(
                f"the value of a register decides {use}, and is not known ({site.here()})",
                cause="it was never set, or was loaded from memory while only shapes are recorded",
                try_="run the kernel with values (functional mode), which times it too",
            )
        return self.value

    def __bool__(self) -> bool:
        return self.known("a branch") != 0

    def __int__(self) -> int:
        return self.known("a number")

    def __index__(self) -> int:
        return self.known("an index")

    def __repr__(self) -> str:
        return f"VirtualRegister({'?' if self.value is None else self.value})"
