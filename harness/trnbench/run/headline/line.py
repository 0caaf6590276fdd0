"""A line of the headline as values: everything its words say, and where to look it up."""

from __future__ import annotations

import msgspec

from trnbench.facts.scope import Scope
from trnbench.results.evidence import Grade
from trnbench.results.nearness import BestPublished
from trnbench.results.own_product import OwnProduct


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judged metric over the cases of a line, in its base unit; `best` need not be the largest.

    `over` and `at` name the axes that vary: all their values, and those of the best. `case` is its id.
    """

    metric: str
    unit: str
    better: str
    points: int
    worst: float
    best: float
    over: str
    at: str
    case: str


class Promised(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of a document at the scope of the line, and the share of it that the best case reaches.

    `date` of the document, its version where it has none. `printed`: the document prints the figure for this
    very scope; otherwise it is worked out from what it prints.
    """

    value: float
    fraction: float
    document: str
    source: str
    date: str = ""
    printed: bool = True
    note: str = ""
    superseded_by: str = ""


class PerCore(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The best published of one core; `fraction` of what is promised of one core, by the same document."""

    published: BestPublished
    fraction: float
    case: str


class Cause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What takes time beside the work at the peak; `share` of the time of the best case."""

    name: str
    share: float


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kernel on the systems of one generation that gave the same numbers.

    - `whole`: no system of the generation that was asked gave other numbers.
    - `ranks`: of a collective, how many ranks of what kind, and what its bandwidth counts.
    - `of` and `since`: the figure it is held against, and the one that has superseded that.
    - `others`: what other documents print or imply for the same figure, superseded ones too.
    - `clock`: the share of what the clocks allow, of the best case; `clock_value` is that bound.
    - `expected`: what the band of the nearest published evidence leaves of the best value, low before high,
      in the unit of the sweep; `votes` stand behind it, `widened` and `band_note` as in `Band` and `Nearest`.
    - `published`: the best of the nearest class that has one; `above` says where the model is far above it.
    - `of_core`: where nobody published the scope, the best published of one core, beside the promise of one.
    - `bound` and `rest`: what the best case waits for most, as its model names it, and what takes its time.
    - `own`: our product at the shapes that others published, where the line is about a product;
      `own_outdated` says why there is none, where what is shipped of it does not hold, and what to type.
    - `muted`: nothing published stands near enough for an interval, and `reason` says why. Such a line comes
      last and is never bold.
    """

    question: str
    generation: str
    systems: tuple[str, ...]
    scope: Scope
    kernel: str
    dtype: str
    grade: Grade
    sweep: Sweep
    whole: bool = True
    ranks: str = ""
    of: Promised | None = None
    since: Promised | None = None
    others: tuple[Promised, ...] = ()
    clock: float | None = None
    clock_value: float | None = None
    nearness: str = ""
    expected: tuple[float, float] | None = None
    votes: int = 0
    widened: str = ""
    band_note: str = ""
    published: BestPublished | None = None
    above: str = ""
    of_core: PerCore | None = None
    bound: str = ""
    rest: tuple[Cause, ...] = ()
    own: tuple[OwnProduct, ...] = ()
    own_outdated: str = ""
    muted: bool = False
    reason: str = ""
