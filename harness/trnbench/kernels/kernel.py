"""A micro-benchmark: what it asks of a machine, on which axes, and how it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec.structs import replace

from trnbench.case_key import CaseKey, Division, Value
from trnbench.facts.fact import Direction, Scope
from trnbench.kernels.work import Extent, Spread, Work, needs
from trnbench.record import Record
from trnbench.reference import Ref

if TYPE_CHECKING:
    from fractions import Fraction

    from trnbench.kernels.split import Split

MAX_POINTS = 100_000
"""Of one kernel at one scope."""


class Axis(Record, kw_only=True):
    """`values` is the default sweep. `unit` is "B", "" or a word shown in headers.

    `kind` is "int", "float" or "str": what a value typed on the command line is read as.
    `wide` is the default sweep above core scope where it is a shorter one: there the whole machine
    repeats the core's curve, and a few points show what sharing costs. Empty: `values` again.
    `choices` are all the words a "str" axis takes; empty: any word. `least` bounds numbers below.
    `sides` name, in their order, what stands in a point in place of this size where it is 512x64x128.
    """

    name: str
    values: tuple[Value, ...]
    kind: str = "int"
    unit: str = ""
    about: str = ""
    wide: tuple[Value, ...] = ()
    choices: tuple[Value, ...] = ()
    least: float = 1
    sides: tuple[str, ...] = ()

    def side(self, name: str) -> Axis:
        """One of its sides, as an axis without values of its own."""
        return replace(self, name=name, values=(), wide=(), sides=())


def word_axis(name: str, about: str, *values: Value, choices: tuple[Value, ...] = ()) -> Axis:
    """An axis of words; it takes those that it is swept over, or all of `choices`."""
    return Axis(name=name, kind="str", values=values, choices=choices or values, about=about)


class Statement(Record, kw_only=True):
    """`source` is the id of a source in the facts of the generation that the kernel is written for, `locator`
    the place in it; `says` is its content in words of our own, with the number where it gives one.
    """

    source: str
    locator: str
    says: str

    def __str__(self) -> str:
        return f"{self.source}, {self.locator}: {self.says}"


Point: TypeAlias = Mapping[str, Value]
"""One value for every axis of a kernel."""

Sizes: TypeAlias = Mapping[str, float]
"""Axis, by the word that published shapes have for it → size."""


def _no_sizes(_: Point) -> Sizes:
    return {}


def _no_point(_: Mapping[str, Any]) -> Point | None:
    return None


class PublishedAs(Record, kw_only=True):
    """How published points speak of this kernel.

    - `group`: families of points that are evidence for it: "core" (kernels and products), "hbm", "dma",
      "instruction", "collective", "point-to-point", "host-copy". The last three are evidence inside an
      instance; whoever classifies a result sets those across a network or an UltraServer apart.
    - `operation(point)`: the word of published points for what is done: "gemm", "attention", "mamba".
    - `program(point)`: the name of the published thing that this very kernel stands for, "" where the
      published programs are others that do the same. A stream or an instruction is one program, whoever
      writes it; a matrix product is not.
    - `sizes(point)`: the axes as published shapes name them; an empty mapping where no size compares.
    - `point(shape)`: a published shape as a point whose work the kernel can count, None where it is not that
      kernel's; it turns a published time into a rate.
    """

    group: str = "core"
    operation: Callable[[Point], str]
    program: Callable[[Point], str] = lambda _: ""
    sizes: Callable[[Point], Sizes] = _no_sizes
    point: Callable[[Mapping[str, Any]], Point | None] = _no_point


def always(word: str) -> Callable[[Point], str]:
    """The same word at every point."""
    return lambda _: word


class Subject(Protocol):
    """What such a kernel is about: data that a run keeps with its selection."""

    @property
    def name(self) -> str:
        """Of the kernel that is made of it."""

    def files(self) -> tuple[Path, ...]:
        """Files of the user's own that its time depends on."""

    def code(self) -> tuple[str, ...]:
        """Packages and modules that its time depends on."""


class Template(Record, kw_only=True):
    """`name` is the field of a selection that holds the subject.

    `subject` references a function from what a run has stored to the subject; it raises
    `msgspec.ValidationError` for what is none. `kernel` references a function from the subject to its
    `Kernel`."""

    name: str
    subject: Ref
    kernel: Ref


class PrimaryMetric(Record, kw_only=True):
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


def asks(*instructions: str) -> Callable[[Point], tuple[str, ...]]:
    """`requires` of a kernel that uses `instructions` on operands of its axis `dtype`."""
    return lambda point: (*needs(point["dtype"], *instructions),)


def always_valid(_: Point) -> str:
    """Every combination of axis values makes a case."""
    return ""


def always_sensible(_: Point, __: Extent) -> str:
    """Every number of ranks can share every point."""
    return ""


class Kernel(Record, kw_only=True):
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
    - `split(point, cores)`: how so many cores share one problem; None where each does all of it, always.
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
    split: Callable[[Point, int], Split] | None = None
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
        """The axis of this name, also one that is a side of another."""
        own = next((axis for axis in self.axes if axis.name == name), None)
        return own or next((axis.side(name) for axis in self.axes if name in axis.sides), None)


class Variant(Record, kw_only=True):
    """`source` carries out the kernel named `kernel` as an implementation of `kind`, which it lacks.

    So that a generation brings what only its language or its data types can say, and takes it along when
    its plugin is left out; axes, formulas and the name of a case stay those of the kernel.
    """

    kernel: str
    kind: str  # "nki-mx", "nki-beta1", …
    source: Ref

    @property
    def name(self) -> str:
        return f"{self.kernel}.{self.kind}"


class Case(Record, kw_only=True):
    """`skip` is "" or the reason this case cannot run here; it is reported, never dropped.

    `explain`: where its time goes is wanted, not only how much it is. A plan wants that of one scope of
    each kernel and point; a backend that finds it out at no cost may give it at every one.
    """

    key: CaseKey
    kernel: Kernel
    extent: Extent
    skip: str = ""
    explain: bool = True

    @property
    def primary(self) -> PrimaryMetric:
        """What this case reports first and is judged by."""
        return self.kernel.primary_at.get(self.key.scope, self.kernel.primary)

    @property
    def id(self) -> str:
        return self.key.id

    @property
    def work(self) -> Work:
        """What all that take part have to do: a problem each, or one of all of them."""
        sharded = self.key.division is Division.SHARDED
        extent = replace(self.extent, cores=1) if sharded else self.extent
        return self.kernel.work(self.key.point, extent)

    @property
    def footprint(self) -> Mapping[str, float]:
        """Bytes needed by memory level, as of its kernel."""
        return self.kernel.footprint(self.key.point, self.extent)

    @property
    def split(self) -> Split | None:
        """Of a sharded case, else None."""
        if self.key.division is not Division.SHARDED or self.kernel.split is None:
            return None
        return self.kernel.split(self.key.point, self.extent.cores)

    @property
    def share(self) -> Case:
        """What a core with the largest share carries out while all others are at work; else the case itself.

        A sharded case takes as long as this one, and is as near to published evidence.
        """
        split = self.split
        if split is None or not split.shards:
            return self
        key = replace(self.key, point=dict(split.shards[0].point), division=Division.REPLICATED)
        return replace(self, key=key)
