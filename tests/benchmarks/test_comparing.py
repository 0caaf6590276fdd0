"""How often `trnbench compare` is wrong on this machine, and how often it finds a slowdown of 5 %.

Run as a script it takes runs of twenty small cases, three processes each, and prints both shares with the
spread between processes: `PYTHONPATH=tests/support python tests/benchmarks/test_comparing.py [--slow 0.05]
[--busy 4] [--clock processor]`. 20 runs make 200 comparisons and take about four minutes.

As tests, only what no other process can disturb is asserted.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median, stdev
from typing import NamedTuple

import pytest
import timed_cases
from paired_runs import run_of_medians

from trnbench.compare.comparison import compared

Samples = Mapping[str, Sequence[Sequence[float]]]
"""Case → samples of each process, in seconds."""


class Counted(NamedTuple):
    """Verdicts of cases that did not change and of those that did; the middle spread between processes."""

    equal: Counter[str]
    slowed: Counter[str]
    spread: float


def counted(runs: Sequence[Samples], slow: float) -> Counted:
    """Each run is held against the one before it, two by two."""
    medians = [{name: [median(each) for each in found] for name, found in run.items()} for run in runs]
    equal, slowed = Counter[str](), Counter[str]()
    for first, second in zip(medians[::2], medians[1::2], strict=False):
        names = list(first)
        for each in compared(run_of_medians(first), run_of_medians(second, "b")).changes:
            changed = slow > 0.0 and names.index(each.case.kernel) % 2 == 1
            (slowed if changed else equal)[str(each.verdict)] += 1
    spreads = [stdev(map(math.log, found)) for run in medians for found in run.values()]
    return Counted(equal, slowed, median(spreads))


def test_a_run_is_no_different_from_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_cases, "CASES", timed_cases.CASES[::5])
    monkeypatch.setattr(timed_cases, "PROCESSES", 2)
    (run,) = timed_cases.collect(1)
    assert counted([run, run], 0.0).equal == {"no difference shown": 4}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--clock", choices=timed_cases.CLOCKS, default="wall")
    asked = parser.parse_args()
    with timed_cases.busy(asked.busy):
        told = counted(timed_cases.collect(asked.runs, asked.slow, asked.clock), asked.slow)
    print(f"spread between processes: {100 * told.spread:.1f} % in the middle")
    for called, found in (("nothing changed", told.equal), (f"{100 * asked.slow:g} % slower", told.slowed)):
        if found:
            shares = ", ".join(f"{count} {verdict}" for verdict, count in found.most_common())
            print(f"{called}: {found.total()} comparisons, {shares}")


if __name__ == "__main__":
    main()
