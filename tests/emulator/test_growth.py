"""More work never takes less time: along every numeric axis of a kernel, all others equal."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from trnbench.backend import Observation
from trnbench.generation import System
from trnbench.kernels.kernel import Case


def test_times_do_not_fall_as_an_axis_grows(observed: list[tuple[Case, System, Observation]]) -> None:
    lines: dict[object, list[tuple[float, float]]] = defaultdict(list)
    for case, _, seen in observed:
        point = case.key.point
        assert seen.time_s is not None
        for axis in case.kernel.axes:
            value = point.get(axis.name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = tuple(sorted((k, str(v)) for k, v in point.items() if k != axis.name))
                line = (case.key.kernel, case.key.instance, case.key.reach, axis.name, others)
                lines[line].append((value, seen.time_s))
    assert len(lines) > 50
    fallen = [
        (line, below, above)
        for line, points in lines.items()
        for below, above in pairwise(sorted(points))
        if above[1] < below[1] * (1 - 1e-9)
    ]
    assert fallen == []
