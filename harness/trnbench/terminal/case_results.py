"""The stored cases of a run as rows of the table that ends a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.facts.fact import Scope
from trnbench.results.expectation import expected_time, least_time, nearness_of
from trnbench.results.ranking import SYSTEM, Result
from trnbench.run.headline.answer import axis_text, ranks_of
from trnbench.run.headline.question import DTYPES
from trnbench.terminal.result_table import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trnbench.results.measurement import Measurement
    from trnbench.results.run import Run


def results_of(run: Run, rate: str = "") -> list[Result]:
    """Every case of the run, in its order; `rate` is the metric to show, where not the judged one."""
    return [_result_of(run, case, rate or case.primary) for case in run.measurements]


def _result_of(run: Run, case: Measurement, rate: str) -> Result:
    """The stored outcome of one case: its time with the band, a rate, the best published of that."""
    key, metric, judged = case.case, case.metrics.get(rate), case.judgement
    record, nearest = run.systems.get(key.instance), case.evidence.nearest
    best = nearest.best if nearest is not None else None
    whole = record is not None and key.scope is record.scope and key.scope.rank > Scope.DEVICE.rank
    ranks = ranks_of(run, case)
    interval = case.interval
    band = (interval.low, interval.high) if interval else None
    return Result(
        names={
            SYSTEM: key.instance,
            "kernel": key.kernel,
            **key.point,
            "scope": WHOLE if whole else str(key.scope),
            **({"division": str(key.division)} if key.division else {}),
            **(dict(zip(("ranks", "rank"), ranks, strict=True)) if ranks else {}),
        },
        labels={name: axis_text(case, name) for name in key.point},
        time_s=case.time_s,
        band=band or expected_time(case.evidence, case.time_s, least_time(case)),
        rate=metric.value if metric else None,
        unit=metric.unit if metric else "",
        share=judged.fraction if judged else None,
        best=best if best is not None and metric is not None and best.metric == metric.name else None,
        letter=case.evidence.grade.letter if case.time_s is not None else "",
        nearness=nearness_of(case),
        status=str(case.status),
        reason=case.reason_text,
    )


def short_answer(results: Sequence[Result], most: int) -> list[Result]:
    """Of many cases of one kernel those that a headline would be about: its type, on one device.

    None where they are more than `most`, or of several kernels.
    """
    if len({result.names["kernel"] for result in results}) != 1:
        return []
    timed = [result for result in results if result.time_s is not None]
    for name, choices in (("dtype", DTYPES), ("scope", (str(Scope.DEVICE),))):
        values = {result.names.get(name) for result in timed}
        choice = next((value for value in choices if value in values), None)
        if choice is not None:
            results = [result for result in results if result.names.get(name) == choice]
    return list(results) if len(results) <= most else []
