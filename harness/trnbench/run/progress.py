"""How far a run has come: its outcomes so far, a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from trnbench.results.json import loads_value
from trnbench.results.measurement import Measurement, Status
from trnbench.results.run import CaseMark, Run, chosen, noted
from trnbench.store.entry import Entry

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from trnbench.store.recording import Recording


EVERY_S = 5.0
"""Between two lines where there is no terminal."""

FEW = 20
"""Cases before a guess of the time left is worth anything: the first one pays for every import."""

LITTLE = 10
"""Per cent likewise: cases of one kind lie side by side, so that the first few tell nothing of the rest."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
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
        return self.share if self.share >= 0.0 else self.done / max(self.total, 1)


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


class Silent:
    """For -q and for scripts."""

    def __enter__(self) -> Callable[[Step], None]:
        return lambda _: None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Lines:
    """One line every few seconds, one for every case that failed; for logs and pipes."""

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        *,
        every_s: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._every_s, self._clock = total, every_s, clock
        self._stream = stream or sys.stderr

    def __enter__(self) -> Callable[[Step], None]:
        self._began = self._last = self._clock()
        return self._step

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def _step(self, step: Step) -> None:
        now = self._clock()
        each = step.entry
        if step.ended and each.status in (Status.FAILED, Status.SUSPECT):
            self._say(f"{each.status}: {each.id}: {each.measurement.reason_text}")
        if now - self._last >= self._every_s and step.done < step.total:
            self._last = now
            share = int(100 * step.part + 1e-9)
            left = eta_s(step.part, 1.0, now - self._began)
            known = left is not None and step.part * step.total >= FEW and share >= LITTLE
            guess = f", {show_s(left)} left" if left is not None and known else ""
            self._say(f"{step.done:,} of {step.total:,} cases ({share} %){guess}")

    def _say(self, text: str) -> None:
        self._stream.write(_printable(text) + "\n")
        self._stream.flush()


class Terminal:
    """A bar with the time left and the case that ended last."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Callable[[Step], None]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns: tuple[Any, ...] = (
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=self._total)
        self._bar.start()
        return self._step

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _step(self, step: Step) -> None:
        if self._bar is None or self._task is None:
            return
        entry = step.entry
        name = _printable(entry.id)
        self._bar.update(self._task, completed=step.part * step.total, description=name)
        if step.ended and entry.status in (Status.FAILED, Status.SUSPECT):
            from rich.text import Text

            text = f"{entry.status}: {name}: {entry.measurement.reason_text}"
            self._bar.console.print(Text(_printable(text)))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "�" for char in text)


def progress(total: int, *, quiet: bool, terminal: bool) -> Silent | Lines | Terminal:
    """The display that suits: nothing with -q, a bar on a terminal, sparse lines otherwise."""
    if quiet:
        return Silent()
    return Terminal(total) if terminal else Lines(total)


MANY = 10_000
"""Cases from which a run in a store keeps no measurements in memory, where a sample is enough to show."""


class Outcomes:
    """`sample`: so many of the measurements come back where there are more than `MANY` and they are recorded;
    0 stands for all of any number."""

    def __init__(
        self, planned: int, recording: Recording | None, sample: int, kept: Mapping[int, Entry] = {}
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
            return msgspec.structs.replace(ended, measurements=tuple(measurements))
        positions = sorted(self._marks)
        marks = [self._marks[position] for position in positions]
        documents = self._recording.documents([positions[at] for at in chosen(marks, self._sample)])
        sampled = tuple(loads_value(each, Measurement, f"a case of run {ended.id}") for each in documents)
        return noted(msgspec.structs.replace(ended, measurements=sampled), marks)
