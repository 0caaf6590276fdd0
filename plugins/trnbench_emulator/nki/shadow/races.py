"""Races: what programs of a launch do to one region of device memory between two meetings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trnbench_emulator.nki.values import bytes_of

if TYPE_CHECKING:
    from trnbench_emulator.nki.memory import Form, Storage
    from trnbench_emulator.nki.tensor import NkiTensor


class Access(NamedTuple):
    """One operand in device memory. `number`: of the instruction."""

    number: int
    program: int
    write: bool
    form: Form
    offset: int


class Race(NamedTuple):
    """Two accesses of one storage that nothing orders, and the bytes they share."""

    storage: Storage
    first: Access
    second: Access
    bytes: int


class Accesses:
    """Of tensors in device memory, by storage and by how many meetings their program had had."""

    def __init__(self) -> None:
        self._of: dict[tuple[Storage, int], list[Access]] = defaultdict(list)

    def add(self, view: NkiTensor, number: int, program: int, epoch: int, *, write: bool) -> None:
        self._of[view.storage, epoch].append(Access(number, program, write, view.form, view.offset))

    def races(self) -> Iterator[Race]:
        """At most one of each storage between two meetings."""
        for (storage, _), accesses in self._of.items():
            writers = {access.program for access in accesses if access.write}
            if not writers or len({access.program for access in accesses}) < 2:
                continue
            race = _race(storage, accesses)
            if race is not None:
                yield race


def _race(storage: Storage, accesses: list[Access]) -> Race | None:
    """The first one. Each byte knows the last write to it, and each access meets those of other programs."""
    written = np.zeros(storage.form.nbytes, np.int32)  # 1 + position in `writes`
    writes = [access for access in accesses if access.write and not access.form.indirect]
    programs = np.array([-1, *(access.program for access in writes)])
    for position, access in enumerate(writes, 1):
        race = _met(storage, written, programs, writes, access)
        if race is not None:
            return race
        bytes_of(written, access.form, access.offset)[...] = position
    for access in accesses:
        if not access.write and not access.form.indirect:
            race = _met(storage, written, programs, writes, access)
            if race is not None:
                return race
    return None


def _met(
    storage: Storage, written: np.ndarray, programs: np.ndarray, writes: list[Access], access: Access
) -> Race | None:
    """Does `access` touch what another program wrote?"""
    last = bytes_of(written, access.form, access.offset)
    if not last.any():
        return None
    others = (last > 0) & (programs[last] != access.program)
    if not others.any():
        return None
    return Race(storage, writes[int(last[others][0]) - 1], access, int(others.sum()))
