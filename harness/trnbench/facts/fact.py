"""Documented numbers, as printed and as normalised: scope, source, the book of them, the peaks they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property

from trnbench.errors import UnknownName, brief, counted, listed
from trnbench.record import Record


class Scope(StrEnum):
    """From the smallest to the largest part of a system."""

    ENGINE = "engine"
    CORE = "core"  # one physical NeuronCore (or CPU core, or GPU SM's whole device: see plugin)
    LOGICAL_CORE = "logical-core"  # LNC=2: two physical cores programmed as one
    DEVICE = "device"  # one Trainium chip
    INSTANCE = "instance"  # what EC2 rents: host plus devices
    ULTRASERVER = "ultraserver"  # one scale-up domain of several servers
    CLUSTER = "cluster"  # many instances on a network

    rank: int
    """0 for the smallest."""

    def __init__(self, _value: str) -> None:
        self.rank = len(type(self).__members__)


class Direction(StrEnum):
    """How a link figure counts: documents seldom say, so "unstated" is a value of its own."""

    NONE = ""  # the metric has no direction
    ONE_WAY = "one-way"
    BOTH_WAYS = "both-ways"
    UNSTATED = "unstated"


class Provenance(StrEnum):
    """How the number came to be in the source."""

    DOCUMENTED = "documented"  # printed in the source
    FIGURE = "figure"  # read from a diagram
    DRIVER = "driver"  # a constant in the public kernel driver
    VENDOR_MEASURED = "vendor-measured"  # a profile number the vendor printed
    DERIVED = "derived"  # exact arithmetic on documented numbers; `formula` says which
    MEASURED = "measured"  # on the machine of the run, by the kernel that `locator` names: reached, no bound
    INFERRED = "inferred"  # a reading that may be wrong


class Source(Record, kw_only=True, forbid_unknown_fields=True):
    """A document a number can be looked up in: name and version, never its sentences."""

    id: str
    document: str
    version: str = ""  # release tag, commit or "undated"
    date: str = ""  # ISO date of that version where known
    path: str = ""  # path inside the repository, or web address
    seed: bool = False  # one of the five documents the project starts from
    note: str = ""


class Fact(Record, kw_only=True, forbid_unknown_fields=True):
    """One number (or word) that one document prints about one subject.

    `value` is in the SI base unit of the metric's dimension (`facts.metric`), `printed` and
    `printed_unit` are what the document shows. A textual fact has `value=None` and its words in
    `printed`. `qualifier` separates facts of one metric that are not alternatives of each other:
    "intra-instance" against "inter-instance", "tensor" against "vector".
    """

    subject: str  # "trn1.32xlarge", "trainium2", "neuroncore-v3", …
    metric: str  # a name of `facts.metric.METRICS`
    printed: str
    printed_unit: str
    value: float | None
    scope: Scope
    source: str  # Source.id
    locator: str  # table, row, column, section
    dtypes: tuple[str, ...] = ()  # empty: the metric does not depend on the data type
    sparse: bool = False
    direction: Direction = Direction.NONE
    qualifier: str = ""
    limit: str = ""  # "", "up-to" or "over": the printed number is a bound, not a value
    provenance: Provenance = Provenance.DOCUMENTED
    formula: str = ""  # for derived facts
    superseded_by: str = ""  # id of the source whose figure replaced this one
    part: str = ""  # "prose", "caption", …: where one document prints a figure besides its table
    note: str = ""

    @property
    def id(self) -> str:
        """Stable name: subject/metric[dtypes,qualifier]@source, and #part where a source has several."""
        suffix = f"#{self.part}" if self.part else ""
        name = marked(self.metric, self.dtypes, self.sparse, self.qualifier)
        return f"{self.subject}/{name}@{self.source}{suffix}"


def marked(metric: str, dtypes: tuple[str, ...], sparse: bool, qualifier: str) -> str:
    """metric[dtypes,sparse,qualifier]"""
    marks = [*dtypes, *(["sparse"] if sparse else []), qualifier]
    inner = ",".join(mark for mark in marks if mark)
    return f"{metric}[{inner}]" if inner else metric


def show_printed(fact: Fact) -> str:
    """As the document shows it: "3,360 TFLOPS", "up to 3 petaflops"."""
    words = {"up-to": "up to ", "over": "over "}.get(fact.limit, "") if fact.printed[:1].isdigit() else ""
    return f"{words}{fact.printed} {fact.printed_unit}".strip()


class Assumption(Record, kw_only=True, forbid_unknown_fields=True):
    """A number no document gives, named and bounded so that its weight can be shown.

    `value` in the base unit of `metric`; `low` and `high` bound what is plausible.
    """

    id: str
    metric: str
    printed: str
    printed_unit: str
    value: float
    low: float
    high: float
    reason: str
    subject: str = ""


class Dispute(Record, kw_only=True, forbid_unknown_fields=True):
    """A disagreement between documents.

    `rule` names the checker's rule that finds it ("" where no rule can: words, layouts, headers);
    several are separated by commas, and each of them has to find it.
    """

    id: str  # "C01" …
    topic: str
    values: tuple[str, ...]
    sources: tuple[str, ...]
    subjects: tuple[str, ...] = ()
    rule: str = ""
    metric: str = ""  # narrows what the rule's findings have to speak of
    note: str = ""


class Assembly(Record, kw_only=True):
    """Subjects of one system: its own, its device's, its core's, and the instance it is made of."""

    subject: str
    scope: Scope
    device: str
    core: str
    parent: str = ""


class PeakPolicy(StrEnum):
    """Which of the disagreeing documents a percentage is taken of."""

    SEED = "seed"  # the instance table of the seed document (default)
    DEVICE = "device"  # the device page, times the devices in scope
    ENGINE = "engine"  # rows × columns × 2 × clock × cores: what the clocks allow
    LATEST = "latest"  # the newest document that is not superseded


def as_policy(policy: PeakPolicy | str) -> PeakPolicy:
    """The policy of this name. Raises `UnknownName`."""
    try:
        return PeakPolicy(policy)
    except ValueError:
        raise UnknownName("peak policy", str(policy), map(str, PeakPolicy), try_="--peak seed") from None


class Peak(Record, kw_only=True, forbid_unknown_fields=True):
    """One candidate: a documented figure, or one derived from documented figures by `formula`.

    `value` in the base unit of `metric`, for the whole `scope` (one core, one device, …).
    """

    metric: str  # "peak_flops", "hbm_bandwidth", "neuronlink_bandwidth", …
    value: float
    scope: Scope
    dtype: str = ""
    sparse: bool = False
    direction: Direction = Direction.NONE
    qualifier: str = ""
    evidence: str = "documented"  # or "derived"; "measured": reached on the machine of the run, no bound
    formula: str = ""  # for derived peaks: "3,360 TFLOPS / 16 devices / 2 cores"
    facts: tuple[str, ...] = ()  # Fact.id of what it stands on
    source: str = ""  # Source.id
    policy: PeakPolicy | None = None  # the policy that would choose it, if any
    superseded_by: str = ""


class PeakChoice(Record, kw_only=True, forbid_unknown_fields=True):
    """The peak a case is judged by, every alternative, and what the clocks allow.

    `engine_bound` is None where no clock gives one (network figures, for instance): then an
    excess over the documented figure can only be compared with what exists, and says so.
    """

    policy: PeakPolicy
    chosen: Peak
    alternatives: tuple[Peak, ...] = ()
    engine_bound: Peak | None = None
    note: str = ""  # e.g. the policy had no figure of this scope, and what was taken instead


class FactBook(Record, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Facts, their sources, assumptions and known disputes. Serialised whole into every run."""

    sources: dict[str, Source] = {}
    facts: tuple[Fact, ...] = ()
    assumptions: dict[str, Assumption] = {}
    disputes: tuple[Dispute, ...] = ()

    def __repr__(self) -> str:
        counts = ((self.facts, "fact"), (self.sources, "source"), (self.assumptions, "assumption"))
        phrases = [
            *(counted(len(entries), noun) for entries, noun in counts),
            counted(len(self.disputes), "dispute"),
        ]
        subjects = listed(dict.fromkeys(fact.subject for fact in self.facts), "subject")
        return brief(self, f"of {subjects or 'nothing'}: {', '.join(phrases)}")

    def select(
        self,
        subject: str | None = None,
        metric: str | None = None,
        *,
        dtype: str | None = None,
        sparse: bool | None = None,
        scope: Scope | None = None,
        qualifier: str | None = None,
        source: str | None = None,
    ) -> Iterator[Fact]:
        """Facts that match every given criterion, in file order."""
        for fact in self._facts_of(subject, metric):
            if dtype is not None and fact.dtypes and dtype not in fact.dtypes:
                continue
            if sparse is not None and fact.sparse != sparse:
                continue
            if scope is not None and fact.scope != scope:
                continue
            if qualifier is not None and fact.qualifier != qualifier:
                continue
            if source is not None and fact.source != source:
                continue
            yield fact

    def _facts_of(self, subject: str | None, metric: str | None) -> Sequence[Fact]:
        if subject is None and metric is None:
            return self.facts
        return self._found.get((subject, metric), ())

    @cached_property
    def _found(self) -> dict[tuple[str | None, str | None], list[Fact]]:
        """The facts of a subject and metric, of a subject, and of a metric; each in file order."""
        index: dict[tuple[str | None, str | None], list[Fact]] = {}
        for fact in self.facts:
            for key in ((fact.subject, fact.metric), (fact.subject, None), (None, fact.metric)):
                index.setdefault(key, []).append(fact)
        return index

    def value(self, subject: str, metric: str, **criteria: object) -> float | None:
        """The first current (not superseded) numeric value that matches, else None."""
        matches = [f for f in self.select(subject, metric, **criteria) if f.value is not None]  # type: ignore[arg-type]
        current = [f for f in matches if not f.superseded_by] or matches
        return current[0].value if current else None

    def merged(self, other: FactBook) -> FactBook:
        """This book with `other`'s entries added; `other` wins where ids of sources coincide."""
        return FactBook(
            sources={**self.sources, **other.sources},
            facts=(*self.facts, *other.facts),
            assumptions={**self.assumptions, **other.assumptions},
            disputes=(*self.disputes, *other.disputes),
        )
