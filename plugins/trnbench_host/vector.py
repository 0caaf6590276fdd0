"""Which vector units a core has: looked up by what it says of itself, unknown where no row fits."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from trnbench import Source
from trnbench_host.cpu import Cpu

TABLE = Path(__file__).with_name("cores.toml")


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """`units` of `bits` each; `inferred` says why the row was taken when the model does not tell."""

    name: str
    units: int
    bits: int
    source: str
    locator: str
    vendor: str = ""
    family: int = 0
    models: tuple[int, ...] = ()
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    cpu: str = ""
    inferred: str = ""

    def fits(self, cpu: Cpu) -> bool:
        return (
            (not self.vendor or cpu.vendor == self.vendor)
            and (not self.family or cpu.family == self.family)
            and (not self.models or cpu.model in self.models)
            and cpu.flags.issuperset(self.has)
            and cpu.flags.isdisjoint(self.lacks)
            and (not self.cpu or re.search(self.cpu, cpu.name) is not None)
        )

    def per_cycle(self, item_bits: int) -> int:
        """Multiply-adds of one core in one cycle, each two operations."""
        return self.units * (self.bits // item_bits)


@cache
def _table() -> tuple[tuple[Units, ...], dict[str, Source]]:
    import tomllib

    read: dict[str, Any] = tomllib.loads(TABLE.read_text())
    rows = tuple(msgspec.convert(row, Units) for row in read["core"])
    return rows, {name: Source(id=name, **row) for name, row in read["sources"].items()}


def units_of(cpu: Cpu) -> Units | None:
    """The first row that fits, None where none does."""
    return next((row for row in _table()[0] if row.fits(cpu)), None)


def sources() -> dict[str, Source]:
    return _table()[1]
