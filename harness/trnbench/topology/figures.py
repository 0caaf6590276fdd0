"""Figures of links, read from facts or from named assumptions, and the link classes and budgets they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trnbench.errors import TopologyError
from trnbench.facts.fact import Assumption, Direction, Fact, FactBook, Scope
from trnbench.topology.graph import Budget, Figure, LinkClass, LinkKind

ONE_WAY = "one-way"
BOTH_WAYS = "both-ways"

DIRECTION_REASON = {
    ONE_WAY: (
        "NeuronLink figures are read as bytes per second in one direction, and the other has as much"
        " again. No document says which is meant. The page on Trn3 gives 256 GB/s to four PCIe Gen6 x8"
        " links, whose raw rate in one direction is 64 GB/s each"
    ),
    BOTH_WAYS: (
        "NeuronLink figures are read as the sum of both directions, so each direction has half: no"
        " document says which is meant"
    ),
}


def check_direction(reading: str) -> str:
    """`reading` itself. Raises `TopologyError` unless it is "one-way" or "both-ways"."""
    if reading not in DIRECTION_REASON:
        raise TopologyError(
            f"neuronlink_direction {reading!r} is no reading of a link figure",
            cause=f"it is {ONE_WAY} or {BOTH_WAYS}",
            try_=f"--reading neuronlink={ONE_WAY}",
        )
    return reading


class Figures:
    """Looks numbers up for `subjects`, the most specific first: instance, its parent, the device."""

    def __init__(self, book: FactBook, subjects: Iterable[str]) -> None:
        self.book = book
        self.subjects = tuple(dict.fromkeys(subject for subject in subjects if subject))

    def fact(
        self, metric: str, qualifiers: Sequence[str] = ("",), *, scope: Scope | None = None
    ) -> Fact | None:
        """The best current number: exact before "up to", then the first of the book.

        One's own facts stand first in a book, then the seed documents.
        """
        for subject in self.subjects:
            for qualifier in qualifiers:
                facts = [
                    fact
                    for fact in self.book.select(subject, metric, qualifier=qualifier, scope=scope)
                    if fact.value is not None
                ]
                if facts:
                    return min(facts, key=lambda fact: (bool(fact.superseded_by), bool(fact.limit)))
        return None

    def current(self, subject: str, metric: str, qualifiers: Sequence[str] = ("",)) -> list[Fact]:
        """Every exact number of today's documents, and of those among the seed that none replaced."""
        return [
            fact
            for qualifier in qualifiers
            for fact in self.book.select(subject, metric, qualifier=qualifier)
            if fact.value is not None and not fact.superseded_by and not fact.limit
        ]

    def assumption(self, metric: str, *ids: str) -> Assumption | None:
        """The first of these names that is one for this metric, and for one of the subjects or for all."""
        for name in ids:
            named = self.book.assumptions.get(name)
            if named is not None and named.metric == metric and named.subject in (*self.subjects, ""):
                return named
        return None

    def require(
        self,
        metric: str,
        purpose: str,
        *,
        qualifiers: Sequence[str] = ("",),
        scope: Scope | None = None,
        assumptions: Sequence[str] = (),
        divide: float = 1.0,
        by: str = "",
    ) -> Figure:
        """A figure for `purpose`: a fact, else one of the named assumptions, divided by `divide`.

        `by` names the divisor in the formula ("4 neighbours"). Raises `TopologyError` with the metric,
        the subject and what to add when neither is known.
        """
        fact = self.fact(metric, qualifiers, scope=scope)
        if fact is not None:
            return of_fact(fact, divide=divide, by=by)
        assumption = self.assumption(metric, *assumptions)
        if assumption is not None:
            return of_assumption(assumption, divide=divide, by=by)
        raise self.missing(metric, purpose, qualifiers, assumptions)

    def count(self, metric: str, purpose: str) -> int:
        """A whole number; raises `TopologyError` when no document gives it."""
        fact = self.fact(metric)
        if fact is None or fact.value is None:
            raise self.missing(metric, purpose, ("",))
        return round(fact.value)

    def missing(
        self, metric: str, purpose: str, qualifiers: Sequence[str], assumptions: Sequence[str] = ()
    ) -> TopologyError:
        wanted = f", qualifier {qualifiers[0]!r}" if qualifiers and qualifiers[0] else ""
        assumed = f", or [[assumptions]] with id = {assumptions[0]!r}," if assumptions else ""
        return TopologyError(
            f"{self.subjects[0]}: no {metric} for {purpose}",
            cause=f"neither a fact nor an assumption has metric {metric!r}{wanted} for subject "
            + " or ".join(map(repr, self.subjects)),
            try_=f"add a fact{assumed} to the generation's facts, or to a file for --facts",
        )


def of_fact(fact: Fact, *, divide: float = 1.0, by: str = "") -> Figure:
    """The fact's value divided by `divide`; the formula shows the printed number."""
    assert fact.value is not None
    return Figure(value=fact.value / divide, origin=fact.id, formula=_formula(fact, divide, by))


def of_assumption(found: Assumption, *, divide: float = 1.0, by: str = "") -> Figure:
    return Figure(
        value=found.value / divide,
        origin=found.id,
        formula=_formula(found, divide, by),
        assumed=True,
        low=found.low / divide,
        high=found.high / divide,
    )


def _formula(found: Fact | Assumption, divide: float, by: str) -> str:
    printed = f"{found.printed} {found.printed_unit}".strip()
    if divide == 1.0 and not by:
        return printed
    return f"{printed} / {by or f'{divide:g}'}"


def per_direction(figure: Figure, reading: str) -> Figure:
    """The share of one direction, in the reading chosen."""
    if check_direction(reading) == ONE_WAY:
        return figure
    return scaled(figure, 0.5, " / 2 directions")


def in_one_direction(fact: Fact, reading: str) -> Figure:
    """What the fact gives one direction: as its document states, else in the reading chosen."""
    stated = fact.direction in (Direction.ONE_WAY, Direction.BOTH_WAYS)
    return per_direction(of_fact(fact), fact.direction.value if stated else reading)


def scaled(figure: Figure, factor: float, text: str, **changes: object) -> Figure:
    """`figure` times `factor`; `text` is appended to its formula."""
    fields: dict[str, object] = {
        "value": figure.value * factor,
        "origin": figure.origin,
        "formula": figure.formula + text,
        "assumed": figure.assumed,
        "low": None if figure.low is None else figure.low * factor,
        "high": None if figure.high is None else figure.high * factor,
        **changes,
    }
    return Figure(**fields)  # type: ignore[arg-type]


def total(figures: Sequence[Figure]) -> Figure:
    """The sum; its origin names every part."""
    return Figure(
        value=sum(figure.value for figure in figures),
        origin=" + ".join(dict.fromkeys(figure.origin for figure in figures)),
        formula=" + ".join(figure.formula for figure in figures),
        assumed=any(figure.assumed for figure in figures),
    )


NETWORK_LEVEL = 2
"""Links to hosts, adapters and the network: a route takes them only where NeuronLink does not lead."""


def neuronlink_total(figures: Figures, reading: str, *qualifiers: str) -> Figure:
    """What one device's NeuronLink cables carry together in one direction, in bytes/s.

    `reading` decides where the document does not say which direction it means. Raises
    `TopologyError` when no figure is known.
    """
    check_direction(reading)
    fact = figures.fact("neuronlink_bandwidth", qualifiers or ("",), scope=Scope.DEVICE)
    if fact is None:
        raise figures.missing("neuronlink_bandwidth", "its NeuronLink cables", qualifiers)
    return in_one_direction(fact, reading)


def neuronlink_class(
    figures: Figures, total: Figure, neighbours: int, *, name: str = "neuronlink", level: int = 0
) -> LinkClass:
    """A cable's share of `total`: an even split, since no document gives the share of one cable."""
    share = total if neighbours == 1 else scaled(total, 1 / neighbours, f" / {neighbours} neighbours")
    return LinkClass(
        name=name,
        kind=LinkKind.NEURONLINK,
        bandwidth=share,
        latency=figures.require(
            "latency",
            "one NeuronLink hop",
            qualifiers=("neuronlink-hop",),
            assumptions=("neuronlink-hop-latency",),
        ),
        level=level,
    )


def switch_class(figures: Figures, total: Figure, *, name: str, level: int = 0) -> LinkClass:
    """The way from a device to a switch. Half of the switch's latency is charged on either side."""
    passage = figures.require(
        "latency",
        "one passage through a switch",
        qualifiers=("neuronswitch",),
        assumptions=("neuronswitch-latency",),
    )
    return LinkClass(
        name=name,
        kind=LinkKind.SWITCH,
        bandwidth=total,
        latency=scaled(passage, 0.5, " / 2 links of the passage"),
        level=level,
    )


def host_class(figures: Figures) -> LinkClass:
    """The PCIe way between a device and its host."""
    return LinkClass(
        name="host",
        kind=LinkKind.PCIE,
        bandwidth=figures.require(
            "host_link_bandwidth", "the link between host and device", assumptions=("host-link-bandwidth",)
        ),
        latency=figures.require(
            "latency",
            "the link between host and device",
            qualifiers=("host-link",),
            assumptions=("host-link-latency",),
        ),
        level=NETWORK_LEVEL,
    )


def efa_classes(figures: Figures) -> tuple[LinkClass, LinkClass]:
    """(device to adapter, adapter to network).

    Network figures are per direction, as is usual for full-duplex Ethernet. The documented latency is
    from memory to memory, so what the two ways to the adapters take is taken off it and the rest is
    halved. The way to the adapter is taken to be as fast as the adapter.
    """
    adapter = figures.require("efa_adapter_bandwidth", "its EFA adapters")
    message = figures.require(
        "latency", "a message over EFA", qualifiers=("efa",), assumptions=("efa-latency",)
    )
    near = figures.require("latency", "the way to an EFA adapter", assumptions=("adapter-latency",))
    network_s = message.value - 2 * near.value
    if network_s < 0:
        raise TopologyError(
            f"{figures.subjects[0]}: the two ways to the adapters take longer than a whole EFA message",
            cause=f"{near.origin} is {near.formula}, {message.origin} is {message.formula}",
            try_="correct one of the two in the fact files",
        )
    return (
        LinkClass(
            name="adapter",
            kind=LinkKind.PCIE,
            bandwidth=scaled(adapter, 1.0, ", as fast as the adapter"),
            latency=near,
            level=NETWORK_LEVEL,
        ),
        LinkClass(
            name="efa",
            kind=LinkKind.EFA,
            bandwidth=adapter,
            latency=Figure(
                value=network_s / 2,
                origin=f"{message.origin} + {near.origin}",
                formula=f"({message.formula} − 2 × {near.formula}) / 2 adapters on the way",
                assumed=message.assumed or near.assumed,
            ),
            level=NETWORK_LEVEL,
        ),
    )


def core_class(figures: Figures, cores: int) -> LinkClass:
    """How a core reaches its device's memory and links: an assumption, else its share of the DMA."""
    assumed = figures.assumption("dma_bandwidth", "on-chip-bandwidth")
    if assumed is not None:
        bandwidth = of_assumption(assumed)
    else:
        bandwidth = figures.require("dma_bandwidth", "its on-chip links", divide=cores, by=f"{cores} cores")
    return LinkClass(
        name="on-chip",
        kind=LinkKind.ON_CHIP,
        bandwidth=bandwidth,
        latency=figures.require(
            "latency", "its on-chip links", qualifiers=("on-chip",), assumptions=("on-chip-latency",)
        ),
    )


def neuronlink_budget(
    figures: Figures, name: str, classes: tuple[str, ...], figure: Figure, reading: str, *qualifiers: str
) -> Budget:
    """What a device's cables of these classes add up to, beside every document that prints a total."""
    printed = {
        fact.id: in_one_direction(fact, reading)
        for subject in figures.subjects
        for fact in figures.current(subject, "neuronlink_bandwidth", qualifiers or ("",))
        if fact.scope is Scope.DEVICE
    }
    return Budget(name=name, owner="device", classes=classes, figure=figure, readings=printed)


def efa_budget(figures: Figures, adapters: int, *, subject: str = "", owner: str = "system") -> Budget:
    """All adapters of the system (or of each server) together, in one direction.

    `subject` is whose documented network bandwidth they are held against.
    """
    adapter = figures.require("efa_adapter_bandwidth", "its EFA adapters")
    printed = figures.current(subject or figures.subjects[0], "efa_bandwidth")
    return Budget(
        name=f"EFA per {owner}",
        owner=owner,
        classes=("efa",),
        figure=scaled(adapter, adapters, f" × {adapters} adapters"),
        readings={fact.id: of_fact(fact) for fact in printed},
    )
