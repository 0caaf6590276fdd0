"""A micro-benchmark: what it asks of a machine, on which axes, and how it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from trnbench.facts.scope import Direction, Scope
from trnbench.kernels.axis import Axis
from trnbench.kernels.extent import Extent
from trnbench.kernels.published import PublishedAs
from trnbench.kernels.spread import Spread
from trnbench.kernels.statement import Statement
from trnbench.kernels.template import Subject
from trnbench.kernels.work import Work
from trnbench.lazy import Ref
from trnbench.results.measurement import Value

if TYPE_CHECKING:
    from fractions import Fraction

Point: TypeAlias = Mapping[str, Value]
"""One value for every axis of a kernel."""

NKI_KINDS = ("nki", "nki-mx")
"""Kinds of NKI sources; "nki-mx" takes microscaled operands, each with its scales beside it."""

BETA1_KIND = "nki-beta1"
"""Of sources in the language of SDK 2.26 and before, `neuronxcc.nki`."""


class PrimaryMetric(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel reports first and is judged by.

    `count` names the entry of `Work.as_counts()` (or "" for latency) that is divided by the time.
    For a collective it is "link_bytes", which holds the busbw factor already; algbw is
    "payload_bytes" by the time. `peak` is the metric name of the documented figure ("" where no
    document gives one). `scope` is what the figure speaks of when that is not the case's scope:
    busbw is held against the links of one device, however many ranks take part; `peak_factor` is what
    the figure is multiplied by to speak of the same thing: with several ranks on a device busbw as
    nccom-test defines it is larger than the rate of the device's links.
    """

    name: str  # Metric.name: "flops_per_s", "hbm_bytes_per_s", "busbw_bytes_per_s", "latency_s"
    unit: str  # "FLOP/s", "B/s", "s"
    better: str = "higher"
    count: str = ""
    peak: str = ""
    qualifier: str = ""  # of the peak: "intra-instance", "vector", …
    direction: Direction = Direction.NONE
    sparse: bool = False
    scope: Scope | None = None
    peak_factor: Callable[[Extent], Fraction] | None = None


def always_valid(_: Point) -> str:
    """Every combination of axis values makes a case."""
    return ""


def always_sensible(_: Point, __: Extent) -> str:
    """Every number of ranks can share every point."""
    return ""


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """Generation-agnostic. One name, one kernel; a generation adds variants, not a second owner.

    - `work(point, extent)`: what one unit of the scope has to do; `extent` tells how many ranks,
      cores and devices take part.
    - `rank`: what a rank of it is, "device" or "logical-core" (as many as the runtime makes).
    - `spread`: what takes part above core scope, alone or together.
    - `scopes`: what it can run at, INSTANCE meaning the whole system, be it instance, UltraServer
      or cluster; `default_scopes`: those planned when none is asked for (empty: all of them).
    - `primary_at`: another primary metric for some scopes of systems: across a cluster the network
      is what a collective is held against, not the links inside its instances.
    - `zipped`: groups of axes whose default values move together instead of crossing.
    - `footprint(point, extent)`: bytes needed by memory level ("hbm", "sbuf", "host"), by one core's
      share of the problem (one device's where devices take part); larger than that share of the
      machine means skipped with the reason.
    - `requires(point)`: names of instructions, dtypes and features that a generation must have
      ("dtype:fp8_e4m3", "instruction:nc_matmul", "link:neuronlink", "hosts:2", …). A generation
      that lacks one is skipped with the sentence it gives; see `generation.System.lacks`.
    - `valid(point)`: "" or why this combination of axis values makes no case (it is then not
      planned at all: an exclusion, not a skip).
    - `refuses(point, extent)`: "" or why this many ranks cannot share this point (a skip).
    - `implementations`: kind → reference. Kinds: "nki", "nki-mx", "nki-beta1", "torch", "torch-distributed",
      "numpy", "c", "collective", "model" ("roofline", or a reference to what a model answers with).
    - `groups`: of a collective that groups of devices carry out at once, each for itself, a reference to
      `(topology) -> ((rank, …), …)`: equally large, no rank twice; its size is that of one group.
    - `subject`: what it is about beside its point: of a model's step the model and its layout. Data.
    - `tests`: what documents say that it puts to the test; each of its cases repeats it.
    - `published`: what published measurements call it; without one they are looked for under the kernel's
      own name.
    """

    name: str
    family: str  # "gemm", "hbm", "dma", "engine", "normalisation", "attention", "copy", "collective", …
    title: str
    about: str  # what it shows, one sentence
    axes: tuple[Axis, ...]
    scopes: tuple[Scope, ...]
    primary: PrimaryMetric
    work: Callable[[Point, Extent], Work]
    footprint: Callable[[Point, Extent], Mapping[str, float]]
    requires: Callable[[Point], tuple[str, ...]]
    valid: Callable[[Point], str] = always_valid
    refuses: Callable[[Point, Extent], str] = always_sensible
    spread: Spread = Spread.CORES
    rank: str = "device"
    default_scopes: tuple[Scope, ...] = ()
    primary_at: Mapping[Scope, PrimaryMetric] = {}
    zipped: tuple[tuple[str, ...], ...] = ()
    tags: tuple[str, ...] = ()
    implementations: Mapping[str, Ref] = {}
    published: PublishedAs | None = None
    groups: Ref = ""
    subject: Subject | None = None
    tests: tuple[Statement, ...] = ()

    def axis(self, name: str) -> Axis | None:
        return next((axis for axis in self.axes if axis.name == name), None)

    @property
    def nki_sources(self) -> tuple[str, ...]:
        """What it is in NKI: the first whose `…_inputs` takes a point is the source of that point.

        Beta 1's source is that of a kernel which is written in nothing else.
        """
        kinds = NKI_KINDS if any(kind in self.implementations for kind in NKI_KINDS) else (BETA1_KIND,)
        found = (self.implementations.get(kind) for kind in kinds)
        return tuple(each.replace("::", ":", 1) for each in found if isinstance(each, str))
