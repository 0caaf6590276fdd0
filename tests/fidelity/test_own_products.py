"""Our own product beside the best published one of each shape."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from altered_answers import altered, replaced
from click.testing import Result
from command import typed

import trnbench
from trnbench.facts.fact import Scope
from trnbench.kernels.work import Extent
from trnbench.registry import Registry, load_registry
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.own_products import products
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.sources import PRODUCTS, shipped_products


def run(*args: str) -> Result:
    return typed("validate", "same", *args)


def test_the_best_published_of_a_shape_is_held_against_ours(registry: Registry) -> None:
    found = {each.id: each for each in products(registry, "trn1")}
    best = found["t1-gemm-4096-bf16-coalesced"]
    assert (best.m, best.n, best.k, best.dtype, best.cores) == (4096, 4096, 4096, "bf16", 1)
    assert best.published_flops_per_s == 71.78e12
    # The sweep over data types was timed by calls of the host: no times of products.
    assert set(best.others) == {"t1-gemm-4096-bf16-blocked", "t1-gemm-4096-bf16-xla"}
    assert best.e == pytest.approx(math.log(best.published_flops_per_s / best.model_flops_per_s))
    assert not any("int8" in each.dtype or "int8" in str(each.others) for each in found.values())


def test_a_latency_and_a_share_of_the_peak_become_rates(registry: Registry) -> None:
    found = {each.id: each for each in products(registry, "trn2")}
    assert found["t2-gemm4096-v2"].published_flops_per_s == pytest.approx(2 * 4096**3 / 1801e-6)
    peak = registry.system("trn2-16.48xlarge").fact(Scope.CORE, "peak_flops", dtype="bf16")
    assert found["t2-gemm2048-lhsT-hand"].published_flops_per_s == pytest.approx(0.9092 * peak)
    assert "t2-kda-base-matmul" not in found  # the scale of its times is disputed


def test_a_product_of_two_cores_is_timed_as_two_programs(registry: Registry) -> None:
    own = next(each for each in products(registry, "trn3") if each.id == "t3-gemm-bf16-2048x1024x4096")
    assert (own.cores, own.kernel) == (2, "gemm_shared")
    assert (own.m, own.n, own.k) == (2048, 4096, 1024)
    point = next(each for each in published_points(registry, ("trn3",))["trn3"] if each.id == own.id)
    scope = Scope.LOGICAL_CORE
    axes = {"dtype": "bf16", "m": own.m, "n": own.n, "k": own.k}
    seen, _ = Bench(registry).observe("gemm_shared", point.system, axes, scope, Extent(scope=scope, cores=2))
    launch = sum(part.seconds for part in seen.parts if part.name == "launch")
    assert 2 * own.m * own.n * own.k / own.model_flops_per_s == pytest.approx(seen.time_s - launch, abs=1e-12)


def test_rows_come_by_work_and_only_of_generations_with_points(registry: Registry) -> None:
    found = products(registry, "trn3")
    work = [each.m * each.n * each.k for each in found]
    assert work == sorted(work)
    assert len(found) == 34
    assert products(registry, "trn9") == ()
    other = load_registry()
    assert products(replaced(other, "trn3", published=None), "trn3") == ()


def test_the_command_prints_one_row_for_each_shape() -> None:
    rows = json.loads(run("--generation", "trn1", "--format", "json").stdout)
    assert [row["id"] for row in rows] == [each.id for each in products(load_registry(), "trn1")]
    assert all(row["error"] == pytest.approx(math.expm1(row["e"])) for row in rows)
    table = run("--generation", "trn1")
    assert table.exit_code == 0
    assert "4096 x 4096 x 4096" in table.stdout
    assert "two programs" in table.stderr


def test_what_does_not_go_with_it_is_told() -> None:
    assert run("points").exit_code == 2
    assert "validate same goes with --generation and --format alone" in run("--family", "gemm").stderr
    assert run("--generation", "trn9").exit_code == 2


@pytest.mark.parametrize("name", ["trn1", "trn2", "trn3"])
def test_shipped_rows_are_those_of_the_model(registry: Registry, name: str) -> None:
    assert shipped_products(registry, name) == (products(registry, name), "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": "6"}, "Its answers are of trnbench schedule + flows 6, this run is of "),
        (
            {"files": {}},
            "trn1/sources.toml, trn1/instances.toml, trn1/inferentia2.toml and 7 more have changed ",
        ),
    ],
)
def test_rows_of_another_model_or_other_files_are_left_out(tmp_path: Path, change: Any, why: str) -> None:
    rows, said = shipped_products(altered(load_registry(), "trn1", tmp_path, **change), "trn1")
    assert rows == ()
    assert said.startswith(why)


def with_costs(tmp_path: Path, more: str) -> Registry:
    """trn1 with more in its cost file."""
    registry = load_registry()
    costs = registry.generations["trn1"].costs
    path = tmp_path / "costs.toml"
    path.write_text(f"{costs.read_text()}\n{more}\n")
    return replaced(registry, "trn1", costs=path)


def test_a_changed_cost_file_is_another_question(tmp_path: Path) -> None:
    why = "trn1/costs.toml has changed since it was timed"
    assert shipped_products(with_costs(tmp_path, "[mine]"), "trn1") == ((), why)


def test_a_sentence_of_the_headline_says_that_it_is_out_of_date(tmp_path: Path) -> None:
    """Where it would have stood, in the notes, and with what to type."""
    said = (
        "out of date. trn1/costs.toml has changed since it was timed. "
        "Type: trnbench validate same --generation trn1"
    )
    backend = with_costs(tmp_path, "[mine]")
    run = trnbench.bench(("gemm",), instances=("trn1.2xlarge",), axes=("dtype=bf16",), registry=backend)
    sentences = [words.text for _, words in trnbench.headline(run).said]
    assert any(f"Our product against published: {said}" in text for text in sentences), sentences
    assert f"our own products are not set beside published ones of trn1: {said}" in run.notes
    notes = {case.evidence.nearest.note for case in run.measurements if case.evidence.nearest is not None}
    assert notes == {"band of the shipped model"}


def test_a_file_without_rows_is_named(tmp_path: Path) -> None:
    registry = altered(load_registry(), "trn1", tmp_path, {PRODUCTS: [1]})
    rows, why = shipped_products(registry, "trn1")
    assert rows == ()
    assert why.startswith("the answers of trn1 have no products in them: Expected `object`, got `array`")
    path = tmp_path / "none.json"
    rows, why = shipped_products(replaced(registry, "trn1", answers=path), "trn1")
    assert why.startswith(f"{path} holds no answers of a generation: there is no file {path}")
