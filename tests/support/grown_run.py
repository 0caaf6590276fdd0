"""A run of any number of cases, made of one that has fewer."""

from __future__ import annotations

from itertools import cycle, islice

import msgspec

from trnbench import Measurement, Run

replace = msgspec.structs.replace


def grown(run: Run, count: int) -> Run:
    """The cases again and again, each round at another value of an axis of its own and a little slower: as
    detailed as before, and no number twice."""
    rounds = enumerate(islice(cycle(run.measurements), count))
    made = tuple(_again(each, number // len(run.measurements)) for number, each in rounds)
    return replace(run, measurements=made, digest="")


def _again(each: Measurement, times: int) -> Measurement:
    if not times:
        return each
    factor = 1 + 0.0137 * times
    case = replace(each.case, point={**each.case.point, "copy": times})
    if each.time_s is None:
        return replace(each, case=case)
    metrics = {
        name: replace(one, value=one.value * factor if one.unit == "s" else one.value / factor)
        for name, one in each.metrics.items()
    }
    judged = each.judgement and replace(each.judgement, fraction=each.judgement.fraction / factor)
    detail = dict(each.detail)
    if "waterfall" in detail:
        detail["waterfall"] = [[name, seconds * factor] for name, seconds in detail["waterfall"]]
    return replace(
        each, case=case, time_s=each.time_s * factor, metrics=metrics, judgement=judged, detail=detail
    )
