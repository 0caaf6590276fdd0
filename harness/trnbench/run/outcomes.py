"""What the cases of a run came to, by their position; of many that a journal has, no more than marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from trnbench.results.json import loads_value
from trnbench.results.measurement import Measurement
from trnbench.results.run import CaseMark, Run, chosen, noted

if TYPE_CHECKING:
    from trnbench.store.entry import Entry
    from trnbench.store.recording import Recording

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
