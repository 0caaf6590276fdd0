"""How often `trnbench compare --paired` is wrong on this machine, and what it finds, with others at work.

    PYTHONPATH=tests/support python tests/benchmarks/test_paired.py [--count 200] [--busy 2] [--seconds 10]

Each of three kernels (pure Python, NumPy's product, STREAM's triad; `--kernel torch_product` where torch is
installed) is held against itself and against itself with 5 and 2 % more to do, so many times each, beside
`--busy` busy processes for each processor. `--pyperf` times the same on a quiet machine and with pyperf.

As tests, only what no other process can disturb is asserted; the counts are asked of a campaign.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median, pstdev
from typing import NamedTuple

import planted_kernels
import pytest
from timed_cases import busy

from trnbench.compare.change import Change
from trnbench.compare.pairing.duel import Wish
from trnbench.compare.pairing.operand import operands
from trnbench.compare.pairing.outcome import SECONDS, THRESHOLD, change, played
from trnbench.compare.pairing.stage import OneProcess
from trnbench.registry import Discovered, Origin, Registry, load_registry
from trnbench.results.verdict import Verdict

KERNELS = ("python", "product", "triad")
MORE = (0, 5, 2)
"""Hundredths of work that the second side has more."""

LEAST = {0: 0.0, 5: 0.90, 2: 0.50}
MOST_FALSE = 0.01


def registry() -> Registry:
    """What is installed, and the planted kernels."""
    return load_registry(extra=[Discovered(Origin("planted", "planted", "1"), lambda: planted_kernels)])


def compared(
    known: Registry, kernel: str, more: int, *, seconds: float = SECONDS, seed: int = 0, backend: str = "host"
) -> Change:
    """One comparison, as the command makes it."""
    base = planted_kernels.BASE
    sides = operands(f"work={base}", f"work={base + more}", known.kernels)
    wish = Wish(backend=backend, kernels=(f"planted_{kernel}",), sample_s=seconds, seed=seed)
    (seen,) = played(OneProcess(known, wish, sides), wish, lambda _: None)
    return change(seen, backend, THRESHOLD)


class Share(NamedTuple):
    """Of comparisons of one kernel with so much more work."""

    kernel: str
    more: int
    verdicts: Counter[str]
    effects: tuple[float, ...]

    @property
    def slower(self) -> float:
        return self.verdicts[Verdict.SLOWER] / self.verdicts.total()

    @property
    def reached(self) -> bool:
        """Whether that is what is asked for."""
        if not self.more:
            changed = self.verdicts[Verdict.SLOWER] + self.verdicts[Verdict.FASTER]
            return changed <= MOST_FALSE * self.verdicts.total()
        return self.slower >= LEAST[self.more]

    def __str__(self) -> str:
        told = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.most_common())
        return (
            f"{self.kernel:14} +{self.more} %: {told}; effects {median(self.effects):+.2%}, spread "
            f"{pstdev(self.effects):.2%}, {min(self.effects):+.2%} to {max(self.effects):+.2%}"
        )


def share(known: Registry, kernel: str, more: int, count: int, seconds: float, first: int = 0) -> Share:
    """`count` comparisons, each with a seed of its own."""
    backend = "torch" if kernel.startswith("torch") else "host"
    found = [
        compared(known, kernel, more, seconds=seconds, seed=first + number, backend=backend)
        for number in range(count)
    ]
    assert not any(each.why for each in found), found[0].why
    effects = tuple(each.effect for each in found if each.effect is not None)
    return Share(kernel, more, Counter(each.verdict for each in found), effects)


PYPERF = (
    "import planted_kernels as p, numpy as np; "
    "run = p.{kernel}(dict(work=100), None, np.random.default_rng(1)).run"
)


def beside_pyperf(kernel: str, seconds: float) -> tuple[float, float]:
    """Seconds of a call: our median of pairs, and pyperf's of its values, on one processor."""
    ours = compared(registry(), kernel, 0, seconds=seconds)
    side = ours.before
    assert side is not None
    assert side.value is not None
    out = Path(f"/tmp/pyperf-{os.getpid()}.json")
    out.unlink(missing_ok=True)
    processor, home = str(max(os.sched_getaffinity(0))), str(Path(planted_kernels.__file__).parent)
    variables = {"PYTHONPATH": home, "OPENBLAS_NUM_THREADS": "1"}
    often = ["-q", "-p", "10", "--affinity", processor, "--inherit-environ", ",".join(variables)]
    setup = PYPERF.replace("{kernel}", kernel)
    subprocess.run(
        [sys.executable, "-m", "pyperf", "timeit", *often, "-o", str(out), "-s", setup, "run()"],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **variables},
    )
    (told,) = json.loads(out.read_text())["benchmarks"]
    out.unlink()
    return side.value, median(value for run in told["runs"] for value in run.get("values", ()))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--busy", type=int, default=2, help="busy processes for each processor")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--kernel", action="append", choices=planted_kernels.PREPARED)
    parser.add_argument("--more", type=int, action="append", choices=MORE)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--pyperf", action="store_true")
    asked = parser.parse_args(arguments)
    for kernel in asked.kernel or KERNELS:
        if asked.pyperf:
            ours, theirs = beside_pyperf(kernel, asked.seconds)
            print(
                f"{kernel:14} {ours * 1e6:.1f} µs, pyperf {theirs * 1e6:.1f} µs: {ours / theirs:.3f}",
                flush=True,
            )
            continue
        with busy(asked.busy * len(os.sched_getaffinity(0))):
            for more in asked.more or MORE:
                print(share(registry(), kernel, more, asked.count, asked.seconds, asked.first), flush=True)
                print(
                    f"  load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors",
                    flush=True,
                )


@pytest.mark.campaign("hours")
@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_pairs_find_beside_busy_processes(kernel: str, more: int) -> None:
    with busy(2 * len(os.sched_getaffinity(0))):
        found = share(registry(), kernel, more, 200 if more == 0 else 40, SECONDS)
    assert found.reached, str(found)


def test_a_share_says_whether_it_is_what_is_asked_for() -> None:
    same, slower = Verdict.SAME, Verdict.SLOWER
    assert Share("python", 0, Counter({same: 99, slower: 1}), (0.0,)).reached
    assert not Share("python", 0, Counter({same: 98, Verdict.FASTER: 2}), (0.0,)).reached
    assert Share("python", 5, Counter({slower: 9, same: 1}), (0.05,)).reached
    assert not Share("python", 2, Counter({slower: 4, same: 6}), (0.02,)).reached


if __name__ == "__main__":
    main()
