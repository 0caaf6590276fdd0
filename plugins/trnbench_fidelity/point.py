"""A published measurement: a number others have measured, what of, where it is printed."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import msgspec

from trnbench_fidelity.kernel_source import KernelSource

ShapeValue: TypeAlias = int | float | str | list[int]


class Kind(str, Enum):
    MEASURED = "measured"
    UPPER_BOUND = "upper_bound"  # a limit that a test asserts
    DOCUMENTED_PEAK = "documented_peak"
    SUSPECT_SCALE = "measured_suspect_scale"  # only ratios between such points mean something

    def __str__(self) -> str:
        return self.value


class Usable(str, Enum):
    DIRECT = "direct"  # can be emulated as stated
    SOURCE = "source"  # needs the public kernel it was measured with
    NO = "no"

    def __str__(self) -> str:
        return self.value


class Quantity(str, Enum):
    """What is measured; the base unit follows from it."""

    LATENCY = "latency_s"
    BANDWIDTH = "bandwidth_bytes_per_s"
    BUSBW = "busbw_bytes_per_s"
    FLOPS = "flops_per_s"
    SHARE = "share"
    RATE = "rate_per_s"
    CLOCK = "clock_hz"

    def __str__(self) -> str:
        return self.value

    @property
    def unit(self) -> str:
        return _UNITS[self]

    @property
    def lower_is_better(self) -> bool:
        return self is Quantity.LATENCY


_UNITS = {
    Quantity.LATENCY: "s",
    Quantity.BANDWIDTH: "B/s",
    Quantity.BUSBW: "B/s",
    Quantity.FLOPS: "FLOP/s",
    Quantity.SHARE: "1",
    Quantity.RATE: "1/s",
    Quantity.CLOCK: "Hz",
}


class PublishedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is `printed` in the base unit of `quantity`; None where the source prints no number.

    `hardware`, `op`, `shapes`, `cores`, `metric` are as printed; `system`, `operation`, `shape`,
    `dtype`, `quantity` are the same things read ("" and {} where that is impossible). `low` and
    `high` are the range a source prints beside the value. `fitted` names constants outside [[fits]]
    that were read from this point, `shaped` rules of the model that were chosen by looking at it.
    `extra` are further figures of the same measurement.
    """

    id: str
    generation: str
    family: str
    kind: Kind
    hardware: str
    source: str
    usable: Usable
    quantity: Quantity
    metric: str
    op: str
    unit: str
    operation: str = ""
    system: str = ""
    shapes: str = ""
    shape: dict[str, ShapeValue] = {}
    dtype: str = ""
    dtype_printed: str = ""
    cores: str = ""
    printed: str = ""
    unit_printed: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    value_note: str = ""
    how_measured: str = ""
    confidence: str = ""
    notes: str = ""
    usable_note: str = ""
    kernel: KernelSource | None = None
    no_kernel: str = ""
    contradicts: tuple[str, ...] = ()
    fitted: tuple[str, ...] = ()
    shaped: tuple[str, ...] = ()
    extra: dict[str, float | int | str] = {}

    def number(self, name: str) -> int | None:
        """An entry of the shape as a whole number, None where it is not stated."""
        found = self.shape.get(name)
        return found if isinstance(found, int) else None
