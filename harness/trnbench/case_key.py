"""The identity of a case: which kernel at which point of its axes, on which instance and in which scope."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from trnbench.facts.fact import Scope
from trnbench.record import Record

Value: TypeAlias = int | float | str | bool
"""What an axis can hold."""


class Division(StrEnum):
    """What the cores of a scope wider than one do with a problem; older runs say nothing, and mean the first.

    What is one operation of all of them by nature (a collective, a step on its layout) is neither.
    """

    REPLICATED = "replicated"  # each does all of it
    SHARDED = "sharded"  # each does its share of it


class CaseKey(Record, kw_only=True, forbid_unknown_fields=True):
    """What was asked for. `fullname` is the same on every generation and evidence grade."""

    kernel: str
    family: str
    instance: str
    generation: str
    scope: Scope
    point: dict[str, Value]  # axis → value, in the kernel's axis order
    tags: tuple[str, ...] = ()
    division: Division | None = None

    @property
    def fullname(self) -> str:
        """`gemm[dtype=bf16,size=4096]@core`, `…@device:sharded`: the case without the machine."""
        inner = ",".join([f"{name}={value}" for name, value in self.point.items()])
        words = f":{self.division.value}" if self.division else ""
        return f"{self.kernel}{f'[{inner}]' if inner else ''}@{self.scope.value}{words}"

    @property
    def id(self) -> str:
        """`trn2-16.48xlarge::gemm[dtype=bf16,size=4096]@core`."""
        return self.on_instance(self.fullname)

    def on_instance(self, fullname: str) -> str:
        """`id`, for who has asked for the name already."""
        return f"{self.instance}::{fullname}"

    @property
    def dtype(self) -> str:
        return str(self.point.get("dtype", ""))

    @property
    def reach(self) -> str:
        """`device, sharded`."""
        return ", ".join(filter(None, (self.scope.value, self.division and self.division.value)))

    @property
    def joint(self) -> str:
        """`joint` of its id."""
        return joint(self.id)


def joint(name: str) -> str:
    """A case's id or name as all versions have it: those of before say nothing where it is `replicated`."""
    return name.removesuffix(f":{Division.REPLICATED.value}")
