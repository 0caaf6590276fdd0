"""Sections of a report, each drawn from the runs as they are, whatever the one before it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.isolation.held import Misbehaved, held
from trnbench.isolation.interrupt import from_outside
from trnbench.lazy import resolve
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.section import Section


class SectionFailed(TrnbenchError):
    """A section that raised, changed what it was given, took too long or returned something else."""


class Drawing:
    """Draws sections of `runs` one after the other."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)
        # Piece by piece: held against a second copy of the whole, a large run would need its size twice.
        self._before = tuple(_pieces(self._runs))

    def drawn(self, sections: Iterable[Section]) -> list[tuple[Section, str | SectionFailed]]:
        """Each section with what it returns, markup or text to be escaped, or with what went wrong: it raises
        anything (`SystemExit` too), takes longer than 10 s, calls `os._exit`, or changes the runs or what all
        code of the process shares; both are put back.

        Whether the runs are what they were is looked at once, behind the last. Only where they are not, all
        is drawn again, and looked at behind each.
        """
        sections = list(sections)
        made = [(each, self._made(each)) for each in sections]
        return made if self._unchanged() else [(each, self._checked(each)) for each in sections]

    def _checked(self, section: Section) -> str | SectionFailed:
        made = self._made(section)
        if self._unchanged() or isinstance(made, SectionFailed):
            return made
        return SectionFailed("it changes the runs that it was given")

    def _made(self, section: Section) -> str | SectionFailed:
        try:
            with held():
                drawing: Any = resolve(section.render)(self._runs)
        except Misbehaved as error:
            return SectionFailed(f"it {error.what}")
        except BaseException as error:
            if from_outside(error):
                raise
            return SectionFailed(f"{type(error).__name__}{f': {error}' if str(error) else ''}")
        return (
            drawing
            if isinstance(drawing, str)
            else SectionFailed(f"it returns {type(drawing).__name__}, not markup")
        )

    def _unchanged(self) -> bool:
        """Whether the runs are what they were; they are again when this returns."""
        try:
            now = zip_longest(_pieces(self._runs), self._before)
            same = all(each == before for each, before in now)
        except Exception:  # something in them that no run can hold
            same = False
        if not same:
            self._runs = tuple(_restored(self._before))
        return same


def _pieces(runs: Sequence[Run]) -> Iterator[bytes]:
    """Of each run the whole without its cases, then each case."""
    for run in runs:
        yield msgspec.msgpack.encode((len(run.measurements), msgspec.structs.replace(run, measurements=())))
        yield from map(msgspec.msgpack.encode, run.measurements)


def _restored(pieces: Iterable[bytes]) -> Iterator[Run]:
    left = iter(pieces)
    for head in left:
        count, run = msgspec.msgpack.decode(head, type=tuple[int, Run])
        cases = tuple(msgspec.msgpack.decode(next(left), type=Measurement) for _ in range(count))
        yield msgspec.structs.replace(run, measurements=cases)
