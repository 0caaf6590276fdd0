"""Two versions by torch on the processor, measured in turns."""

from __future__ import annotations

import os

import planted_kernels
import pytest
from timed_cases import busy

from trnbench.compare.pairing.duel import Wish
from trnbench.compare.pairing.operand import operands
from trnbench.compare.pairing.outcome import THRESHOLD, change, played
from trnbench.compare.pairing.stage import OneProcess
from trnbench.measure.turns import Clock
from trnbench.registry import Discovered, Origin, load_registry
from trnbench.results.measurement import Verdict

pytestmark = pytest.mark.torch


def verdicts(second: int, seconds: float, count: int) -> list[Verdict]:
    """Of 100 hundredths of work against `second`."""
    known = load_registry(extra=[Discovered(Origin("planted", "planted", "1"), lambda: planted_kernels)])
    sides = operands("work=100", f"work={second}", known.kernels)
    found = []
    for seed in range(count):
        wish = Wish(backend="torch", kernels=("planted_torch_product",), sample_s=seconds, seed=seed)
        (seen,) = played(OneProcess(known, wish, sides), wish, lambda _: None)
        assert not seen.why
        assert seen.course.clock is Clock.THREAD
        found.append(change(seen, "torch", THRESHOLD).verdict)
    return found


def test_ten_times_the_work_is_slower_by_the_clock_of_the_thread() -> None:
    assert verdicts(1000, 0.1, 1) == [Verdict.SLOWER]


@pytest.mark.campaign("hours")
@pytest.mark.parametrize(("more", "least"), [(5, 0.90), (2, 0.50)])
def test_what_pairs_find_beside_busy_processes(more: int, least: float) -> None:
    with busy(2 * len(os.sched_getaffinity(0))):
        found = verdicts(100 + more, 10.0, 40)
    assert found.count(Verdict.SLOWER) >= least * len(found)


@pytest.mark.campaign("hours")
def test_pairs_of_the_same_show_nothing_beside_busy_processes() -> None:
    with busy(2 * len(os.sched_getaffinity(0))):
        found = verdicts(100, 10.0, 200)
    assert found.count(Verdict.SAME) >= 0.99 * len(found)
