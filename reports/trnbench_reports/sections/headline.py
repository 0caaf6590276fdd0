"""Section 1: one sentence per system, and what was run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnbench import Fidelity, Measurement, PeakPolicy, Run, Status, SystemRecord
from trnbench_reports import numbers, view, words
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

    from trnbench.results.fidelity import Errors

# What a system's sentence speaks of after its GEMM: families in this order, and how to call them.
_MORE = (("hbm", "HBM traffic"), ("collective", "the best collective"))
# Of a family the kernel that people ask for first: a broadcast comes closer to the figure of a link.
_FIRST = {"collective": ("all_reduce", "all-reduce")}
_SIXTEEN = ("bf16", "fp16")
_CALLED = {"gemm": "GEMMs", "hbm": "HBM streams", "collective": "collectives"}


@dataclass(frozen=True)
class Sentence:
    """`grade` leads, always. `clauses` are (before, share, after, case anchor); `colour` the generation's."""

    grade: str
    clauses: tuple[tuple[str, str, str, str], ...]
    colour: int
    trust: str
    error: str  # of the model, on published points of the kinds of kernel named
    shout: str

    @property
    def text(self) -> str:
        return "; ".join(f"{before}{share}{after}" for before, share, after, _ in self.clauses)


def render(runs: Sequence[Run]) -> Markup:
    parts = []
    for index, run, heading in view.each_run(runs):
        found = [sentence(index, run, record) for record in view.systems(run)]
        counts = [(str(status), count) for status, count in run.counts().items()]
        sentences = [each for each in found if each is not None]
        errors = {each.error for each in sentences if each.error}
        # Said once where it is the same of every system.
        shared = errors.pop() if len(errors) == 1 and len(sentences) > 1 else ""
        parts.append((heading, run, sentences, counts, trust(run), shared))
    return fill("headline", parts=parts)


def sentence(index: int, run: Run, record: SystemRecord) -> Sentence | None:
    """None for a system with no case at all."""
    mine = [each for each in run.measurements if each.case.instance == record.instance]
    if not mine:
        return None
    bad = [each for each in mine if each.status in (Status.SUSPECT, Status.FAILED)]
    top = _gemm(mine, record)
    clauses = [_lead(index, top, run, record)] if top else []
    for family, noun in _MORE:
        wide = _widest([each for each in mine if each.case.family == family], record)
        kernel, called = _FIRST.get(family, ("", ""))
        asked = view.best(each for each in wide if each.case.kernel == kernel and each.judgement)
        if (case := asked or view.best(wide)) is not None and case.judgement is not None:
            what = [_reach(case, record).removeprefix(", "), _ranks(case)]
            if asked is None:
                what.insert(0, words.clean(case.case.kernel, 40))
            told = ", ".join(filter(None, what))
            clauses.append(
                (
                    f"{called if asked else noun}{f' ({told})' if told else ''} ",
                    numbers.percent(case.judgement.fraction),
                    f" of {numbers.show(*_figure(case))}",
                    view.anchor(index, case),
                )
            )
    if not clauses and (case := view.best(_widest([m for m in mine if m.judgement], record))) is not None:
        clauses.append(_lead(index, case, run, record))
        top = case
    if not clauses:
        nothing = f"no case on {words.clean(record.instance, 60)} could be held against a document"
        clauses.append((nothing, "", "", ""))
    grades = list(dict.fromkeys(each.evidence.grade for each in mine))
    lead = top or mine[0]
    return Sentence(
        grade=words.capital(str(lead.evidence.grade)) if top or len(grades) == 1 else "Mixed evidence",
        clauses=tuple(clauses),
        colour=view.colour(run, record.generation),
        trust=" ".join(filter(None, (_low(top), _unvalidated(mine)))),
        error=_model_error(run, mine),
        shout=_shout(bad),
    )


def trust(run: Run) -> str:
    """How far the numbers can be believed, from what the run itself says."""
    grades = list(dict.fromkeys(str(each.evidence.grade) for each in run.measurements))
    if "emulated" not in grades:
        return ""
    models = sorted(
        {
            f"{each.evidence.by} {each.evidence.version}".strip()
            for each in run.measurements
            if str(each.evidence.grade) == "emulated"
        }
    )
    named = words.clean(words.listed(models), 160)
    means = f"Emulated means computed by a model ({named}), not run on the device. "
    known = _errors(run.fidelity) if run.fidelity else []
    if not known:
        return means + (
            "This run carries no comparison of that model with published measurements, so its error "
            "is not stated: read the percentages as what the model allows."
        )
    return f"{means}Its error on published measurements, median and 90th percentile: {'; '.join(known)}."


def _errors(fidelity: Fidelity) -> list[str]:
    """`HBM streams of trn1 1.1 % (4 kernels, 15 points)` per family and generation, then public kernels."""
    rows = [each for each in fidelity.families if each.name not in ("gemm", "kernel")]
    rows += [each.row for each in fidelity.public]
    return [
        f"{words.clean(each.title, 60)} of {words.clean(each.generation, 40)} {_statistics(each.errors)} "
        f"({words.plural(each.errors.votes, 'kernel')}, {words.plural(each.errors.points, 'point')})"
        for each in rows
        if each.errors is not None
    ]


def _statistics(errors: Errors) -> str:
    """`15 %, 45 %`: the second where votes are enough for it."""
    return ", ".join(numbers.error_size(each) for each in (errors.median, errors.p90) if each is not None)


def _gemm(mine: Sequence[Measurement], record: SystemRecord) -> Measurement | None:
    found = [
        each
        for each in mine
        if each.case.family == "gemm" and each.case.dtype in _SIXTEEN and each.judgement is not None
    ]
    return view.best(_widest(found, record))


def _widest(found: Sequence[Measurement], record: SystemRecord) -> list[Measurement]:
    """The cases of the system's own scope, else of the widest there is."""
    good = [each for each in found if each.status in view.GOOD]
    if not good:
        return []
    top = max((each.case.scope for each in good), key=lambda scope: (scope is record.scope, scope.rank))
    return [each for each in good if each.case.scope is top]


def _figure(case: Measurement) -> tuple[float, str]:
    assert case.judgement is not None
    peak = case.judgement.peaks.chosen
    return peak.value, numbers.unit_of(peak.metric)


def _reach(case: Measurement, record: SystemRecord) -> str:
    """Empty for the whole system: a smaller scope is always named."""
    return "" if case.case.scope is record.scope else f", one {view.reach(record, case.case.scope)}"


def _ranks(case: Measurement) -> str:
    """`64 ranks, 4 logical cores per device`: who took part in a collective, where the case says it."""
    note = next((each for each in case.notes if " ranks, " in each), "")
    return words.clean(note.partition(";")[0], 60)


def _lead(index: int, case: Measurement, run: Run, record: SystemRecord) -> tuple[str, str, str, str]:
    """`bf16 GEMM reaches 87.0 % of the 10 PFLOPS that … promises for trn2-16.48xlarge`."""
    assert case.judgement is not None
    peak = case.judgement.peaks.chosen
    kernel = "GEMM" if case.case.kernel.lower() == "gemm" else words.clean(case.case.kernel, 40)
    where = words.clean(record.instance, 60)
    if case.case.scope is not record.scope:
        where = f"one {view.reach(record, case.case.scope)} of {where}"
    source = view.sources(run).get(peak.source)
    if source is not None:
        promise = f"that {words.clean(source.document, 80)} {'implies' if peak.formula else 'promises'}"
    else:
        promise = "that the clocks allow" if peak.policy is PeakPolicy.ENGINE else "that the documents give"
    return (
        " ".join(filter(None, (words.clean(case.case.dtype, 40), kernel, "reaches "))),
        numbers.percent(case.judgement.fraction),
        f" of the {numbers.show(*_figure(case))} {promise} for {where}",
        view.anchor(index, case),
    )


def _low(case: Measurement | None) -> str:
    """What more than 100 % means: the document is low, not the result wrong."""
    if case is None or case.judgement is None or case.status is not Status.DOCUMENT_LOW:
        return ""
    bound = case.judgement.peaks.engine_bound
    allow = f"the {numbers.show(bound.value, numbers.unit_of(bound.metric))} that" if bound else "what"
    return f"More than the document promises, less than {allow} the clocks allow: its figure is low."


def _model_error(run: Run, mine: Sequence[Measurement]) -> str:
    """How far the model is from published points of the kinds of kernel the sentence names."""
    if run.fidelity is None or not any(str(each.evidence.grade) == "emulated" for each in mine):
        return ""
    present = {each.case.family for each in mine}
    parts = []
    for family in ("gemm", "hbm", "collective"):
        if family not in present:
            continue
        rows = [each for each in run.fidelity.families if each.name == family and each.errors]
        if family == "gemm":
            rows = [each.row for each in run.fidelity.public if each.row.errors]
        told = [
            f"{words.clean(each.generation, 40)} {_named(each.errors)}"
            for each in rows
            if each.errors is not None
        ]
        called = "public kernels" if family == "gemm" else f"published {_CALLED[family]}"
        if told:
            parts.append(f"on {called} of {words.listed(told)}")
        else:
            parts.append(f"{_CALLED[family]}: unknown without the published kernels")
    return f"The model's error: {'; '.join(parts)}." if parts else ""


def _named(errors: Errors) -> str:
    p90 = "" if errors.p90 is None else f" and {numbers.error_size(errors.p90)} at the 90th percentile"
    return f"{numbers.error_size(errors.median)} in the median{p90}"


def _unvalidated(mine: Sequence[Measurement]) -> str:
    marked = [each for each in mine if each.evidence.unvalidated]
    if not marked:
        return ""
    names = list(dict.fromkeys(words.clean(each.case.kernel, 40) for each in marked))
    shown = words.listed(names) if len(names) <= 4 else f"{len(names)} of its kernels"
    if len(marked) == len(mine):
        shown = "everything here"
    return f"Unvalidated, no published point to hold the model against: {shown}."


def _shout(bad: Sequence[Measurement]) -> str:
    counts = {
        status: sum(each.status is status for each in bad) for status in (Status.SUSPECT, Status.FAILED)
    }
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)
