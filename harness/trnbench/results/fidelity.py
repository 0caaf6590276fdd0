"""How far a model is from published measurements: a comparison per point, a row per family and generation.

Every error is e = ln(model time / published time), whatever was printed; a rate is turned into a time of the
same work. Statistics are over votes: |e| is averaged over the points of a kernel first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from trnbench.errors import brief, counted
from trnbench.record import Record


class OwnProduct(Record, kw_only=True, forbid_unknown_fields=True):
    """Our own product beside the best published one of the same shape, data type and number of cores.

    Rates in FLOP/s of all `cores`, work being 2·M·N·K of the shape; the model's time without the launch, as
    in every comparison with a published kernel. `e` = ln(model time / published time): below 0 the model is
    the faster one. Two programs, so `e` holds what the other program loses too: the best published one bounds
    it. `others`: points of the same shape that are slower.
    """

    id: str  # of the published point
    generation: str
    m: int
    n: int
    k: int
    dtype: str
    cores: int
    kernel: str
    model_flops_per_s: float
    published_flops_per_s: float
    e: float
    source: str
    others: tuple[str, ...] = ()


class Use(StrEnum):
    """What became of a published point."""

    EMULATED = "emulated"  # as stated
    CONTRADICTED = "contradicted"  # emulated; counts against the interval that its sources span
    BOUND = "bound"  # an upper bound of a time: an error of one side
    SAME_OPERATION = "same operation"  # our own kernel of that operation and shape, not the published one
    NEEDS_SOURCE = "needs source"  # the kernel is in a public repository, see --kernels
    NO_KERNEL = "no kernel"  # the kernel it was measured with cannot be had, or is none
    NOT_EMULATED = "not emulated"  # the model cannot take it as stated
    NOT_USED = "not used"  # says too little, or of something else


COUNTED = (Use.EMULATED, Use.CONTRADICTED)
"""Uses whose errors make medians; bounds are counted in a column of their own."""


class Honesty(StrEnum):
    """What the model has seen of a point."""

    FITTED = "fitted"  # a constant's value came from it
    SHAPED = "shaped"  # a rule of the model was chosen by looking at it
    UNTOUCHED = "untouched"


class Comparison(Record, kw_only=True, forbid_unknown_fields=True):
    """One published point beside the model's answer, both in `unit` (an SI base unit).

    `e` is ln(model time / published time): + where the model is slower than the machine. `e_cross` is the
    same of a model whose constants were fitted without this point: `e` where none was fitted on it, None
    where the cost file does not say and for a point that also shaped a rule. `vote` names the kernel that
    votes, `honesty` is a `Honesty` ("" in runs stored before it was recorded). `span`: the lowest and the
    highest value that sources which contradict each other print for it.
    """

    id: str
    family: str
    generation: str
    use: Use
    vote: str
    honesty: str
    quantity: str
    unit: str
    published: float | None = None
    emulated: float | None = None
    e: float | None = None
    e_cross: float | None = None
    span: tuple[float, float] | None = None
    how: str = ""  # how it was emulated, or why not
    source: str = ""
    confidence: str = ""
    active: dict[str, float] = {}  # of a profile: seconds in which each engine has an instruction under way

    @property
    def counted(self) -> bool:
        """Whether its error is one of those that make medians."""
        return self.use in COUNTED


class Span(Record, kw_only=True, forbid_unknown_fields=True):
    """A 95 % interval of a statistic, by bootstrap over votes."""

    low: float
    high: float


class Errors(Record, kw_only=True, forbid_unknown_fields=True):
    """Statistics of |e| over `votes` kernels with `points` points; `bias` is the median signed e of a vote.

    Under five votes there are neither p90 nor intervals, and `listed` has each point's e by id. `worst` is
    |e| of the worst point, `worst_raw` that of the one that is farthest from what it prints itself: a point
    that sources contradict counts by its distance from what they span. `p90_rows` is of points, each alike.
    """

    votes: int
    points: int
    median: float
    bias: float
    worst: float
    worst_id: str
    median_span: Span | None = None
    p90: float | None = None
    p90_span: Span | None = None
    p90_rows: float | None = None  # from five points on
    worst_raw: float | None = None
    worst_raw_id: str = ""
    listed: dict[str, float] = {}


class Bounds(Record, kw_only=True, forbid_unknown_fields=True):
    """Published inequalities: `broken` of `count`; `worst` is the largest ln(model / bound), 0 if none is."""

    count: int
    broken: int = 0
    worst: float = 0.0
    worst_id: str = ""


class FamilyFidelity(Record, kw_only=True, forbid_unknown_fields=True):
    """One family on one generation. `errors` are of all counted points as the model stands; `fitted`,
    `shaped` and `untouched` of those of that honesty; `cross_validated` of fitted ones with every constant
    fitted without the point. `uses` counts the published points by `Use`, our own kernels of the same
    operation aside.
    """

    name: str
    title: str
    generation: str
    errors: Errors | None = None
    fitted: Errors | None = None
    cross_validated: Errors | None = None
    shaped: Errors | None = None
    untouched: Errors | None = None
    bounds: Bounds | None = None
    uses: dict[str, int] = {}


class PublicKernels(Record, kw_only=True, forbid_unknown_fields=True):
    """Published kernels of one generation run from their own sources, which are not part of trnbench: what
    that gave on `day` ("": with this comparison) with version `version` of the model `by`. `row` counts them
    all, whatever their family."""

    generation: str
    by: str
    version: str
    day: str
    row: FamilyFidelity


class Step(Record, kw_only=True, forbid_unknown_fields=True):
    """From one published version of a kernel to a later one, `apart` versions on.

    ln(time after / time before), published and by the model; None where it does not answer for both. `tied`:
    the model gives both the same time to four digits. `note`: what the model does not price, or assumes,
    where that decides the order.
    """

    sequence: str
    generation: str
    source: str
    start: str
    end: str
    published: float
    model: float | None = None
    apart: int = 1
    tied: bool = False
    note: str = ""

    @property
    def in_order(self) -> bool | None:
        """Whether the model moves the same way; a tie does not."""
        return None if self.model is None else not self.tied and self.model * self.published > 0

    @property
    def off(self) -> float | None:
        """ln(ratio of the model / published ratio)."""
        return None if self.model is None else self.model - self.published


LEAST_GAIN = math.log(1.03)
"""Published differences up to 3 % are none: they are within what repeated measurements differ."""
LARGE_GAIN = math.log(1.2)
"""Pairs that differ by as much have a count of their own."""


class OrderKept(Record, kw_only=True):
    """Of `pairs` published pairs of versions with a gain like this, the model keeps `kept` in order.

    `gain` says which pairs these are. No published pair is called ordered that differs by 3 % or less."""

    kept: int
    pairs: int
    gain: str

    def __str__(self) -> str:
        return f"{self.kept} of {self.pairs}" if self.pairs else "none published"


def order_kept(steps: Sequence[Step], gain: float) -> OrderKept | None:
    """How often the model orders published pairs with a gain like `gain`, a logarithm; None without pairs."""
    if not steps:
        return None
    size = abs(gain)
    if size < LEAST_GAIN:
        return OrderKept(kept=0, pairs=0, gain="less than 3 %")
    large = size >= LARGE_GAIN
    alike = [
        step
        for step in steps
        if step.model is not None
        and abs(step.published) > LEAST_GAIN
        and (abs(step.published) >= LARGE_GAIN) is large
    ]
    return OrderKept(
        kept=sum(step.in_order is True for step in alike),
        pairs=len(alike),
        gain="a factor of 1.2 and more" if large else "3 to 20 %",
    )


class EngineTime(Record, kw_only=True, forbid_unknown_fields=True):
    """Seconds in which one engine was active in the profile of point `id`, published and by the model.

    `share`: of the published time.
    """

    id: str
    generation: str
    vote: str
    engine: str
    share: float
    published: float
    model: float

    @property
    def e(self) -> float:
        """ln(model / published), the model's no less than a nanosecond."""
        return math.log(max(self.model, 1e-9) / self.published)


class Mover(Record, kw_only=True, forbid_unknown_fields=True):
    """One point of the frozen list: what counts of its error then and now."""

    id: str
    then: float
    now: float


class Moved(Record, kw_only=True, forbid_unknown_fields=True):
    """Points of one family and generation that were untouched when their list was frozen: their errors by
    version `version` of the model, and now. `movers` moved most, first; `unanswered` have no answer now."""

    generation: str
    family: str
    title: str
    version: str
    then: Errors | None = None
    now: Errors | None = None
    bounds_then: Bounds | None = None
    bounds_now: Bounds | None = None
    movers: tuple[Mover, ...] = ()
    unanswered: tuple[str, ...] = ()


class Fidelity(Record, kw_only=True, forbid_unknown_fields=True):
    """The comparison as it was when a run was made. `families` are worst first, families of public kernels
    among them as they were last run; `points` are those with a number of the model, public kernels included.
    `by` and `version` name the model; `public` may be of an earlier version. `steps` are all pairs of
    versions in published sequences, `moved` says what became of the points that were untouched before."""

    by: str
    version: str = ""
    families: tuple[FamilyFidelity, ...] = ()
    points: tuple[Comparison, ...] = ()
    public: tuple[PublicKernels, ...] = ()
    products: tuple[OwnProduct, ...] = ()  # of runs with a product of ours
    outdated: dict[str, str] = {}  # generation → why `products` has none of it, and what to type
    steps: tuple[Step, ...] = ()
    engines: tuple[EngineTime, ...] = ()
    moved: tuple[Moved, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        rows = counted(len(self.families), "row")
        return brief(self, f"of {self.by} {self.version}: {counted(len(self.points), 'point')} in {rows}")
