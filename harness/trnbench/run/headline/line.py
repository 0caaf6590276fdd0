"""A line of the headline as values: everything its words say, and where to look it up."""

from __future__ import annotations

import msgspec

from trnbench.facts.scope import Scope
from trnbench.results.evidence import Grade
from trnbench.results.nearness import BestPublished


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judged metric over the cases of a line, in its base unit; `best` is the best value, not the largest.

    `over` and `at` name the axes that vary: all of them, and where the best was. `case` is the id of the best.
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

    `date` of the document, its version where it has none. `printed`: the document prints it for this very scope; otherwise it is worked out from what it prints.
    """

    value: float
    fraction: float
    document: str
    source: str
    date: str = ""
    printed: bool = True
    note: str = ""


class Cause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What takes time beside the work at the peak; `share` of the time of the best case."""

    name: str
    share: float


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kernel on the systems of one generation that gave the same numbers.

    `since` is what superseded the figure of `of`. `clock` is the share of what the clocks allow, of the best
    case. `expected` is what the band of the nearest published evidence leaves, in the unit of the sweep, low
    before high. `ranks` names what a rank is, for collectives alone. `muted`: nothing published stands near
    enough for an interval, `reason` says why; such a line comes last and is never bold.
    """

    question: str
    generation: str
    systems: tuple[str, ...]
    scope: Scope
    kernel: str
    dtype: str
    grade: Grade
    sweep: Sweep
    ranks: str = ""
    of: Promised | None = None
    since: Promised | None = None
    clock: float | None = None
    nearness: str = ""
    expected: tuple[float, float] | None = None
    votes: int = 0
    band_note: str = ""
    published: BestPublished | None = None
    rest: tuple[Cause, ...] = ()
    own: tuple[str, ...] = ()
    muted: bool = False
    reason: str = ""
