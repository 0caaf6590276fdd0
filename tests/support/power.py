"""How often comparisons of drawn process medians are wrong, and how often they find what is there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from paired_runs import run_of_medians

from trnbench.compare.change import Verdict
from trnbench.compare.comparison import compared

COMPARISONS = 1000
Drawn = Callable[[np.random.Generator, tuple[int, ...]], npt.NDArray[np.float64]]


class Setting(NamedTuple):
    """`spread`: of a process, as a share of the time; cases differ in it by e^±0.5. `heavy`: far tails."""

    spread: float
    cases: int
    heavy: bool = False

    @property
    def shown(self) -> str:
        """As docs/comparing.md has it."""
        return f"{100 * self.spread:g} %{', t with 3 degrees' if self.heavy else ''}"


SETTINGS = (
    Setting(0.0025, 20),
    Setting(0.005, 20),
    Setting(0.01, 20),
    Setting(0.02, 20),
    Setting(0.005, 1),
    Setting(0.005, 200),
    Setting(0.1, 20, heavy=True),
)


def shares(setting: Setting, slow: float = 0.05, processes: int = 3) -> tuple[float, float]:
    """Shares of false verdicts among cases that did not change, and of slower ones that are called so.

    Half of the cases of every second pair of runs are slow (of a single case, all).
    """
    random = np.random.default_rng(20261122)
    wrong = equal = found = slowed = 0
    while equal < COMPARISONS or slowed < COMPARISONS:
        size = (setting.cases, 2, processes)
        spreads = setting.spread * np.exp(0.5 * random.standard_normal(setting.cases))
        noise = random.standard_t(3, size) / math.sqrt(3) if setting.heavy else random.standard_normal(size)
        times = np.exp(noise * spreads[:, None, None])
        changed = random.permutation(setting.cases) < max(1, setting.cases // 2)
        if slowed >= COMPARISONS or (equal < COMPARISONS and random.random() < 0.5):
            changed[:] = False
        times[changed, 1] *= 1.0 + slow
        sides = [
            run_of_medians({f"k{n}": times[n, side].tolist() for n in range(setting.cases)}, "ab"[side])
            for side in (0, 1)
        ]
        for each in compared(*sides).changes:
            if changed[int(each.case.kernel[1:])]:
                slowed += 1
                found += each.verdict is Verdict.SLOWER
            else:
                equal += 1
                wrong += each.verdict is not Verdict.SAME
    return wrong / equal, found / slowed
