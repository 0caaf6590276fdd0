"""The work that a case asks for: counts by a formula, data types, and how much of a machine takes part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from trnbench.errors import UnknownName
from trnbench.facts.fact import Scope
from trnbench.record import Record

if TYPE_CHECKING:
    from fractions import Fraction


class Work(Record, kw_only=True):
    """All counts are per unit of the case's scope (one core, one device, …).

    `flops`: operations of the tensor engine, floating-point or integer (a multiply-add is two).
    `engine_flops`: operations of the other engines ("vector", "scalar", "gpsimd"), elementary ones.
    `bytes`: by memory level: "hbm", "sbuf", "psum", "host"; and "payload", the full tensor that a
    collective is asked to move (what algbw divides by the time).
    `link_bytes`: what one rank must send over the links (the collective's lower bound); of the
    collective it is the busbw factor times the payload.
    `network_bytes`: what one host must send to other hosts, where a network joins them.
    `elements`, `instructions`: how many are worked on or issued, where a kernel is about those; `tokens` of a
    model's step.
    `formula`: how flops and bytes follow from the axes, for people.
    """

    flops: float = 0.0
    engine_flops: dict[str, float] = {}
    bytes: dict[str, float] = {}
    link_bytes: float = 0.0
    network_bytes: float = 0.0
    elements: float = 0.0
    instructions: float = 0.0
    tokens: float = 0.0
    formula: str = ""

    def as_counts(self) -> dict[str, float]:
        """Flat form for `Measurement.work`: flops, hbm_bytes, link_bytes, vector_flops, …"""
        counts = {"flops": self.flops} if self.flops else {}
        counts.update({f"{engine}_flops": n for engine, n in self.engine_flops.items()})
        counts.update({f"{level}_bytes": n for level, n in self.bytes.items()})
        others = {
            "link_bytes": self.link_bytes,
            "network_bytes": self.network_bytes,
            "elements": self.elements,
            "instructions": self.instructions,
            "tokens": self.tokens,
        }
        counts.update({name: n for name, n in others.items() if n})
        return counts


_SCALE = 1 / 32  # an MX block: one 8-bit scale for 32 elements (OCP MX 1.0, section 5)

ITEM_BYTES: dict[str, float] = {
    "int8": 1.0,
    "fp8": 1.0,
    "cfp8": 1.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "tf32": 4.0,  # 19 bits of meaning, kept in 32
    "fp32": 4.0,
    "fp64": 8.0,
    "mxfp8": 1.0 + _SCALE,
    "mxfp4": 0.5 + _SCALE,
}


def item_bytes(dtype: object) -> float:
    """Bytes of one element in memory, its share of a block scale included.

    Raises `UnknownName` for a word that is no data type.
    """
    try:
        return ITEM_BYTES[str(dtype)]
    except KeyError:
        raise UnknownName("dtype", str(dtype), ITEM_BYTES) from None


def result_dtype(dtype: object) -> str:
    """What a matrix product of `dtype` operands is stored as."""
    word = str(dtype)
    if word == "int8":
        return "fp32"  # 32-bit integers: the same four bytes
    if word == "fp64":
        return word
    if word in ("tf32", "fp32"):
        return "fp32"
    return word if word in ("fp16", "bf16") else "bf16"


def needs(dtype: object, *instructions: str) -> Sequence[str]:
    """Requirements of a kernel on `dtype` that uses `instructions`."""
    return (f"dtype:{dtype}", *(f"instruction:{name}" for name in instructions))


def all_but_own(ranks: int) -> Fraction:
    """(n−1)/n: what a rank does not have already."""
    return ratio(ranks - 1, ranks)


def twice(ranks: int) -> Fraction:
    """2·(n−1)/n: a reduction, and its result to all."""
    return 2 * all_but_own(ranks)


def once(_: int) -> Fraction:
    """1: the tensor itself."""
    return ratio(1)


def ratio(above: int, below: int = 1) -> Fraction:
    """Exact."""
    from fractions import Fraction  # brings decimal along, and lists of cases ask for no factor

    return Fraction(above, below)


FACTORS: Mapping[str, Callable[[int], Fraction]] = {
    "all_reduce": twice,
    "all_gather": all_but_own,
    "reduce_scatter": all_but_own,
    "all_to_all": all_but_own,
    "broadcast": once,
    "permute": once,
}


def busbw_factor(collective: str, ranks: int) -> Fraction:
    """busbw / algbw of nccl-tests and nccom-test; exact. 1 for those that are no benchmark: a reduce."""
    return FACTORS.get(collective, once)(ranks)


def peak_factor(collective: str, ranks: int, devices: int) -> Fraction | None:
    """What busbw of `ranks` ranks can be of the rate of one device's links; exact, None where nothing must
    leave a device.

    Of a tensor of S bytes a device must send factor(devices)·S (in an all-to-all of each of its ranks'), and
    busbw is factor(ranks)·S by the time. Of a permute it is one rank's message: a cycle of all ranks leaves
    every device.
    """
    if devices < 2:
        return None
    tensors = ranks // devices if collective == "all_to_all" else 1
    return busbw_factor(collective, ranks) / (busbw_factor(collective, devices) * tensors)


class Extent(Record, kw_only=True):
    """`ranks` take part in a collective: one per device, or one per logical core where the kernel says so; a
    core kernel has one.
    """

    scope: Scope
    cores: int = 1
    devices: int = 1
    hosts: int = 1
    ranks: int = 1

    @property
    def cores_of_device(self) -> int:
        """Cores of one device that are at work."""
        return max(self.cores // max(self.devices, 1), 1)

    @property
    def rank_kind(self) -> str:
        """What a rank of a collective is."""
        return "logical core" if self.ranks > self.devices else "device"


class Spread(StrEnum):
    """What takes part, and whether it works alone or together.

    Independent problems scale weakly: every core (or device) has one of its own, of the size that
    the point states, so that a system's rate can be held against the system's figure.
    """

    CORES = "cores"  # each core a problem of its own
    SHARED = "shared"  # the cores of a logical core or a device share one: a launch of as many programs
    DEVICES = "devices"  # each device a problem of its own: copies between host and device
    PAIR = "pair"  # two devices with each other
    TOGETHER = "together"  # all devices with each other, one rank each

    @property
    def linked(self) -> bool:
        """Whether devices talk to each other."""
        return self in (Spread.PAIR, Spread.TOGETHER)


GIB = 1 << 30


def per_core(formula: str, extent: Extent) -> str:
    """`formula` with the number of cores it is multiplied by, when it is more than one."""
    return f"{formula}; × {extent.cores:,} cores" if extent.cores > 1 else formula
