"""How far a run has come: its outcomes so far, a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from trnbench.record import Record
from trnbench.results.json import loads_value
from trnbench.results.measurement import BAD, Measurement
from trnbench.results.run import CaseMark, Run, chosen, noted
from trnbench.store.entry import Entry

if TYPE_CHECKING:
    from trnbench.store.recording import Recording


EVERY_S = 5.0
"""Between two lines where there is no terminal."""

FEW = 20
"""Cases before a guess of the time left is worth anything: the first one pays for every import."""

LITTLE = 10
"""Per cent likewise: cases of one kind lie side by side, so that the first few tell nothing of the rest."""


class Step(Record, kw_only=True):
    """What is reported after every case, and of a measured one after every process: it has `ended` with the
    last. `done` and `total` count cases, `share` is that of the whole work."""

    done: int
    total: int
    entry: Entry
    ended: bool = True
    share: float = -1.0

    @property
    def measurement(self) -> Measurement:
        """What the case, or the process, came to."""
        return self.entry.measurement

    @property
    def part(self) -> float:
        """Of all that there is to do, 0 to 1."""
        return self.share if self.share >= 0.0 else self.done / self.total


def eta_s(done: float, total: float, elapsed_s: float) -> float | None:
    """Seconds left if the rest goes like what is done; None before there is anything to go by."""
    if done == 0 or elapsed_s <= 0.0:
        return None
    return elapsed_s / done * (total - done)


def show_s(seconds: float) -> str:
    """`42 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@contextmanager
def lines(
    total: int, stream: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[Step], None]]:
    """One line every few seconds, one for every case that failed; for logs and pipes."""
    began = last = clock()

    def say(text: str) -> None:
        print(_printable(text), file=stream or sys.stderr, flush=True)

    def report(step: Step) -> None:
        nonlocal last
        now = clock()
        each = step.entry
        if step.ended and each.status in BAD:
            say(f"{each.status}: {each.id}: {each.measurement.reason_text}")
        if now - last >= EVERY_S and step.done < total:
            last = now
            share = int(100 * step.part + 1e-9)
            left = eta_s(step.part, 1.0, now - began)
            known = left is not None and step.part * total >= FEW and share >= LITTLE
            guess = f", {show_s(left)} left" if left is not None and known else ""
            say(f"{step.done:,} of {total:,} cases ({share} %){guess}")

    yield report


@contextmanager
def bar(total: int) -> Iterator[Callable[[Step], None]]:
    """The time left and the case that ended last; for a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    columns = (
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=total)

        def report(step: Step) -> None:
            entry = step.entry
            name = _printable(entry.id)
            shown.update(task, completed=step.part * total, description=name)
            if step.ended and entry.status in BAD:
                text = f"{entry.status}: {name}: {entry.measurement.reason_text}"
                shown.console.print(Text(_printable(text)))

        yield report


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "�" for char in text)


def progress(total: int, *, quiet: bool, terminal: bool) -> AbstractContextManager[Callable[[Step], None]]:
    """The display that suits: nothing with -q, a bar on a terminal, sparse lines otherwise."""
    if quiet:
        return nullcontext(lambda _: None)
    return bar(total) if terminal else lines(total)


MANY = 10_000
"""Cases from which a run in a store keeps no measurements in memory, where a sample is enough to show."""


class Outcomes:
    """`sample`: so many of the measurements come back where there are more than `MANY` and they are recorded;
    0 stands for all of any number."""

    def __init__(
        self, planned: int, recording: Recording | None, sample: int, kept: Mapping[int, Entry]
    ) -> None:
        self._recording = recording if planned > MANY and sample else None
        self._sample = sample
        self._entries: dict[int, Entry] = {}
        self._marks: dict[int, CaseMark] = {}
        self._fingerprints: dict[int, bytes] = {}
        for position, entry in kept.items():
            self.add(position, entry)

    def add(self, position: int, entry: Entry) -> None:
        """Behind its record in the journal."""
        self._fingerprints[position] = bytes.fromhex(entry.fingerprint)
        if self._recording is None:
            self._entries[position] = entry
        else:
            self._marks[position] = entry.mark

    def __contains__(self, position: int) -> bool:
        return position in self._fingerprints

    def __len__(self) -> int:
        return len(self._fingerprints)

    def fingerprints(self) -> Iterator[str]:
        """In the order of positions."""
        return (self._fingerprints[position].hex() for position in sorted(self._fingerprints))

    def run(self, ended: Run) -> Run:
        """The run with its measurements, or with a sample of them, which its notes say."""
        if self._recording is None:
            measurements = (self._entries[position].measurement for position in sorted(self._entries))
            return replace(ended, measurements=tuple(measurements))
        positions = sorted(self._marks)
        marks = [self._marks[position] for position in positions]
        documents = self._recording.documents([positions[at] for at in chosen(marks, self._sample)])
        sampled = tuple(loads_value(each, Measurement, f"a case of run {ended.id}") for each in documents)
        return noted(replace(ended, measurements=sampled), marks)
