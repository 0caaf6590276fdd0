"""The constants of `[[fits]]` follow from the points that their rows name."""

from __future__ import annotations

import math
import re
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from math import log
from pathlib import Path
from typing import Any

import pytest

from renewal import refit
from renewal.core_fit import GRIDS, Fitted, fit
from trnbench.registry import Registry
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.nki.op import Op
from trnbench_fidelity.bench import Bench, with_values
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.validate import compare

GENERATIONS = ("trn1", "trn2", "trn3")


@pytest.fixture(scope="module")
def page_run(root: Path) -> tuple[str, dict[str, Fitted]]:
    """What the Python of docs/costs.md prints, and the constants that it prints."""
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "costs.md").read_text(), re.DOTALL)
    given: list[dict[str, Fitted]] = []
    fitted = refit.refit

    def noted(registry: Registry, generation: str) -> dict[str, Fitted]:
        assert generation == "trn2"
        given.append(fitted(registry, generation))
        return given[-1]

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.setattr(refit, "refit", noted)
        exec(compile(code, "docs/costs.md", "exec"), {})
    (constants,) = given
    return printed.getvalue(), constants


@pytest.fixture(scope="module")
def refitted(page_run: tuple[str, dict[str, Fitted]]) -> dict[str, Fitted]:
    return page_run[1]


def test_the_python_on_the_page_of_costs_runs(page_run: tuple[str, dict[str, Fitted]]) -> None:
    printed, constants = page_run
    assert len(printed.splitlines()) == len(constants) == 4


def own(root: Path, generation: str) -> dict[str, Any]:
    """The generation's own file, without what it inherits."""
    return tomllib.loads((root / "plugins" / f"trnbench_{generation}" / "costs.toml").read_text())


def test_every_constant_is_the_one_its_points_give(registry: Registry, refitted: dict[str, Fitted]) -> None:
    rows = {row["name"]: row for row in registry.costs("trn2")["fits"]}
    assert {name: row["value"] for name, row in rows.items()} == {
        name: found.value for name, found in refitted.items()
    }
    for name, row in rows.items():
        assert row["held_out"] == refitted[name].held_out
        assert row["low"] <= row["value"] <= row["high"]


def test_no_constant_stands_on_one_point_or_at_the_edge_of_its_grid(registry: Any, refitted: Any) -> None:
    for row in registry.costs("trn2")["fits"]:
        grid = GRIDS[row["name"]]
        assert len(row["points"]) > 2
        for value in (refitted[row["name"]].value, *refitted[row["name"]].held_out.values()):
            assert grid.low < value < grid.high


def test_trainium1_has_one_constant_of_its_own_and_trainium3_none(root: Path) -> None:
    fits = [[row["name"] for row in own(root, name).get("fits", ())] for name in GENERATIONS]
    assert (fits[0], fits[2]) == (["dma.transfer_ns"], [])
    assert len(fits[1]) > 1


def test_what_kernels_decided_says_what_it_is_without_each(root: Path) -> None:
    """Points of public kernels: their sources are not here to fit them again."""
    (row,) = own(root, "trn1")["fits"]
    assert len(row["points"]) > 2
    assert set(row["held_out"]) == set(row["points"])
    assert all(row["low"] <= each <= row["high"] for each in (row["value"], *row["held_out"].values()))


def test_carried_constants_are_those_of_the_generation_they_name(registry: Registry, root: Path) -> None:
    rows = own(root, "trn1")["carried"]
    fitted = {row["name"]: row["value"] for row in registry.costs("trn2")["fits"]}
    of_its_own = {row["name"] for row in own(root, "trn1")["fits"]}
    assert {row["name"]: row["value"] for row in rows} == {
        name: value for name, value in fitted.items() if name not in of_its_own
    }
    assert {row["of"] for row in rows} == {"trn2"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)


def test_another_value_takes_the_place_of_a_constant(registry: Registry) -> None:
    system = "trn2-16.48xlarge"
    costs = with_values(registry.costs("trn2"), {"dma.transfer_ns": 500})
    assert {row["name"]: row["value"] for row in costs["fits"]}["dma.transfer_ns"] == 500
    table = Bench(registry, values={"dma.transfer_ns": 500}).table(system)
    assert table.transfers.transfer_s == pytest.approx(500e-9)
    assert Bench(registry).table(system).transfers.transfer_s == pytest.approx(106e-9)


def test_a_single_odd_point_pulls_little() -> None:
    seen = {"a": 100.0, "b": 104.0, "odd": 300.0}

    def deviation(id: str, values: Any) -> float:
        return log(values["instruction.fixed_ns"] / seen[id])

    found = fit({"instruction.fixed_ns": tuple(seen)}, deviation)["instruction.fixed_ns"]
    assert found.value == 104
    assert found.held_out["odd"] == 102  # anything between the two is as good: the middle
    assert found.held_out["a"] == 202


def test_a_constant_that_depends_on_another_is_found_in_rounds() -> None:
    # Both together explain b; a decides the first alone.
    def deviation(id: str, values: Any) -> float:
        one, other = values["dma.descriptor_ns"], values["dma.transfer_ns"]
        return log((1 + one) / 6) if id == "a" else log((8 * one + other) / 140)

    found = fit({"dma.transfer_ns": ("b",), "dma.descriptor_ns": ("a",)}, deviation)
    assert (found["dma.descriptor_ns"].value, found["dma.transfer_ns"].value) == (5, 100)
    assert found["dma.transfer_ns"].held_out == {}


def test_a_constant_without_a_grid() -> None:
    with pytest.raises(KeyError, match="unheard_of"):
        fit({"unheard_of": ("a",)}, lambda *_: 0.0)


# docs/costs.md says what the cost files and the model say --------------------------------------------


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


def test_points_that_miss_are_those_that_miss_most(root: Path, registry: Registry) -> None:
    page = (root / "docs" / "research" / "misses.md").read_text(encoding="utf-8")
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
