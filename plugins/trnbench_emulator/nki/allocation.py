"""Tensors that a kernel allocates: do they fit, and who holds how much?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import DTYPES, DType
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Buffer, Form, Ledger, Life, Storage, checked_shape, intern, row_major
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.tensor import NkiTensor

if TYPE_CHECKING:
    from trnbench_emulator.nki.programs import Programs
    from trnbench_emulator.nki.shadow import Shadow


class Allocations:
    """Allocates for one kernel. `count`: the instructions it has issued. `careful`: see `Recording`."""

    def __init__(
        self, machine: Machine, *, functional: bool, programs: Programs | None, program: int
    ) -> None:
        self.machine = machine
        self.functional = functional
        self.programs = programs  # those that run beside this one, None where nobody waits for another
        self.program = program
        self.count = 0
        self.careful = False
        self.indirect = False  # any tensor addressed at run time so far
        self.shadow: Shadow | None = None
        self.places = site.Places()
        self.hbm_bytes = 0
        self.ledgers = {
            Buffer.SBUF: Ledger(machine.sbuf_partition_bytes, self),
            Buffer.PSUM: Ledger(machine.psum_partition_bytes, self),
        }
        self._arenas: dict[Buffer, Storage] = {}
        self._forms: dict[Any, Form] = {}  # of what was allocated, by how the kernel said it

    def allocate(
        self, shape: Any, dtype: DType, buffer: Buffer, name: str = "", address: Any = None
    ) -> NkiTensor:
        """A new tensor, uninitialised. Raises `KernelError` when it can never fit."""
        asked = (shape, dtype, buffer)
        try:
            form = self._forms.get(asked)
        except TypeError:
            form = None  # a list
        if form is None:
            sizes = checked_shape(shape)
            form = intern(buffer, dtype, sizes, row_major(sizes))
            self.check_fits(form, name)
            if type(shape) is tuple:
                self._forms[asked] = form
        if address is not None:
            return self._at(form, name, address)
        if form.on_chip:
            line = self.places.of(sys._getframe(2))
            life = Life(self.count, form.row_bytes, line, self.count)
            ledger = self.ledgers[buffer]
            ledger.acquire(life)
            return NkiTensor(self.filled(Storage(form, name, life, ledger, form.free)), form, 0)
        return self._in_hbm(form, buffer, name)

    def _in_hbm(self, form: Form, buffer: Buffer, name: str) -> NkiTensor:
        if buffer is Buffer.SHARED_HBM and self.programs is not None:
            shared = self.programs.shared(self.program, form, name)
            if shared is not None:
                return shared
        life = Life(self.count, form.nbytes, self._site())
        self.hbm_bytes += form.nbytes
        if self.hbm_bytes > self.machine.hbm_bytes:
            raise KernelError(
                f"ndarray: {self.hbm_bytes:,} bytes of HBM in all exceed the {self.machine.hbm_bytes:,} "
                f"of one {self.machine.generation} device ({site.here()})",
                try_="make the tensors smaller, or split the work over devices",
            )
        tensor = NkiTensor(self.filled(Storage(form, name, life, None, 1 << 62)), form, 0)
        if buffer is Buffer.SHARED_HBM and self.programs is not None:
            self.programs.share(self.program, tensor)
        return tensor

    def fill(self, tensor: NkiTensor, values: Any) -> None:
        """Values that are there without an instruction; nothing where only shapes are recorded."""
        if self.functional:
            tensor.put(values)
        if self.shadow is not None:
            self.shadow.given(tensor)

    def _site(self) -> site.Place:
        """The line that allocates, where somebody will be told of it."""
        if self.shadow is None or STATE.recorder is None:
            return site.NOWHERE
        return self.places.of(sys._getframe(1))

    def filled(self, storage: Storage) -> Storage:
        """With what nobody wrote as its values, where there are values."""
        if self.functional:
            form, dtype = storage.form, storage.form.dtype
            storage.data = np.full(form.elements, dtype.unset, dtype.numpy).view(np.uint8)
            if form.buffer is Buffer.PSUM:
                storage.written = np.zeros(form.nbytes, np.bool_)
        return storage

    def _at(self, form: Form, name: str, address: Any) -> NkiTensor:
        """A tile at an address of the kernel's own choice: (partition, byte of the partition)."""
        try:
            partition, byte = (int(number) for number in address)
        except (TypeError, ValueError):
            raise KernelError(
                f"ndarray: address={address!r} is no (partition, byte) pair ({site.here()})"
            ) from None
        if not form.on_chip:
            raise KernelError(f"ndarray: address= places tiles in SBUF and PSUM ({site.here()})")
        capacity = self.ledgers[form.buffer].capacity
        end = byte + form.row_bytes
        if (
            partition < 0
            or byte < 0
            or end > capacity
            or partition + form.partitions > self.machine.partitions
        ):
            raise KernelError(
                f"ndarray: {form!r} at partition {partition}, byte {byte} ends at byte {end:,} and partition "
                f"{partition + form.partitions}, {form.buffer.memory.upper()} on {self.machine.generation} "
                f"has {capacity:,} and {self.machine.partitions} ({site.here()})"
            )
        arena = self._arenas.get(form.buffer)
        if arena is None:
            sizes = (self.machine.partitions, capacity)
            layout = intern(form.buffer, DTYPES["uint8"], sizes, (capacity, 1))
            arena = self._arenas[form.buffer] = Storage(layout, form.buffer.value, Life(0, 0), None)
        storage = Storage(form, name, Life(self.count, 0, self._site()), None)
        storage.place = (arena, partition, byte)
        ledger = self.ledgers[form.buffer]
        ledger.peak = max(ledger.peak, end)
        return NkiTensor(self.filled(storage), form, 0)

    def check_fits(self, form: Form, name: str) -> None:
        """Raises `KernelError` for a tile that is larger than its memory."""
        if not form.on_chip:
            return
        machine, label = self.machine, f" {name!r}" if name else ""
        if form.partitions > machine.partitions:
            raise KernelError(
                f"ndarray: {form.partitions} partitions of{label} {form!r} exceed the {machine.partitions} "
                f"of {form.buffer.memory.upper()} on {machine.generation} ({site.here()})",
                cause="dimension 0 of a tensor in SBUF or PSUM is the partition",
                try_=f"tile dimension 0 by nl.tile_size.pmax = {machine.partitions}",
            )
        capacity = self.ledgers[form.buffer].capacity
        if form.row_bytes > capacity:
            raise KernelError(
                f"ndarray: {form.row_bytes:,} bytes per partition of{label} {form!r} exceed the {capacity:,} "
                f"of {form.buffer.memory.upper()} on {machine.generation} ({site.here()})",
                try_="tile the free dimensions",
            )
