"""The rules an instruction must obey, and the sentences said when it does not.

Checked once per combination of operand forms, so that a loop of a million calls pays once.
"""

from __future__ import annotations

import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.loop_index import pinned
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Buffer, Form
from trnbench_emulator.nki.register import VirtualRegister


class Rules:
    """Checks of one call: every failure names call, generation, rule, limit, file and line."""

    def __init__(self, call: str, machine: Machine) -> None:
        self.call = call
        self.machine = machine

    def fail(self, text: str, *, cause: str = "", try_: str = "") -> KernelError:
        return KernelError(
            f"{self.call} on {self.machine.generation}: {text} ({site.here()})", cause=cause, try_=try_
        )

    def require(self, ok: bool, text: str, *, cause: str = "", try_: str = "") -> None:
        if not ok:
            raise self.fail(text, cause=cause, try_=try_)

    def since(self, version: int) -> None:
        """The instruction exists from this NeuronCore version on."""
        self.require(
            self.machine.nc_version >= version,
            f"it is available from NeuronCore-v{version} on, this is {self.machine.core}",
        )

    def within(self, operand: Form, *buffers: Buffer, name: str) -> None:
        """`name` must live in one of `buffers`."""
        if operand.buffer not in buffers:
            wanted = " or ".join(each.memory.upper() for each in buffers)
            raise self.fail(
                f"{name} is in {operand.buffer.memory.upper()}, it must be in {wanted}",
                try_="nisa.dma_copy moves between HBM and SBUF, nisa.tensor_copy between SBUF and PSUM",
            )

    def on_chip(self, operand: Form, *, name: str) -> None:
        self.within(operand, Buffer.SBUF, Buffer.PSUM, name=name)

    def at_most(self, size: int, limit: int, what: str, *, try_: str = "") -> None:
        if size > limit:
            raise self.fail(f"{what} is {size}, the limit is {limit}", try_=try_)

    def same_elements(self, left: Form, right: Form, names: tuple[str, str]) -> None:
        """Same partitions and as many elements in each."""
        if left.partitions != right.partitions or left.free != right.free:
            raise self.fail(
                f"{names[0]} has {left.partitions} × {left.free} elements (partitions × free), "
                f"{names[1]} has {right.partitions} × {right.free}"
            )

    def not_both_psum(self, left: Form, right: Form, names: tuple[str, str]) -> None:
        if left.buffer is Buffer.PSUM and right.buffer is Buffer.PSUM:
            raise self.fail(
                f"{names[0]} and {names[1]} are both in PSUM, one may be",
                try_="copy one to SBUF with nisa.tensor_copy",
            )

    def scalar_operand(self, operand: object, partitions: int, *, name: str) -> None:
        """A number, or a column: one fp32 element for each partition."""
        operand = pinned(operand)
        form = getattr(operand, "form", None)
        if form is None:
            if not isinstance(operand, (int, float, np.number, VirtualRegister)):
                raise self.fail(f"{name} is {type(operand).__name__}, it must be a number or a (P, 1) tensor")
            return
        self.on_chip(form, name=name)
        if form.partitions != partitions or form.free != 1:
            raise self.fail(f"{name} has shape {list(form.shape)}, it must be ({partitions}, 1)")

    def engine(self, given: str, allowed: tuple[str, ...], *operands: Form) -> str:
        """The engine that carries the call out; the first of `allowed` when none is asked for."""
        chosen = allowed[0] if given == "unknown" else given
        if chosen not in allowed:
            raise self.fail(f"engine {chosen} cannot carry it out, {', '.join(allowed)} can")
        if chosen == "gpsimd" and any(each.buffer is Buffer.PSUM for each in operands):
            raise self.fail(
                "engine gpsimd cannot reach PSUM", try_="use engine=nisa.engine.vector, or copy to SBUF first"
            )
        return chosen


def moved(*, reads: tuple[Form, ...], writes: tuple[Form, ...]) -> dict[str, int]:
    """Bytes per memory and direction: {"sbuf_read": …, "psum_write": …}."""
    traffic: dict[str, int] = {}
    for suffix, forms in (("read", reads), ("write", writes)):
        for form in forms:
            key = f"{form.buffer.memory}_{suffix}"
            traffic[key] = traffic.get(key, 0) + form.nbytes
    return traffic


def _stride(form: Form) -> int:
    """Bytes from one element to the next in SBUF; of PSUM, about which no document speaks, 0."""
    if form.buffer is not Buffer.SBUF:
        return 0
    inner = (abs(step) for size, step in zip(form.shape[:0:-1], form.strides[:0:-1], strict=True) if size > 1)
    return next(inner, 0) * form.dtype.size


def elementwise(dst: Form, *sources: Form) -> dict[str, object]:
    """The variables of an instruction that walks its elements: see docs/emulator.md."""
    operands = (dst, *sources)
    return {
        "N": max(each.free for each in operands),
        "P": max(each.partitions for each in operands),
        "psum_operands": sum(each.buffer is Buffer.PSUM for each in operands),
        "psum_inputs": sum(each.buffer is Buffer.PSUM for each in sources),
        "all_sbuf": all(each.buffer is Buffer.SBUF for each in operands),
        "contiguous": all(each.contiguous for each in operands),
        "stride": max(_stride(each) for each in operands),
        "bits": max(each.dtype.size * 8 for each in operands),
        "all_16bit": all(each.dtype.name in ("bfloat16", "float16") for each in operands),
        "all_bf16": all(each.dtype.name == "bfloat16" for each in operands),
    }
