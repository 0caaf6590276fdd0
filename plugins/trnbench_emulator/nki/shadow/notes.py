"""Notes: the findings so far, and the rules that look at a single instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from trnbench_emulator.nki import site
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.shadow.finding import Finding
from trnbench_emulator.nki.view import region_of

if TYPE_CHECKING:
    from trnbench_emulator.nki.functions import Function
    from trnbench_emulator.nki.machine import Machine
    from trnbench_emulator.nki.memory import Form, Storage
    from trnbench_emulator.nki.tensor import NkiTensor


_ANY_START_SINCE = 4  # NeuronCore-v4


class Write(NamedTuple):
    """One instruction: its line and call, its program, and the view that a product was left in."""

    place: site.Place
    opcode: str
    program: int
    form: Form | None = None
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.opcode} ({site.told(self.place)})"


def tile_text(storage: Storage) -> str:
    """`'acc', float32[128, 512]@sbuf of kernel.py:12`; where it was placed by hand, also its byte."""
    place = "" if storage.place is None else f" at byte {storage.place[2]:,},"
    name = f"{storage.name!r}, " if storage.name else ""
    made = storage.life.site
    return f"{name}{storage.form!r}{place}" + (f" of {site.told(made)}" if made[0] else "")


class Notes:
    """`writes`: every instruction by its number."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.writes: list[Write] = [Write(site.NOWHERE, "", 0), Write(site.NOWHERE, "argument", 0)]
        self.findings: dict[Any, Finding] = {}
        self._apart: set[Any] = set()  # pairs of views that share no bytes, or all of them

    def note(
        self, rule: str, storage: Storage, what: str, count: int, remedy: str, place: str = ""
    ) -> tuple[Any, ...]:
        """Once for each line and tile. Returns the key of the finding."""
        key = (rule, place or self.writes[-1].place, storage.life.site, storage.name, storage.form)
        before = self.findings.get(key)
        if before is not None:
            self.findings[key] = replace(before, times=before.times + 1)
            return key
        self.findings[key] = Finding(
            rule=rule,
            what=what,
            place=place or site.here(),
            tile=tile_text(storage),
            bytes=count,
            remedy=remedy,
        )
        return key

    def carried(self, opcode: str, view: NkiTensor, writer: Write) -> None:
        """A round reads what an earlier round wrote."""
        self.note(
            "carried-value",
            view.storage,
            f"{opcode} reads {tile_text(view.storage)} as an earlier round of nl.affine_range left it, "
            f"by {writer}",
            view.form.nbytes,
            "nl.sequential_range where a round needs the one before; else write the tile in every round",
        )

    def banks(self, opcode: str, view: NkiTensor) -> None:
        """A product ends in the bank in which it begins, where the generation's products fit one."""
        storage, bank = view.storage, self.machine.psum_bank_bytes
        root = storage.form
        small = storage.place is None and root.row_bytes <= bank
        if root.memory != "psum" or small or self.machine.moving_free * 4 > bank:
            return
        region = region_of(storage, view.form, view.offset)
        start, end = region.bytes
        if start // bank != (end - 1) // bank:
            self.note(
                "bank-crossing",
                storage,
                f"{opcode} writes bytes {start:,} to {end:,} of each partition of {tile_text(storage)}, over "
                f"the end of a PSUM bank of {bank:,} bytes",
                view.form.nbytes,
                "let it end in the bank in which it begins: nl.tile_size.psum_bank_fmax elements of fp32",
            )

    def groups(self, opcode: str, view: NkiTensor, numbers: Any, adding: bool) -> None:
        """A product adds to `numbers`: have they all been left by products with the same dst?"""
        least, most = int(numbers.min()), int(numbers.max())
        partly = least == 0 < most and not adding
        writers = (self.writes[abs(number)] for number in {least, most})
        other = any(
            writer.form is not None and (writer.form, writer.offset) != (view.form, view.offset)
            for writer in writers
        )
        if partly or other:
            self.note(
                "overlapping-groups",
                view.storage,
                f"{opcode} adds to {view.form!r} in {tile_text(view.storage)}, of which "
                f"{self.writes[abs(most)]} left another part",
                view.form.nbytes,
                "give all products of a sum the same dst, and accumulate=False to the first of them",
            )

    def start(self, opcode: str, view: NkiTensor, numbers: Any) -> None:
        """Was what a product adds to left by products? A memset is let through: public kernels add to its
        zeros. So is Beta 1, whose calls are carried out later: its compiler makes the sum."""
        for number in {abs(int(numbers.min())), abs(int(numbers.max()))} - {0, 1}:
            writer = self.writes[number]
            product = writer.form is not None or writer.opcode == "memset"
            if not product and STATE.place is None and self.machine.nc_version < _ANY_START_SINCE:
                self.note(
                    "accumulation-start",
                    view.storage,
                    f"{opcode} adds to {tile_text(view.storage)} as {writer} left it",
                    view.form.nbytes,
                    "accumulate=False to the first product of a sum; add the rest on Vector",
                )

    def unset(self, engine: str, data: NkiTensor) -> None:
        """The last instruction adds to sums that `engine` holds from before the kernel."""
        self.note(
            "unset-accumulator",
            data.storage,
            f"{self.writes[-1].opcode} of {tile_text(data.storage)} adds to the sums that {engine} holds, "
            "which no instruction has reset",
            data.form.partitions * 4,
            "reduce_cmd=nisa.reduce_cmd.reset_reduce to the first instruction of a sum",
        )

    def domain(self, function: Function, data: NkiTensor, values: Any) -> None:
        """Are all values, but for those that are no number, in the domain of Scalar's table?"""
        assert function.domain is not None
        low, high = (np.float32(bound) for bound in function.domain)
        sizes = np.abs(values) if function.name == "reciprocal" else values
        outside = (sizes < low) | (sizes > high)
        count = int(outside.sum())
        if count:
            sign = "±" if sizes is not values else ""
            self.note(
                "outside-domain",
                data.storage,
                f"{self.writes[-1].opcode} looks up {function!r} of {count:,} values outside "
                f"{sign}[{low:g}, {high:g}], of {values[outside].flat[0]:g} for one",
                count * data.form.dtype.size,
                f"nl.{function.name}(tile), or bring them into it before by nl.maximum and nl.minimum",
            )

    def shifted(self, opcode: str, dst: NkiTensor, src: NkiTensor) -> None:
        """Do source and target of an element-wise instruction share bytes, but not element by element?"""
        one, two = dst.form, src.form
        if (one is two and dst.offset == src.offset) or one.elements != two.elements:
            return
        key = (dst.storage.form, one, dst.offset, two, src.offset)
        if key in self._apart or one.indirect or two.indirect or not dst.region.meets(src.region):
            return
        size = min(one.dtype.size, two.dtype.size)
        first, second = _bytes(dst, size), _bytes(src, size)
        shared = 0 if np.array_equal(first, second) else int(np.isin(first, second).sum())
        if not shared:
            self._apart.add(key)
            return
        self.note(
            "overlapping-copy",
            dst.storage,
            f"{opcode} reads and writes {shared * size:,} of the same bytes of {tile_text(dst.storage)}, "
            "shifted against each other",
            shared * size,
            "copy through another tile, or in parts that do not overlap",
        )


def _bytes(view: NkiTensor, size: int) -> Any:
    """Where the elements of `view` are, in the order in which they are used; in units of `size` bytes."""
    form = view.form
    factor = form.dtype.size // size
    positions = np.full((*form.shape, factor), view.offset * factor, np.int64)
    positions += np.arange(factor)
    for axis, (count, stride) in enumerate(zip(form.shape, form.strides, strict=True)):
        steps = np.arange(count, dtype=np.int64) * stride * factor
        positions += steps.reshape(-1, *([1] * (len(form.shape) - axis)))
    return positions.reshape(-1)
