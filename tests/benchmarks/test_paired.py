"""How often `trnbench compare --paired` is wrong on this machine, and what it finds, with others at work.

    PYTHONPATH=tests/support python tests/benchmarks/test_paired.py [--count 200] [--busy 2] [--seconds 10]

Each of three kernels (pure Python, NumPy's product, STREAM's triad; `--kernel torch_product` where torch is
installed) is held against itself and against itself with 5 and 2 % more to do, so many times each, beside
`--busy` busy processes for each processor; Ctrl-C ends it with the table so far. `--pyperf` times the
same on a quiet machine and with pyperf.

As tests, only what no other process can disturb is asserted; the counts are asked of a campaign.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
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
from trnbench.results.measurement import Verdict

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


def taken(known: Registry, kernel: str, more: int, seconds: float, seed: int) -> Change:
    """One comparison that came to something."""
    backend = "torch" if kernel.startswith("torch") else "host"
    one = compared(known, kernel, more, seconds=seconds, seed=seed, backend=backend)
    assert one.effect is not None, one.why
    return one


def share(kernel: str, more: int, changes: Sequence[Change]) -> Share:
    effects = tuple(each.effect for each in changes if each.effect is not None)
    return Share(kernel, more, Counter(each.verdict for each in changes), effects)


def table(shares: Sequence[Share]) -> str:
    """The shares in Markdown: how often a verdict was wrong, and how often what was planted was found."""
    lines = ["| kernel | more | comparisons | verdicts | effects | as asked |", "|---|---|---|---|---|---|"]
    for each in shares:
        told = ", ".join(f"{count} {verdict}" for verdict, count in each.verdicts.most_common())
        effects = f"{min(each.effects):+.2%} to {max(each.effects):+.2%}"
        reached = "yes" if each.reached else "no"
        lines.append(
            f"| {each.kernel} | {each.more} % | {each.verdicts.total()} | {told} | {effects} | {reached} |"
        )
    return "\n".join(lines)


PYPERF = (
    "import planted_kernels as p, numpy as np; "
    "run = p.{kernel}(dict(work=100), None, np.random.default_rng(1)).run"
)


def beside_pyperf(kernel: str, seconds: float) -> tuple[float, float]:
    """Seconds of a call: our median of pairs, and pyperf's of its values, on one processor."""
    ours = compared(registry(), kernel, 0, seconds=seconds)
    side = ours.before
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
    kernels = asked.kernel or KERNELS
    if asked.pyperf:
        for kernel in kernels:
            ours, theirs = beside_pyperf(kernel, asked.seconds)
            told = f"{ours * 1e6:.1f} µs, pyperf {theirs * 1e6:.1f} µs: {ours / theirs:.3f}"
            print(f"{kernel:14} {told}", flush=True)
        return
    known, changes = registry(), defaultdict[tuple[str, int], list[Change]](list)
    turns = product(range(asked.first, asked.first + asked.count), kernels, asked.more or MORE)
    loads = []
    with busy(asked.busy * len(os.sched_getaffinity(0))), suppress(KeyboardInterrupt):
        for seed, kernel, more in turns:
            one = taken(known, kernel, more, asked.seconds, seed)
            changes[kernel, more].append(one)
            loads.append(os.getloadavg()[0])
            print(f"{seed} {kernel} +{more} %: {one.verdict} {one.effect:+.2%}", file=sys.stderr, flush=True)
    print(table([share(*key, each) for key, each in changes.items()]))
    processors = len(os.sched_getaffinity(0))
    print(f"\nload {min(loads):.1f} to {max(loads):.1f} on {processors} processors")


@pytest.mark.campaign("hours")
@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_pairs_find_beside_busy_processes(kernel: str, more: int) -> None:
    count = 200 if more == 0 else 40
    with busy(2 * len(os.sched_getaffinity(0))):
        found = share(kernel, more, [taken(registry(), kernel, more, SECONDS, each) for each in range(count)])
    assert found.reached, str(found)


if __name__ == "__main__":
    main()
