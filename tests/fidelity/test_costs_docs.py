"""docs/costs.md says what the cost files and the model say."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from trnbench.registry import Registry, load_registry
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.nki.op import Op
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.published import published_points
from trnbench_fidelity.validate import compare


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "costs.md").read_text(encoding="utf-8")


def test_the_table_of_constants(page: str, registry: Registry) -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| ([\d.]+) \| ([\d.]+) to ([\d.]+) \| (\d+) \|$", page, re.MULTILINE)
    assert [(name, float(value), float(low), float(high), int(n)) for name, value, low, high, n in rows] == [
        (fit["name"], fit["value"], fit["low"], fit["high"], len(fit["points"]))
        for fit in registry.costs("trn2")["fits"]
    ]


def test_the_planning_figures(page: str, registry: Registry) -> None:
    (found,) = re.findall(r"planning figures are (\d+), (\d+) and (\d+) bytes per ns", page)
    names = ("trn1", "trn2", "trn3")
    assert [int(each) for each in found] == [
        registry.costs(name)["dma"]["bytes_per_ns_per_engine"] for name in names
    ]


def test_the_copy_of_four_elements(page: str, registry: Registry) -> None:
    table = CostTable(registry.system("trn2-16.48xlarge"))
    op = Op("vector", "tensor_copy", "fp32", {"N": 4, "P": 128}, {})
    assert re.search(rf"{table.seconds(op) * 1e9:.0f} ns \(64 cycles\)", page)
    assert f"there after {table.duration(op) * 1e9:.0f} ns" in page


def test_points_that_miss_are_those_that_miss_most(page: str, registry: Registry) -> None:
    rows = re.findall(r"^\| (`t\d-[\w-]+`(?:, `t\d-[\w-]+`)*) \|", page, re.MULTILINE)
    named = {id for row in rows for id in re.findall(r"`([\w-]+)`", row)}
    bench = Bench(registry)
    errors = {
        row.id: abs(row.e)
        for points in published_points(registry).values()
        for point in points
        if point.family in ("instruction", "dma", "hbm")
        for row in compare(point, bench, with_same=False)
        if row.e is not None
    }
    assert named == {id for id, error in errors.items() if error > math.log(1.1)}
