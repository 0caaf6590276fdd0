"""`trnbench validate` as a person meets it."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result
from command import typed
from comparison import comparison

from renewal import inserted
from trnbench.errors import BadInput, FactError
from trnbench.registry import Registry, load_registry
from trnbench.results.fidelity import Fidelity, Use
from trnbench_fidelity import validate as validation
from trnbench_fidelity.commands import validate_steps
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.snapshot import fidelity_of
from trnbench_fidelity.summary import markdown
from trnbench_fidelity.tables import BEGIN, END
from trnbench_fidelity.validate import validate

_ANSWERS: dict[str, Fidelity] = {}


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command holds the model against a selection of points once, in whatever form it prints them."""

    def hold(registry: Registry, **asked: Any) -> Fidelity:
        key = repr(sorted((name, each) for name, each in asked.items() if each))
        if key not in _ANSWERS:
            _ANSWERS[key] = validate(registry, **asked)
        return _ANSWERS[key]

    monkeypatch.setattr(validation, "validate", hold)


def run(*args: str) -> Result:
    return typed("-q", "validate", *args)


@cache
def printed(*args: str) -> str:
    """Many tests look at one answer."""
    result = run(*args, "--format", "json")
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(*args: str) -> Any:
    return json.loads(printed(*args))


USES = (
    "emulated", "contradicted", "bound", "needs_source", "no_kernel", "not_emulated", "not_used"
)  # fmt: skip


def test_families_come_worst_first() -> None:
    found = [row for row in rows() if row["family"] != "public"]
    assert len({(row["family"], row["generation"]) for row in found}) == len(found) > 20
    medians = [row["median"] for row in found if row["median"] is not None]
    assert len(medians) >= 12
    assert medians == sorted(medians, reverse=True)
    assert all(row["median"] is None for row in found[len(medians) :])
    published = sum(map(len, published_points(load_registry()).values()))
    assert sum(row[use] for row in found for use in USES) == published


def test_public_kernels_are_counted_as_they_are_kept() -> None:
    found = rows("--generation", "trn1")
    public = next(row for row in found if row["family"] == "public")
    kernels = [row for row in found if row["family"] in ("gemm", "kernel")]
    assert public["votes"] == sum(row["votes"] for row in kernels) == 17
    assert public["points"] == sum(row["points"] for row in kernels) == 32
    assert public["bounds"] == sum(row["bounds"] for row in kernels) == 22


def test_errors_of_one_generation_are_not_lent_to_another() -> None:
    assert {row["generation"] for row in rows("--family", "hbm") if row["points"]} == {"trn1"}


def test_points_carry_values_error_evidence_source_and_use() -> None:
    found = rows("points", "--family", "dma")
    assert {row["family"] for row in found} == {"dma"}
    row = next(row for row in found if row["id"] == "t2-instr-dma-256")
    assert (row["use"], row["honesty"]) == ("emulated", "fitted")
    assert row["published"] == 17e-9
    assert row["e"] == pytest.approx(math.log(row["emulated"] / row["published"]))
    assert row["e_cross"] is not None
    assert row["evidence"] == "P/E"
    assert row["source"].startswith("github:")
    assert {row["use"] for row in found} == {"emulated", "not used"}
    rate = next(row for row in found if row["id"] == "t2-dma-128x4096")
    assert rate["e"] == pytest.approx(math.log(rate["published"] / rate["emulated"]))


def test_a_point_that_shaped_a_rule_is_never_held_out() -> None:
    found = {row["id"]: row for row in rows("points", "--generation", "trn2")}
    assert found["t2-nccom-allreduce-fp32-8M"]["honesty"] == "shaped"
    assert found["t2-nccom-allreduce-bf16-1024M"]["honesty"] == "untouched"
    assert found["t2-gemmgelu-fused_pwl-bf16-2048x4096x4096"]["honesty"] == "shaped"


def test_contradicted_points_have_the_interval_of_their_sources() -> None:
    found = {row["id"]: row for row in rows("points", "--family", "collective-network")}
    assert found["t1-nccom-ar64-8"]["span"] == found["t1-adt-ar64-8"]["span"] == [6.352e-05, 0.00052]
    assert found["t1-nccom-ar64-65536"]["span"] == [0.00034384, 0.001315]
    assert found["t1-nccom-ar64-1048576"]["span"] is None


def test_broken_inequalities_come_first() -> None:
    result = typed("validate", "--generation", "trn2")
    lines = result.stdout.splitlines()
    broken = rows("bounds", "--generation", "trn2")
    of = sum(row["bounds"] for row in rows("--generation", "trn2") if row["family"] != "public")
    assert of > len(broken) > 0
    assert lines[0].startswith(f"Broken: {len(broken)} of {of} published inequalities, the worst ×")
    assert [line.split()[0] for line in lines[3 : 3 + len(broken)]] == [row["id"] for row in broken]
    assert all(row["emulated"] > row["published"] for row in broken)
    assert lines[4 + len(broken)].startswith("Counts ")


def test_steps_of_sequences_say_whether_the_order_is_kept() -> None:
    found = {(row["start"], row["end"]): row for row in rows("order")}
    row = found["t1-mamba-v2-8k", "t1-mamba-v3-8k"]
    assert row["published"] == pytest.approx(math.log(27.8 / 53.33))
    assert row["off"] == pytest.approx(row["model"] - row["published"])
    assert row["in_order"] is (row["model"] < 0)
    assert all(abs(each["published"]) > math.log(1.03) for each in found.values())
    missing = found["t1-nkibench-base-mamba", "t1-nkibench-best-mamba"]
    assert (missing["model"], missing["in_order"]) == (None, None)
    # 0.1 % apart: no step
    assert ("t1-nkibench-base-lora", "t1-nkibench-best-lora") not in found


def test_how_untouched_points_moved_is_of_every_point_of_the_list() -> None:
    found = rows("moved", "--generation", "trn3")
    assert [(row["family"], row["version"], row["points"]) for row in found] == [
        ("dma", "6", 1),
        ("gemm", "6", 34),
        ("collective-graph", "9", 1),
        ("gemm", "9", 35),
        ("instruction", "9", 3),
        ("kernel", "9", 1),
    ]
    assert all(row["median_then"] is not None for row in found)


def test_selection_by_generation_and_instance() -> None:
    assert {row["generation"] for row in rows("points", "--generation", "trn3")} == {"trn3"}
    found = rows("points", "-i", "inf2.xlarge", "--family", "hbm")
    assert {row["id"] for row in found} == {"inf2-hbm-read-1c-8GiB", "inf2-hbm-write-2c"}
    any_size, two = (
        rows("points", "-i", name, "--family", "collective-network")
        for name in ("trn1-ultracluster", "trn1-ultracluster:2")
    )
    assert any_size == two != []


def test_csv_has_a_row_per_family() -> None:
    found = list(csv.DictReader(io.StringIO(run("--format", "csv", "--family", "hbm").stdout)))
    assert len(found) == 1
    assert {"family", "generation", "votes", "points", "median", "median_low", "p90", "worst", "bias"} <= set(
        found[0]
    )
    assert {"fitted_median", "cross_validated_p90", "shaped_votes", "untouched_points"} <= set(found[0])
    assert {"bounds", "bounds_broken", "bounds_worst"} <= set(found[0])


GOLDEN = (Path(__file__).parent / "validate_hbm.txt").read_text(encoding="utf-8")
"""What a person sees. Renew it when the model of streams changes: trnbench validate --family hbm."""


def test_what_a_person_sees() -> None:
    result = typed("validate", "--family", "hbm")
    assert result.exit_code == 0
    assert result.stdout == GOLDEN
    assert result.stderr.startswith("model: trnbench schedule + flows ")


@pytest.mark.parametrize(
    ("option", "limit", "family", "text"),
    [
        (
            "--max-median",
            "hbm=0.01%",
            "hbm",
            r"--max-median hbm: the median error of trn1 is [\d.]+ %, allowed are 0\.0 %",
        ),
        ("--max-p90", "hbm=99%", "hbm", r"--max-p90 hbm: trn1 has 4 votes, a 90th percentile takes five"),
        (
            "--max-p90",
            "instruction=0.5%",
            "instruction",
            r"--max-p90 instruction: trn3 has 2 votes, a 90th percentile takes five\n"
            r"error: --max-p90 instruction: the 90th percentile of trn2 is [\d.]+ %, allowed are 0\.5 %",
        ),
    ],
)
def test_a_gate_that_does_not_hold(option: str, limit: str, family: str, text: str) -> None:
    result = run("--family", family, option, limit)
    assert result.exit_code == 1
    assert re.fullmatch(f"error: {text}\n", result.stderr)


def test_a_gate_that_holds() -> None:
    args = ("--max-median", "hbm=99%", "--max-median", "public=9999%", "--max-broken", "28")
    assert run("--generation", "trn1", *args).exit_code == 0


@pytest.mark.parametrize(("allowed", "code"), [(0, 1), (1, 1), (2, 0)])
def test_a_gate_on_broken_inequalities(allowed: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    points = tuple(comparison(f"b{e}", e, use=Use.BOUND) for e in (-0.5, 0.1, 0.7))
    found = Fidelity(by="m", points=points)
    assert validate_steps.judge(found, validate_steps.parsed((), (), allowed)) == code
    text = f"error: --max-broken: 2 of 3 published inequalities are broken, allowed are {allowed}\n"
    assert capsys.readouterr().err == (text if code else "")


def test_a_gate_on_nothing_fails() -> None:
    result = run("--family", "hbm", "--max-median", "model=99%")
    assert result.exit_code == 1
    assert result.stderr == "error: --max-median model: no point of it is emulated, so nothing is shown\n"


def broken_registry(tmp_path: Path) -> Any:
    path = tmp_path / "published.toml"
    path.write_text('schema = 1\n[[group]]\npoints = [ { id = "a" } ]\n')
    registry = load_registry()
    trn1 = registry.generations["trn1"]
    registry.generations["trn1"] = msgspec.structs.replace(trn1, published=path)
    return registry, path


def test_a_malformed_file_is_named_with_the_entry(tmp_path: Path) -> None:
    registry, path = broken_registry(tmp_path)
    with pytest.raises(FactError) as caught:
        validate(registry)
    assert caught.value.what == f"{path}: [[group]] 1, point a: key 'family' is missing"


def test_a_malformed_file_costs_a_run_only_its_fidelity(tmp_path: Path) -> None:
    registry, path = broken_registry(tmp_path)
    notes: list[str] = []
    assert fidelity_of(registry, "emulated", ["trn1"], notes) is None
    assert notes == [
        f"the model was not held against published points: {path}: [[group]] 1, point a: "
        "key 'family' is missing"
    ]


def test_two_files_with_one_id() -> None:
    registry = load_registry()
    same = registry.generations["trn1"].points_file
    registry.generations["trn2"] = msgspec.structs.replace(registry.generations["trn2"], published=same)
    with pytest.raises(FactError, match=r"points\.toml: id 't1-hbm-read-1c-8GiB' is used twice"):
        published_points(registry)


def test_markdown_is_all_of_it() -> None:
    text = run("--format", "md").stdout
    heads = [line for line in text.splitlines() if line.startswith(("| point", "| family", "| from"))]
    assert [head.split(" | ")[1] for head in heads] == ["bound", "generation", "to", "engine", "generation"]
    assert text == markdown(validation.validate(load_registry()))


def test_a_table_goes_between_its_markers() -> None:
    text = f"a\n{BEGIN}\nold\n{END}\nb\n"
    assert inserted(text, "new\n") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb\n"
    assert inserted(inserted(text, "new\n"), "new\n") == inserted(text, "new\n")
    assert inserted("a\n(\n)\nb\n", "t\n", "(", ")") == "a\n(\n\nt\n\n)\nb\n"
    for wrong in ("no markers", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"{text}{text}"):
        with pytest.raises(BadInput, match="the text does not have the two lines"):
            inserted(wrong, "new\n")
