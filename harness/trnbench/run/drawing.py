"""Sections of a report, each drawn from the runs as they are, whatever the one before it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.isolation.held import Misbehaved, held
from trnbench.isolation.interrupt import from_outside
from trnbench.lazy import resolve
from trnbench.results.run import Run
from trnbench.section import Section


class SectionFailed(TrnbenchError):
    """A section that raised, changed what it was given, took too long or returned something else."""


class Drawing:
    """Draws sections of `runs` one after the other."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)
        self._before = msgspec.msgpack.encode(self._runs)

    def section(self, section: Section) -> str:
        """What the section returns: markup, or text to be escaped.

        Raises `SectionFailed` when it raises anything (`SystemExit` too), takes longer than 10 s, calls
        `os._exit`, changes the runs or what all code of the process shares; both are put back.
        """
        try:
            with held():
                made: Any = resolve(section.render)(self._runs)
        except Misbehaved as error:
            self._unchanged()
            raise SectionFailed(f"it {error.what}") from None
        except BaseException as error:
            if from_outside(error):
                raise
            self._unchanged()
            raise SectionFailed(f"{type(error).__name__}{f': {error}' if str(error) else ''}") from error
        if not self._unchanged():
            raise SectionFailed("it changes the runs that it was given")
        if not isinstance(made, str):
            raise SectionFailed(f"it returns {type(made).__name__}, not markup")
        return made

    def _unchanged(self) -> bool:
        """Whether the runs are what they were; they are again when this returns."""
        try:
            same = msgspec.msgpack.encode(self._runs) == self._before
        except Exception:  # something in them that no run can hold
            same = False
        if not same:
            self._runs = msgspec.msgpack.decode(self._before, type=tuple[Run, ...])
        return same
