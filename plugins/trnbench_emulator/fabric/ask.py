"""The one door: a question about the links in, its answer out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from trnbench.errors import TopologyError, UsageError, counted
from trnbench.generation import System
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_REDUCE,
    AUTO,
    BEST,
    BROADCAST,
    PERMUTE,
    REDUCE,
    NotPossible,
)
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.constants import NCCOM
from trnbench_emulator.fabric.groups import check_groups, side_by_side
from trnbench_emulator.fabric.planner import Planner
from trnbench_emulator.fabric.question import INCAST, PATTERNS, Options, Question
from trnbench_emulator.fabric.schedule import Chains
from trnbench_emulator.fabric.solve import BOTH_WAYS, Carried, slowed, within
from trnbench_emulator.fabric.systems import Fabric, fabric_of

KEPT = 256
"""Answers kept with the links they are about: a table of algorithms, a curve and a headline ask alike."""


def ask(question: Question) -> Answer:
    """The same question again has the same answer at once; where its time goes is worked out when asked for.

    Raises UsageError for what is unknown or makes no sense, NotPossible where an algorithm cannot do it,
    TopologyError where ranks are too many or apart.
    """
    question = _side_by_side(question)
    fabric = fabric_of(question.system, question.options)
    question = _of_ranks(question, fabric)
    answers: dict[tuple[object, ...], Answer] = fabric.answers
    key = question.key
    if key not in answers:
        if len(answers) >= KEPT:
            answers.pop(next(iter(answers)))
        answers[key] = _answered(fabric, question)
    return answers[key]


def compared(question: Question) -> dict[str, float]:
    """Seconds of every algorithm that is possible and soon answered, what is taken among them."""
    answer = ask(question)
    seconds = {**answer.tried, answer.algorithm: answer.time_s}
    planner = answer.planner
    for name in planner.quick:
        if name not in seconds and not planner.too_many(name, quick=True):
            try:
                seconds[name] = ask(replace(question, algorithm=name)).time_s
            except NotPossible:
                continue
    return seconds


def _side_by_side(question: Question) -> Question:
    """Of a cluster the instances that groups span, alike side by side; all of their ranks are no group."""
    options, fabric = question.options, fabric_of(question.system, question.options)
    alike = not (question.beside or options.degraded or options.straggler or options.late)
    if not (question.groups and alike and fabric.clustered) or question.collective in PATTERNS:
        return question
    check_groups(question.groups, fabric.size)
    per_instance = fabric.size // question.system.size
    instances, groups = side_by_side(question.groups, per_instance)
    if groups == (tuple(range(instances * per_instance)),):
        groups = ()
    elif instances in (0, question.system.size):
        return question
    return replace(question, system=replace(question.system, size=instances), groups=groups)


def _of_ranks(question: Question, fabric: Fabric) -> Question:
    """One group with nothing beside it is those ranks, or all there are. Over a cluster it stays a group:
    there few ranks alone keep messages on the way, as a ring does."""
    if len(question.groups) != 1 or question.ranks or question.beside or fabric.clustered:
        return question
    (group,) = question.groups
    check_groups(question.groups, fabric.size)
    ranks = () if group == tuple(range(fabric.size)) else group
    return replace(question, groups=(), ranks=ranks)


def _answered(fabric: Fabric, question: Question) -> Answer:
    """Within the limits of the question by every algorithm that was taken for them."""
    answer = _quickest(fabric, question)
    limits = (ask(limit).carried if limit else None for limit in question.limits())
    carried = within(answer.carried, *limits)
    if carried is not answer.carried:
        answer = Answer(question, answer.planner, carried, answer.said)
    answer = _no_slower_than_alike(answer)
    if question.collective in (BROADCAST, REDUCE) and question.algorithm in (AUTO, BEST):
        return _least(answer, ask(replace(question, collective=ALL_REDUCE)))
    return answer


def _no_slower_than_alike(answer: Answer) -> Answer:
    """`auto` and `best` may need ranks and links that are alike. Of a healthy machine they are, and still
    where all are as slow as the slowest; so are links as slow both ways. Neither is faster than what is
    asked about."""
    question = answer.question
    left, late_s = question.slowest
    slow = (left < 1.0 or late_s > 0.0) and not any(factor > 1.0 for *_, factor in question.degraded)
    chosen = question.algorithm in (AUTO, BEST) and question.collective not in PATTERNS
    if not (slow and chosen) or question.beside:
        return answer
    others = [answer]
    if left > 0.0:
        healthy = ask(replace(question, degraded=(), straggler=(), late=()))
        others.append(_instead(question, healthy, slowed(healthy.carried, left, late_s)))
    if set(question.both_ways) != set(question.degraded):
        with suppress(NotPossible, TopologyError):  # ranks that only the other way joins
            alike = ask(replace(question, degraded=question.both_ways))
            limit = alike.carried.limit or BOTH_WAYS
            others.append(_instead(question, alike, replace(alike.carried, limit=limit)))
    return min(others, key=lambda other: other.time_s)


def _instead(question: Question, other: Answer, carried: Carried) -> Answer:
    carried = replace(carried, tried={}, worth=())
    return Answer(question, other.planner, carried, other.said, carrier=other.carrier)


def _least(half: Answer, whole: Answer) -> Answer:
    """A broadcast or a reduce as the all-reduce of the same ranks, where that is quicker.

    The root has its sum too, and where all others bring zeros, every rank has what the root brought.
    """
    if whole.time_s >= half.time_s:
        return half
    choice = f"the all-reduce contains it: {whole.choice}"
    carried = replace(whole.carried, tried={}, worth=(), left_out={}, choice=choice)
    return Answer(half.question, half.planner, carried, whole.said, carrier=whole.carrier)


def _quickest(fabric: Fabric, question: Question) -> Answer:
    """Where `auto` and `best` are quicker without links that are slow, they do without them."""
    answer = _as_asked(fabric, question)
    if question.algorithm not in (AUTO, BEST) or question.collective in PATTERNS:
        return answer
    for rate in sorted({left for _, _, left in question.degraded if 0 < left < 1}):
        dead = tuple((a, b, 0.0 if left <= rate else left) for a, b, left in question.degraded)
        unused = replace(question, degraded=dead)
        with suppress(NotPossible, TopologyError):  # ranks that only they join
            other = _as_asked(fabric_of(unused.system, unused.options), unused)
            if other.time_s < answer.time_s:
                note = f"links at {rate:g} of their rate and less are left out: with them it takes longer"
                answer = Answer(question, other.planner, other.carried, (note,))
    return answer


def _as_asked(fabric: Fabric, question: Question) -> Answer:
    planner = Planner(fabric, question)
    if not question.beside:
        return Answer(
            question, planner, within(_chosen(planner, question.algorithm), _from_inside(planner), None)
        )
    beside: Chains = ()
    notes = []
    for other in question.beside:
        company = Planner(fabric, question.of(other), every_rank=True)
        meanwhile = _chosen(company, other.algorithm)
        beside += meanwhile.schedule.sized().chains
        where = f", {len(other.groups)} groups at once" if other.groups else ""
        notes.append(
            f"beside {other.collective} of {company.size:,.0f} B by {meanwhile.schedule.algorithm}{where}"
        )
    alone = Planner(fabric, replace(question, beside=()), every_rank=True)
    together = _chosen(planner, question.algorithm, beside)
    by_itself = alone.carried(together.schedule.algorithm)
    together = within(together, by_itself, None)
    notes.append(f"{together.solution.time_s / by_itself.solution.time_s:.2f} times as long as alone")
    # What others cost counts as sharing links: latency and accesses at the ends are those of its own.
    solution = replace(together.solution, latency_s=by_itself.solution.latency_s)
    return Answer(question, planner, replace(together, solution=solution), tuple(notes))


def _from_inside(planner: Planner) -> Carried | None:
    """Of an incast, what the senders of the receiver's device take by themselves; None where none are."""
    question, per_device = planner.question, planner.fabric.ranks_per_device
    if question.collective != INCAST or not question.ranks:
        return None
    to, *named = question.ranks
    senders = named or range(planner.fabric.size)
    inside = [rank for rank in senders if rank != to and rank // per_device == to // per_device]
    if not inside:
        return None
    return Planner(planner.fabric, replace(question, ranks=(to, *inside))).carried("")


def _chosen(planner: Planner, algorithm: str, beside: Chains = ()) -> Carried:
    """`auto`, `best` or one by name; a pattern of messages has no algorithms to choose from."""
    if planner.question.collective in PATTERNS:
        return planner.carried("", beside)
    if algorithm == AUTO:
        return _auto(planner, beside)
    if algorithm == BEST:
        return _best(planner, planner.able, beside, quick=False)
    return planner.carried(algorithm, beside)


def _auto(planner: Planner, beside: Chains) -> Carried:
    """What the runtime was observed to take; where nothing was, or the ranks do not allow it, the best of
    all that is quickly answered.
    """
    rule = planner.rule
    why = "no rule observed"
    if rule is not None:
        name = rule.taken(planner.size)
        try:
            return replace(planner.carried(name, beside), choice=rule.sentence)
        except NotPossible:
            why = f"{name} is not possible"
    best = _best(planner, planner.quick, beside, quick=True)
    several = f"best of {', '.join(best.worth)}" if len(best.worth) > 1 else "the only one possible"
    return replace(best, choice=f"{why}: {several}")


def _best(planner: Planner, names: Sequence[str], beside: Chains, *, quick: bool) -> Carried:
    """The quickest of those that can; ties go to the first name. Where it shall be `quick`, what cannot be
    quicker than the best so far is not carried out. Raises NotPossible if none can.
    """
    least: dict[str, int] = {}
    left_out: dict[str, str] = {}
    for name in names:
        try:
            if why := planner.too_many(name, quick=quick):
                left_out[name] = why
            else:
                least[name] = planner.least_ticks(name) if quick else 0
        except NotPossible:
            continue
    worth = tuple(least)
    if not worth:
        raise NotPossible(
            f"no algorithm does {planner.collective} on these {planner.network.size} ranks",
            cause="; ".join(f"{name}: {why}" for name, why in left_out.items()),
            try_=f"trnbench fabric algorithms -i {planner.fabric.system.name}",
        )
    carried: dict[str, Carried] = {}
    best = ""
    for name in sorted(worth, key=least.__getitem__):
        if best and least[name] > carried[best].solution.total_ticks:
            break
        carried[name] = planner.carried(name, beside)
        best = min(carried, key=lambda each: (carried[each].solution.time_s, worth.index(each)))
    tried = {name: carried[name].solution.time_s for name in worth if name in carried}
    return replace(carried[best], tried=tried, worth=worth, left_out=left_out)


SENDRECV = "sendrecv"


def published_question(
    system: System,
    operation: str,
    size: float,
    ranks: int,
    *,
    nodes: int = 0,
    lnc: int = 0,
    context: str = NCCOM,
) -> Question:
    """`size` bytes as a question states them, over `ranks` logical cores of `nodes` instances.

    Ranks fill one device after the other; of several nodes each gets equally many. `nodes`: 0 for all there
    are. `lnc`: physical cores per rank, 0 for the generation's default. "sendrecv" is a permute of two ranks.
    Raises UsageError when the ranks do not fit the system, and for an unknown context.
    """
    level = "core" if (lnc or system.default_lnc) == 1 else "logical-core"
    fabric = fabric_of(system, Options(level=level, context=context))
    instances = system.size if system.instance.sizable else 1
    nodes = nodes or instances
    have = fabric.size // max(instances, 1)
    per_node, rest = divmod(ranks, nodes)
    if rest or per_node > have or nodes > instances or ranks < 2:
        raise UsageError(
            f"{counted(ranks, 'rank')} on {counted(nodes, 'node')} do not fit {system.name}",
            cause=f"a node has {counted(have, 'rank')} here",
            try_="ranks that divide by the nodes and fit them",
        )
    some = () if ranks == fabric.size else tuple(n * have + r for n in range(nodes) for r in range(per_node))
    return fabric.question(PERMUTE if operation == SENDRECV else operation, size, ranks=some)
