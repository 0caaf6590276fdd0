"""A published measurement: a number others have measured, what of, its family, and where it is printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from trnbench.facts.table import Place
from trnbench.record import Record
from trnbench.reference import Ref

_ARGUMENT = re.compile(
    r"([a-zA-Z]\w*=)?"
    r"([a-z][a-z0-9_]*\[\d+(,\d+)*\]|-?\d+(\.\d+)?(e-?\d+)?|True|False|None|\([\d,()]*\)|'[^']*')"
)
_CONSTANT = re.compile(r"[A-Za-z_]\w*=-?\d+(\.\d+)?")
_KINDS: dict[str, type] = {
    **dict.fromkeys(("file", "function"), str),
    **dict.fromkeys(("arguments", "header", "constants"), list),
    **dict.fromkeys(("listing",), int),
}


class MadeBy(Record, kw_only=True):
    """A function of the file whose result is the kernel, or has it at place `item`."""

    function: str
    arguments: tuple[str, ...] = ()
    item: int | None = None


class KernelSource(Record, kw_only=True):
    """Where the kernel of a point is, inside the repository its source names.

    `arguments` in the order of its parameters: "float32[128,512]" for a tensor, a number, a tuple, a text
    in single quotes, or, of the form name=value, a parameter by name. `grid`: programs it is launched as.
    `also`: kernels launched after it, whose times the point adds up. `listing`: the file is a document or
    keeps programs as texts; the n-th of them that defines the function is meant, counted from 1. `header`:
    lines that the publication's own harness puts before it. `constants`: "ROW_CHUNK=128", what the
    publication says it set a number of the file to. `made_by`: what returns the kernel.
    """

    file: str
    function: str
    arguments: tuple[str, ...] = ()
    grid: tuple[int, ...] = ()
    also: tuple[KernelSource, ...] = ()
    listing: int = 0
    header: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    made_by: MadeBy | None = None


def kernel_source(where: Place, table: Mapping[str, Any]) -> KernelSource:
    """Raises `FactError` for an unknown key, a file outside the repository, or what is no argument."""
    plain = {key: each for key, each in table.items() if key not in ("grid", "also", "made_by")}
    where.check(plain, _KINDS, ("file", "function"))
    if Path(table["file"]).is_absolute() or ".." in Path(table["file"]).parts:
        raise where.error(f"file {table['file']!r} leaves the repository", try_="a path inside it")
    grid = tuple(table.get("grid", ()))
    if not all(isinstance(each, int) and each > 0 for each in grid):
        raise where.error(f"grid {list(grid)} is no grid", try_="grid = [2]")
    constants = tuple(table.get("constants", ()))
    for constant in constants:
        if not _CONSTANT.fullmatch(str(constant)):
            raise where.error(f"{constant!r} sets no constant", try_='"ROW_CHUNK=128"')
    also = tuple(
        kernel_source(where.at(f"also {number}"), {"file": table["file"], **where.table(each)})
        for number, each in enumerate(table.get("also", ()), 1)
    )
    return KernelSource(
        file=table["file"],
        function=table["function"],
        arguments=_arguments(where, table),
        grid=grid,
        also=also,
        listing=table.get("listing", 0),
        header=tuple(table.get("header", ())),
        constants=constants,
        made_by=_made_by(where.at("made_by"), table["made_by"]) if "made_by" in table else None,
    )


def _made_by(where: Place, value: object) -> MadeBy:
    table = where.table(value)
    where.check(table, {"function": str, "arguments": list, "item": int}, ("function",))
    return MadeBy(function=table["function"], arguments=_arguments(where, table), item=table.get("item"))


def _arguments(where: Place, table: Mapping[str, Any]) -> tuple[str, ...]:
    arguments = tuple(table.get("arguments", ()))
    for argument in arguments:
        if not _ARGUMENT.fullmatch(str(argument)):
            raise where.error(
                f"{argument!r} is no argument", try_='"float32[128,512]", a number, or name=one of them'
            )
    return arguments


class Family(Record, kw_only=True):
    """`adapter` references `(point: PublishedPoint, bench: Bench) -> Prediction`, "" where no model
    answers for such points. It raises `NotEmulated` with the reason where it cannot."""

    title: str
    adapter: Ref = ""


def _family(title: str, adapter: str = "") -> Family:
    return Family(title=title, adapter=f"trnbench_fidelity.adapters.{adapter}:predict" if adapter else "")


LINKED = ("collective", "collective-graph", "collective-network", "point-to-point")
"""Families whose points are about links between ranks."""

FAMILIES: dict[str, Family] = {
    "hbm": _family("HBM streams", "hbm"),
    "dma": _family("DMA transfers", "dma"),
    "instruction": _family("Instruction times", "instruction"),
    "gemm": _family("Matrix products", "product"),
    "kernel": _family("Other NKI kernels", "source"),
    "engine": _family("Parts of a profile"),
    "collective": _family("Collectives inside an instance", "collective"),
    "collective-network": _family("Collectives across the network", "collective"),
    "collective-graph": _family("Collectives in a compiled graph", "collective"),
    "point-to-point": _family("One rank to another", "collective"),
    "host-copy": _family("Copies between host and device", "host_copy"),
    "host": _family("Host, launch and limiter"),
    "model": _family("Whole models"),
    "document": _family("Documented figures"),
}
"""To replace a model, point its family at another adapter; to add a family, add a line."""


class Prediction(Record, kw_only=True):
    """`value` in the base unit of the point's quantity; `how` says what was emulated, for people.

    `active`: of a profile, seconds in which each engine has an instruction under way.
    """

    value: float
    how: str
    active: dict[str, float] = {}


class NotEmulated(Exception):
    """The model cannot take the point as stated; the message says why.

    `source_missing`: it could, if --kernels brought the public kernel.
    """

    def __init__(self, why: str, *, source_missing: bool = False) -> None:
        super().__init__(why)
        self.why, self.source_missing = why, source_missing


ShapeValue: TypeAlias = int | float | str | list[int]


class Kind(StrEnum):
    MEASURED = "measured"
    UPPER_BOUND = "upper_bound"  # a limit that a test asserts
    DOCUMENTED_PEAK = "documented_peak"
    SUSPECT_SCALE = "measured_suspect_scale"  # only ratios between such points mean something


class Usable(StrEnum):
    DIRECT = "direct"  # can be emulated as stated
    SOURCE = "source"  # needs the public kernel it was measured with
    NO = "no"


class Clock(StrEnum):
    """Between which two moments a published time lies."""

    PROFILE = "profile"  # from the first event of a device's profile to the last, its start inside
    TRACE = "trace"  # of single instructions, transfers or engines inside such a profile
    DEVICE = "device"  # from the start of a launched program to its end, by the device
    HOST = "host"  # a call of the host, its launch inside
    QUEUED = "queued"  # the host's, over calls that queue: launches pass while the device works
    TOOL = "tool"  # a benchmark of collectives has one of its own
    NONE = "none"  # nothing is timed: a document, a counter, bytes
    UNSTATED = "unstated"  # the source does not say


ENGINES = ("tensor", "vector", "scalar", "gpsimd", "dma")
"""Whose busy times profiles print."""


class Quantity(StrEnum):
    """What is measured; the base unit follows from it."""

    LATENCY = "latency_s"
    BANDWIDTH = "bandwidth_bytes_per_s"
    BUSBW = "busbw_bytes_per_s"
    FLOPS = "flops_per_s"
    SHARE = "share"
    RATE = "rate_per_s"
    CLOCK = "clock_hz"
    BYTES = "bytes"
    COUNT = "count"

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
    Quantity.BYTES: "B",
    Quantity.COUNT: "1",
}


class PublishedPoint(Record, kw_only=True):
    """`value` is `printed` in the base unit of `quantity`; None where the source prints no number.

    `hardware`, `op`, `shapes`, `cores`, `metric` are as printed; `system`, `operation`, `shape`,
    `dtype`, `quantity` are the same things read ("" and {} where that is impossible). `low` and
    `high` are the range a source prints beside the value. `fitted` names constants outside [[fits]]
    that were read from this point, `shaped` rules of the model that were chosen by looking at it.
    `release` is that of runtime and compiler as the source states it: sources that contradict each other may
    differ by it. `extra` are further figures of the same measurement. `of`: the point whose profile this
    one is a part of; `engine`: whose busy time it then is.
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
    release: str = ""
    clock: Clock = Clock.UNSTATED
    of: str = ""
    engine: str = ""
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


def vote(point: PublishedPoint) -> str:
    """The kernel, instruction, stream or collective that a point is about; points of one share a vote.

    A kernel is the function of a file, whatever its arguments; an instruction is an instruction and the
    memory of its operand; a stream its direction and its cores; a collective its ranks, its instances and
    its source.
    """
    number = point.number
    if point.usable is Usable.SOURCE and point.kernel is not None:
        parts = [point.kernel.file, point.kernel.function]
    elif point.family == "instruction":
        parts = [point.operation.removesuffix(" interval")]
    elif point.family == "hbm":
        parts = [point.operation, f"{number('cores') or 1} cores"]
    elif point.family in LINKED:
        parts = [
            point.operation,
            f"{number('ranks') or 2} ranks",
            f"{number('nodes') or 1} instances",
            point.source,
        ]
    else:
        parts = [point.operation or point.op]
    return " / ".join([point.generation, point.family, *parts])
