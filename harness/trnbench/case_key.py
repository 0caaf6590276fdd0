"""The identity of a case: which kernel at which point of its axes, on which instance and in which scope."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from trnbench.facts.fact import Scope

Value: TypeAlias = int | float | str | bool
"""What an axis can hold."""


class CaseKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked for. `fullname` is the same on every generation and evidence grade."""

    kernel: str
    family: str
    instance: str
    generation: str
    scope: Scope
    point: dict[str, Value]  # axis → value, in the kernel's axis order
    tags: tuple[str, ...] = ()

    @property
    def fullname(self) -> str:
        """`gemm[dtype=bf16,size=4096]@core`: the case without the machine."""
        inner = ",".join([f"{name}={value}" for name, value in self.point.items()])
        return f"{self.kernel}{f'[{inner}]' if inner else ''}@{self.scope.value}"

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
