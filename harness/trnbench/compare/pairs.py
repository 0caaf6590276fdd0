"""Which case of one run belongs to which of the other, among those that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from trnbench.bounded.kinds import is_number
from trnbench.case_key import CaseKey, Division, Value
from trnbench.compare.change import Refused
from trnbench.errors import NothingSelected, UnknownName, UsageError, counted
from trnbench.record import Record
from trnbench.results.measurement import Measurement, Status
from trnbench.results.run import Run
from trnbench.run.axes import Term, parse_terms
from trnbench.run.points import Words, parse_keyword, words_at, words_of

_OWN = ("kernel", "instance", "generation", "scope", "division", "family")
"""What a term may name beside axes."""

Test = Callable[[CaseKey], bool]


class Chosen(Record, kw_only=True):
    """`names`: what the terms speak of; by these, cases of two sides may differ and be held together."""

    typed: str = ""
    terms: tuple[Term, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(term.axis for term in self.terms)

    def fits(self, case: CaseKey) -> bool:
        """Whether every term holds of the case; one without such an axis fits none. Raises `UsageError`."""
        return all(self._holds(term, case) for term in self.terms)

    def _holds(self, term: Term, case: CaseKey) -> bool:
        value = _value(case, term.axis)
        if value is None:
            return False
        if is_number(value):
            return term.number_test()(value)
        return term.word_test(self.typed, term.axis)(value)


def _value(case: CaseKey, name: str) -> Value | None:
    return str(getattr(case, name)) if name in _OWN else case.point.get(name)


def chosen(typed: str, option: str) -> Chosen:
    """What the value of `option` asks for: 'kernel=gemm*,dtype=bf16,size>=4096'. Raises `UsageError`."""
    return Chosen(typed=typed, terms=parse_terms(typed, option, "a selection")) if typed else Chosen()


def keyword_test(keyword: str) -> Test:
    """The test of a `-k` expression on cases; all fit an empty one. Raises `UsageError`."""
    if not keyword:
        return lambda _: True
    test = parse_keyword(keyword)
    return lambda case: test(_words(case))


def _words(case: CaseKey) -> Words:
    names = (case.kernel, case.family, *case.tags, case.instance, case.generation, case.scope.value)
    names += (case.division.value,) if case.division else ()
    return words_of(*names) | words_at(case.point)


Pair: TypeAlias = tuple[Measurement, Measurement]
Key: TypeAlias = tuple[object, ...]


class Paired(NamedTuple):
    """`skipped`: how many pairs could run in neither."""

    pairs: tuple[Pair, ...]
    refused: tuple[Refused, ...]
    missing: tuple[Measurement, ...]
    new: tuple[Measurement, ...]
    skipped: int


def paired(
    before: Run,
    after: Run,
    *,
    chosen: tuple[Chosen, Chosen] = (Chosen(), Chosen()),
    wanted: Test = lambda _: True,
    across: bool = False,
) -> Paired:
    """Cases of the same name, but for what the selections fix; those of another scope only `across`.

    Raises `UsageError` where several cases of one side have the same name then, `NothingSelected` for a
    selection that no case fits.
    """
    for run, side, option in ((before, chosen[0], "--a"), (after, chosen[1], "--b")):
        if side.terms and not any(side.fits(each.case) for each in run.measurements):
            axes = {name for each in run.measurements for name in (*_OWN, *each.case.point)}
            strange = [UnknownName("axis", name, axes).sentence for name in sorted(side.names - axes)]
            none = f"none of its {counted(len(run.measurements), 'case')} has such a value"
            raise NothingSelected(
                f"{option} {side.typed} fits no case of run {run.id}",
                cause="; ".join(strange) or none,
                try_=f"trnbench runs show {run.id}",
            )
    free = chosen[0].names | chosen[1].names
    first = _by_key(before, chosen[0], wanted, free, "the first")
    second = _by_key(after, chosen[1], wanted, free, "the second")
    together = [(first.pop(key), second.pop(key)) for key in list(first) if key in second]
    elsewhere = _by_scope(second)
    for key in list(first):
        found = elsewhere.get(_unscoped(key))
        if found is not None and found in second:
            together.append((first.pop(key), second.pop(found)))
    ran = [each for each in together if any(one.status is not Status.SKIPPED for one in each)]
    refused = [] if across else list(_refused(before, after, ran, free))
    out = {each.id for each in refused}
    return Paired(
        pairs=tuple(each for each in ran if each[1].id not in out),
        refused=tuple(refused),
        missing=tuple(each for each in first.values() if each.status is not Status.SKIPPED),
        new=tuple(each for each in second.values() if each.status is not Status.SKIPPED),
        skipped=len(together) - len(ran),
    )


def _by_key(
    run: Run, chosen: Chosen, wanted: Test, free: frozenset[str], which: str
) -> dict[Key, Measurement]:
    cases: dict[Key, Measurement] = {}
    for case in run.measurements:
        if not (wanted(case.case) and chosen.fits(case.case)):
            continue
        key = _key(case.case, free)
        if key in cases:
            option = "--a" if which == "the first" else "--b"
            first = cases[key].case
            apart = [name for name in sorted(free) if _value(case.case, name) != _value(first, name)]
            terms = [chosen.typed, *(f"{name}={_value(case.case, name)}" for name in apart[:1])]
            raise UsageError(
                f"{case.id} and {cases[key].id} are both in {which} selection, and only one can be compared",
                cause="they differ in nothing but what the selections name",
                try_=f"{option} '{','.join(filter(None, terms))}'",
            )
        cases[key] = case
    return cases


def _key(case: CaseKey, free: frozenset[str]) -> Key:
    """Division and scope last: see `_unscoped`."""
    anywhere = free & {"instance", "generation"}
    return (
        "" if anywhere else case.instance,
        "" if free & {"kernel", "family"} else case.kernel,
        *((name, value) for name, value in case.point.items() if name not in free),
        "" if "division" in free else _division(case),
        "" if "scope" in free else case.scope,
    )


def _division(case: CaseKey) -> Division:
    """Cases of before say nothing, and mean this."""
    return case.division or Division.REPLICATED


def _unscoped(key: Key) -> Key:
    return key[:-2]


def _by_scope(keys: Iterable[Key]) -> dict[Key, Key]:
    """The only key of each kind, whatever its scope."""
    found: dict[Key, Key | None] = {}
    for key in keys:
        found[_unscoped(key)] = None if _unscoped(key) in found else key
    return {short: key for short, key in found.items() if key is not None}


def _refused(before: Run, after: Run, pairs: Iterable[Pair], free: Collection[str]) -> Iterator[Refused]:
    """Pairs of two kinds; other evidence is a change of its own, and a scope that was chosen is meant."""
    for first, second in pairs:
        said = "; ".join(unlike(before, after, first, second, scope="scope" not in free, evidence=False))
        if said:
            yield Refused(id=second.id, why=said)


def unlike(
    before: Run,
    after: Run,
    first: Measurement,
    second: Measurement,
    *,
    scope: bool = True,
    evidence: bool = True,
) -> Iterator[str]:
    """In what two cases are not of one kind, so that a difference of them would be no change."""
    old_division, new_division = _division(first.case), _division(second.case)
    if old_division is not new_division and first.case.scope is second.case.scope:
        yield f"other division: {old_division} and {new_division}; run it with --division {old_division}"
    if Status.SKIPPED in (first.status, second.status):
        evidence = False  # a skipped case shows its peaks alone
    for name, old, new in (
        ("scope", first.case.scope, second.case.scope),
        ("peak policy", before.policy, after.policy),
        ("kind of rank", first.detail.get("rank"), second.detail.get("rank")),
        ("context", first.detail.get("context"), second.detail.get("context")),
        ("evidence", first.evidence.grade, second.evidence.grade),
    ):
        if (name == "scope" and not scope) or (name == "evidence" and not evidence):
            continue
        if old != new and old is not None and new is not None:
            yield f"other {name}: {old} and {new}"
