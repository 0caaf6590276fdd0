"""Figures no document gives, looked up by name: the value, and the words that own up to it."""

from __future__ import annotations

import msgspec

from trnbench.generation import System


def assuming(system: System, name: str, value: float) -> System:
    """The system with another value for one of its assumptions, in base units."""
    book = system.book
    assumption = msgspec.structs.replace(book.assumptions[name], value=value)
    return msgspec.structs.replace(
        system, book=msgspec.structs.replace(book, assumptions={**book.assumptions, name: assumption})
    )


class AssumptionUse:
    """Assumptions of a system. Each one used is remembered, so that results can name it."""

    def __init__(self, system: System) -> None:
        self.book = system.book
        self.used: dict[str, float] = {}
        self.absent: list[str] = []

    def value(self, name: str) -> float:
        """Base units; 0 where the book has no assumption of that name, which is then said."""
        assumption = self.book.assumptions.get(name)
        if assumption is None:
            if name not in self.absent:
                self.absent.append(name)
            return 0.0
        self.used[name] = assumption.value
        return assumption.value

    def notes(self) -> tuple[str, ...]:
        lines = []
        for name in self.used:
            assumption = self.book.assumptions[name]
            lines.append(f"assumed {name}: {assumption.printed} {assumption.printed_unit}")
        lines += [f"no figure for {name}: taken as 0" for name in self.absent]
        return tuple(lines)
