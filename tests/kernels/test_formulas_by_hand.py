"""FLOP and byte counts and footprints against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kernel_extents import CORE, KERNELS, ranks

from trnbench.facts.fact import Scope
from trnbench.kernels.work import Extent


def values(words: str) -> dict[str, Any]:
    """Numbers as such; underscores group their digits."""
    found = (word.split("=") for word in words.split())
    return {name: int(text) if text.replace("_", "").isdigit() else text for name, text in found}


def extent(words: str) -> Extent:
    found = values(words)
    if set(found) == {"ranks"}:
        return ranks(found["ranks"])
    return Extent(scope=Scope(found.pop("scope")), **found) if found else CORE


def by_hand(file: str) -> list[Any]:
    rows = []
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            case, _, counts = line.partition(" : ")
            asked, _, where = case.partition(" @ ")
            name, _, point = asked.partition(" ")
            rows.append(pytest.param(name, values(point), extent(where), values(counts), id=case))
    return rows


@pytest.mark.parametrize(("name", "point", "extent", "counts"), by_hand("counts.txt"))
def test_counts_agree_with_those_worked_out_by_hand(name, point, extent, counts):
    assert KERNELS[name].work(point, extent).as_counts() == counts


def test_every_kernel_has_a_number_worked_out_by_hand():
    assert {row.values[0] for row in by_hand("counts.txt")} == set(KERNELS)


@pytest.mark.parametrize(("name", "point", "extent", "expected"), by_hand("footprints.txt"))
def test_footprints_are_of_one_share(name, point, extent, expected):
    assert dict(KERNELS[name].footprint(point, extent)) == expected
