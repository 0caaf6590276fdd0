"""Campaigns: tests that try one thing in many more ways than a proof of it needs, and take long.

A test marked `campaign("kind")` is left out, unless it is asked for: by `-m campaign`, by its own name or
its file's, or by `--campaign-sample SEED`, which draws a few of each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

SAMPLES: Mapping[str, int] = {
    "axe": 1,  # the page under axe-core, at other widths and colours
    "benchmarks": 8,  # what times something
    "default run": 2,  # every case of every documented system
    "documents": 2,  # long examples of docs/
    "environments": 1,  # packages that are built and installed
    "faults": 3,  # processes killed, inputs drawn, locks held
    "hours": 0,  # hundreds of measurements: one alone takes longer than a sample may
    "sweeps": 100,  # a proof again with further systems, kernels or values
}
"""Kind of campaign → how many of its tests a sample has."""


def sweep(values: Iterable[Any], always: Callable[..., object]) -> list[Any]:
    """Values of a parameter, or tuples of several: where `always` holds they are tried in every run, the
    others are a sweep."""
    rows = [value if type(value) is tuple else (value,) for value in values]
    others = pytest.mark.campaign("sweeps")
    return [pytest.param(*row, marks=() if always(*row) else others) for row in rows]


def kind_of(item: pytest.Item) -> str:
    """The kind of campaign that a test is of; "" where it is of none."""
    marker = item.get_closest_marker("campaign")
    return str(marker.args[0]) if marker else ""


def drawn(seed: str, tests: Mapping[str, Iterable[str]]) -> set[str]:
    """Of the tests of each kind of campaign those that a seed draws, whatever else is collected."""
    return {
        name
        for kind, names in tests.items()
        for name in sorted(names, key=lambda name: Random(f"{seed} {name}").random())[: SAMPLES[kind]]
    }


def left_out(config: pytest.Config, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of campaigns that nobody asked for."""
    campaigns = [item for item in items if kind_of(item) and not _named(item, config.args)]
    if config.getoption("benchmark_enable", False):
        campaigns = [item for item in campaigns if kind_of(item) != "benchmarks"]
    seed = config.getoption("--campaign-sample", None)
    if seed is not None:
        tests: dict[str, list[str]] = {}
        for item in campaigns:
            tests.setdefault(kind_of(item), []).append(item.nodeid)
        chosen: Collection[str] = drawn(seed, tests)
    elif "campaign" in str(config.getoption("markexpr")):
        return []
    else:
        chosen = ()
    return [item for item in campaigns if item.nodeid not in chosen]


def _named(item: pytest.Item, arguments: Sequence[str]) -> bool:
    files = (Path(each.partition("::")[0]).absolute() for each in arguments)
    return item.path in files


def summary(counts: Counter[str]) -> str:
    """What is said of the campaigns that a run left out."""
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts))
    return f"campaigns: left out {counts.total()} tests ({kinds}); .ci/campaign runs them"
