"""The cases on a roofline: where each stands, and which of them are one series or one sweep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trnbench import Measurement, Status
from trnbench_reports import view, words
from trnbench_reports.charts.figure import SHAPES


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A case on the chart: FLOP per byte of HBM, FLOP per second."""

    intensity: float
    rate: float
    case: Measurement
    anchor: str


def spots(index: int, cases: Sequence[Measurement]) -> list[Spot]:
    """Cases that did arithmetic on bytes of HBM in a known time."""
    marks = []
    for case in cases:
        work = case.work
        flops = sum(count for name, count in work.items() if name == "flops" or name.endswith("_flops"))
        moved = work.get("hbm_bytes", 0.0)
        if flops > 0 and moved > 0 and case.time_s and case.status is not Status.SKIPPED:
            marks.append(
                Spot(
                    intensity=flops / moved,
                    rate=flops / case.time_s,
                    case=case,
                    anchor=view.anchor(index, case),
                )
            )
    return marks


def series_name(spot: Spot) -> str:
    return words.clean(" ".join(filter(None, (spot.case.case.kernel, spot.case.case.dtype))), 40)


def series_of(found: Sequence[Spot]) -> dict[str, str]:
    """Series names → shape, one shape per data type, in order of appearance."""
    types = list(dict.fromkeys(spot.case.case.dtype for spot in found))
    return {series_name(spot): SHAPES[types.index(spot.case.case.dtype) % len(SHAPES)] for spot in found}


def sweeps_of(found: Sequence[Spot]) -> dict[str, int]:
    """Anchor → number of its line: cases of one series that differ only in the axis swept most."""
    groups: dict[str, list[Spot]] = defaultdict(list)
    for spot in found:
        groups[series_name(spot)].append(spot)
    lines: dict[tuple[str, str], int] = {}
    numbers = {}
    for name, spots_of in groups.items():
        values: dict[str, set[object]] = defaultdict(set)
        for spot in spots_of:
            for axis, value in spot.case.case.point.items():
                values[axis].add(value)
        # Axes that move together (m = n = k) are one sweep.
        widest = max((len(each) for each in values.values()), default=0)
        swept = {axis for axis, each in values.items() if len(each) == widest}
        for spot in spots_of:
            rest = view.point_text(spot.case, without=swept)
            numbers[spot.anchor] = lines.setdefault((name, rest), len(lines))
    return numbers
