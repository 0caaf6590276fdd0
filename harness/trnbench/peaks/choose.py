"""The peak of a case by a stated policy, with every alternative beside it."""

from __future__ import annotations

from fractions import Fraction

import msgspec
from msgspec.structs import replace

from trnbench.facts.fact import Direction, Peak, PeakChoice, PeakPolicy, Scope
from trnbench.facts.metric import metric as metric_kind
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.peaks.candidate import Candidate, Parts, Wanted, candidates, once_for_system
from trnbench.peaks.engine import engine_bound

_SHARED = ("hbm_bandwidth", "dma_bandwidth", "neuronlink_bandwidth", "efa_bandwidth")


def choose_peak(
    system: System,
    *,
    metric: str,
    scope: Scope,
    dtype: str = "",
    sparse: bool = False,
    qualifier: str = "",
    direction: Direction = Direction.NONE,
    extent: Extent | None = None,
    policy: PeakPolicy = PeakPolicy.SEED,
    alternatives: bool = True,
) -> PeakChoice | None:
    """The figure of `metric` at `scope` that `policy` names; None where no document has one.

    - seed: the instance table of the seed document; where it has none, the seed's device page;
    - device: the device page, times the devices in scope;
    - engine: what the clocks allow;
    - latest: the newest document whose figure is not superseded, printed nearest to the scope.

    Where the policy has no figure, the latest one is taken and `note` says so. Figures of another
    scope are multiplied or divided by stated counts (`evidence="derived"`, `formula`). Without `alternatives`
    nothing is worked out of those that are not chosen. Raises `FactError` for an unknown metric.
    """
    metric_kind(metric)
    parts = Parts.of(system, extent)
    if not parts.has(scope) or (metric == "neuronlink_bandwidth" and parts.devices == 1):
        return None  # one device has no other to link to, whatever its ports could carry
    wanted = Wanted(
        metric=metric, scope=scope, dtype=dtype, sparse=sparse, qualifier=qualifier, direction=direction
    )
    fitting, notes = _fitting(system, wanted, parts)
    bound = engine_bound(system, **msgspec.structs.asdict(wanted), extent=extent)
    covered = _covered(system)
    for applied in (policy, *_INSTEAD):
        pick = bound if applied is PeakPolicy.ENGINE else _pick(applied, fitting, covered=covered)
        if pick is not None:
            break
    else:
        return None
    if applied is not policy:
        notes.append(f"{_absent(policy)}; the {_WORDS[applied]} is taken")
    chosen = _named(pick, applied)
    notes += _remarks(chosen, fitting, wanted, policy)
    others = _alternatives(chosen, _picks(fitting, bound, covered=covered), fitting) if alternatives else ()
    return PeakChoice(
        policy=policy, chosen=chosen, alternatives=others, engine_bound=bound, note="; ".join(notes)
    )


def _fitting(system: System, wanted: Wanted, parts: Parts) -> tuple[list[Candidate], list[str]]:
    """Documented figures of the wanted kind, and a note where they speak of all links."""
    fitting = candidates(system, wanted, parts)
    if fitting or not wanted.qualifier or wanted.metric != "neuronlink_bandwidth":
        return fitting, []
    # Trn1 has one level of links, and its documents no word for it.
    fitting = candidates(system, replace(wanted, qualifier=""), parts)
    note = f"no document gives {wanted.qualifier} links a figure of their own; theirs for all links is taken"
    return fitting, [note] if fitting else []


_INSTEAD = (PeakPolicy.LATEST, PeakPolicy.SEED, PeakPolicy.ENGINE)
"""Where the policy that is asked for has nothing to choose from."""

_WORDS = {
    PeakPolicy.SEED: "seed's figure",
    PeakPolicy.DEVICE: "device page's figure",
    PeakPolicy.ENGINE: "figure of the clocks",
    PeakPolicy.LATEST: "newest document's figure",
}


def _absent(policy: PeakPolicy) -> str:
    if policy is PeakPolicy.ENGINE:
        return "no document gives the clocks that would bound this"
    if policy is PeakPolicy.LATEST:
        return "every document's figure is superseded"
    return (
        f"the {'seed documents print' if policy is PeakPolicy.SEED else 'device page prints'} no such figure"
    )


@once_for_system
def _covered(system: System) -> bool:
    """Whether a seed document speaks of this system: trn1n.32xlarge is younger than all of them."""
    names = {system.instance.name, system.instance.parent} - {""}
    return any(system.book.sources[fact.source].seed for name in names for fact in system.book.select(name))


def _picks(
    found: list[Candidate], bound: Peak | None, *, covered: bool
) -> dict[PeakPolicy, Candidate | Peak]:
    """What each policy would choose, where it has anything to choose from."""
    documented = (PeakPolicy.SEED, PeakPolicy.DEVICE, PeakPolicy.LATEST)
    best = {policy: _pick(policy, found, covered=covered) for policy in documented}
    return {policy: pick for policy, pick in {**best, PeakPolicy.ENGINE: bound}.items() if pick is not None}


def _pick(policy: PeakPolicy, found: list[Candidate], *, covered: bool) -> Candidate | None:
    """What a policy of documents would choose."""
    if policy is PeakPolicy.SEED:
        return min((each for each in found if each.seed and covered), key=_by_table, default=None)
    if policy is PeakPolicy.DEVICE:
        pages = (each for each in found if each.nearness == 2 and each.fact.scope is Scope.DEVICE)
        return min(pages, key=_by_page, default=None)
    return _newest([candidate for candidate in found if not candidate.superseded_by])


def _named(pick: Candidate | Peak, policy: PeakPolicy) -> Peak:
    return replace(pick.peak, policy=policy) if isinstance(pick, Candidate) else pick


def _by_table(each: Candidate) -> tuple[int, ...]:
    return (each.nearness, each.bound, each.computed, each.sum, each.distance, each.order)


def _by_page(each: Candidate) -> tuple[int, ...]:
    return (bool(each.superseded_by), each.bound, each.computed, each.sum, each.order)


def _newest(found: list[Candidate]) -> Candidate | None:
    ranked = sorted(
        found, key=lambda each: (each.computed, each.bound, each.distance, each.nearness, each.order)
    )
    # Stable: the order above decides among documents of one date.
    return max(ranked, key=lambda each: each.date, default=None)


def _remarks(chosen: Peak, found: list[Candidate], wanted: Wanted, policy: PeakPolicy) -> list[str]:
    notes = []
    own = next(
        (candidate for candidate in found if tuple(fact.id for fact in candidate.group) == chosen.facts), None
    )
    if own is not None and policy is PeakPolicy.SEED and own.seed and own.nearness >= 2:
        notes.append("the seed's instance table has no such figure; its device page has")
    if own is not None and own.distance and chosen.evidence == "derived":
        notes.append(f"derived from the figure of the {own.fact.scope}")
        if wanted.scope.rank > own.fact.scope.rank:
            if wanted.metric == "neuronlink_bandwidth":
                notes.append("the sum over devices counts a link at both of its ends")
        elif wanted.metric in _SHARED:
            notes.append("an even share; a part that runs alone may draw more")
    if own is not None and not own.sum and own.fact.qualifier not in ("tensor", wanted.qualifier):
        level = own.fact.qualifier or "all"
        notes.append(f"the document's figure is for {level} links")
    if own is not None and own.sum:
        notes.append(f"the sum of the levels: {chosen.formula}")
    if (
        wanted.direction not in (Direction.NONE, Direction.UNSTATED)
        and chosen.direction is Direction.UNSTATED
    ):
        notes.append("the document does not say whether it counts one direction or both")
    if chosen.superseded_by:
        notes.append(f"superseded by {chosen.superseded_by}")
    return notes


def _alternatives(
    chosen: Peak, picks: dict[PeakPolicy, Candidate | Peak], found: list[Candidate]
) -> tuple[Peak, ...]:
    """The other policies' peaks first, then every other figure; equal figures once."""
    alternatives: list[Peak] = []
    seen = {_mark(chosen)}
    named = (_named(pick, policy) for policy, pick in picks.items())
    for peak in (*named, *(candidate.peak for candidate in found)):
        if _mark(peak) not in seen:
            seen.add(_mark(peak))
            alternatives.append(peak)
    return tuple(alternatives)


def _mark(peak: Peak) -> tuple[str, bool]:
    return f"{peak.value:.6e}", bool(peak.superseded_by)


def scaled(choice: PeakChoice, factor: Fraction, extent: Extent) -> PeakChoice:
    """Every figure of `choice` times `factor`; itself where that is 1."""
    if factor == 1:
        return choice
    why = f"{factor} of it: busbw counts {extent.ranks:,} ranks on the links of {extent.devices:,} devices"

    def times(peak: Peak) -> Peak:
        formula = peak.formula or "the figure"
        formula = f"({formula})" if " + " in formula and not formula.startswith("(") else formula
        value = peak.value * float(factor)
        return replace(peak, value=value, evidence="derived", formula=f"{formula} × {factor}")

    return replace(
        choice,
        chosen=times(choice.chosen),
        alternatives=tuple(map(times, choice.alternatives)),
        engine_bound=times(choice.engine_bound) if choice.engine_bound else None,
        note="; ".join(filter(None, (choice.note, why))),
    )
