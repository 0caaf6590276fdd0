"""Variants of a kernel a second, beside the start of a bare Python: all in time of a processor.

`pytest tests/benchmarks/test_session.py --benchmark-enable -s` prints how many variants take as long as one
start, of texts that all differ: with a process each, trusted, and with values. Starts and variants are taken
in turns. Without the option a few of each are answered.
"""

from __future__ import annotations

import resource
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest
from process_tree import python_s

from trnbench.nki import Session
from trnbench.registry import load_registry

TEXT = (Path(__file__).parents[2] / "docs" / "examples" / "kernel.py").read_text()
ARGUMENTS = {"a": "256x256:bf16", "b": "256x512:bf16"}
ROUNDS, VARIANTS, STARTS = 5, 40, 10


def processor_s() -> float:
    """Of this process and of all that it has collected."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


REGISTRY = load_registry()


def spent(count: int, mark: str, trusted: bool, **options: Any) -> float:
    """By a session that answers `count` variants, from its beginning to its end."""
    begin = processor_s()
    with Session("trn2-16.48xlarge", trusted=trusted, registry=REGISTRY) as session:
        for number in range(count):
            text = f"{TEXT}# {mark} {number}"
            answer = session.ask(source=text, function="matmul", arguments=ARGUMENTS, **options)
            assert answer.verdict == "ok"
            assert answer.instructions == 16
    return processor_s() - begin


def start_s(count: int) -> float:
    return mean(python_s("-c", "pass") for _ in range(count))


@pytest.mark.parametrize(("trusted", "values"), [(False, False), (True, False), (False, True), (True, True)])
def test_variants_per_start_of_bare_python(benchmark: Any, trusted: bool, values: bool) -> None:
    rounds, variants = (ROUNDS, VARIANTS) if benchmark.enabled else (1, 2)

    def ratios() -> list[float]:
        found = []
        for turn in range(rounds):
            begin = start_s(STARTS if benchmark.enabled else 1)
            one = spent(1, f"{turn} one", trusted, values=values)
            many = spent(1 + variants, f"{turn} many", trusted, values=values)
            start = (begin + start_s(STARTS if benchmark.enabled else 1)) / 2
            found.append(start / max((many - one) / variants, 1e-9))
        return found

    found = benchmark.pedantic(ratios, rounds=1)
    assert len(found) == rounds
    how = "trusted" if trusted else "a process each"
    shown = ", ".join(f"{ratio:.2f}" for ratio in sorted(found))
    print(f"\n{how}{', with values' if values else ''}: {median(found):.2f} variants a start ({shown})")
