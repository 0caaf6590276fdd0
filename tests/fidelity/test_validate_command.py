"""`trnbench validate` as a person meets it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from trnbench.cli.main import cli
from trnbench.errors import BadInput, FactError
from trnbench.fidelity.snapshot import fidelity_of
from trnbench.fidelity.tables import BEGIN, END, inserted, markdown
from trnbench.fidelity.validate import published_points, validate
from trnbench.registry import load_registry


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["-q", "validate", *args])


def rows(*args: str) -> Any:
    result = run(*args, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_families_come_worst_first() -> None:
    found = rows()
    assert len(found) == 12
    medians = [row["median"] for row in found if row["median"] is not None]
    assert len(medians) >= 6
    assert medians == sorted(medians, reverse=True)
    assert all(row["median"] is None for row in found[len(medians) :])
    counted = sum(
        row["points"]
        + row["bounds"]
        + sum(row[name] for name in ("contradicted", "needs_source", "no_kernel", "not_emulated", "not_used"))
        for row in found
    )
    assert counted == 380


def test_points_carry_values_error_evidence_source_and_use() -> None:
    found = rows("--points", "--family", "dma")
    assert {row["family"] for row in found} == {"dma"}
    row = next(row for row in found if row["id"] == "t2-instr-dma-256")
    assert row["use"] == "in-sample"
    assert row["published"] == 17e-9
    assert row["error"] == pytest.approx(row["emulated"] / row["published"] - 1)
    assert row["evidence"] == "P/E"
    assert row["source"].startswith("github:")
    assert {row["use"] for row in found} == {"in-sample", "held out", "not used"}


def test_selection_by_generation_and_instance() -> None:
    assert {row["generation"] for row in rows("--points", "--generation", "trn3")} == {"trn3"}
    found = rows("--points", "-i", "inf2.xlarge", "--family", "hbm")
    assert {row["id"] for row in found} == {"inf2-hbm-read-1c-8GiB", "inf2-hbm-write-2c"}
    any_size, two = (
        rows("--points", "-i", name, "--family", "collective-network")
        for name in ("trn1-ultracluster", "trn1-ultracluster:2")
    )
    assert any_size == two != []
    assert run("-i", "trn1-ultracluster:4").exit_code == 5


def test_csv_has_a_row_per_family() -> None:
    found = list(csv.DictReader(io.StringIO(run("--format", "csv").stdout)))
    assert len(found) == 12
    assert {"family", "points", "median", "p90", "worst", "bias"} <= set(found[0])


def test_the_table_says_how_much_is_emulated() -> None:
    result = CliRunner().invoke(cli, ["validate", "--family", "hbm"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].startswith("family  points  median")
    assert result.stderr.endswith("15 of 15 published points are emulated as stated\n")


def test_a_gate_that_holds_and_one_that_does_not() -> None:
    assert run("--family", "hbm", "--max-median", "hbm=99%").exit_code == 0
    result = run("--family", "hbm", "--max-median", "hbm=0.01%")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: --max-median hbm: the median error is ")
    assert result.stderr.endswith(", allowed are 0.0 %\n")


def test_a_gate_on_nothing_fails() -> None:
    result = run("--family", "hbm", "--max-median", "model=99%")
    assert result.exit_code == 1
    assert result.stderr == "error: --max-median model: no point of it is emulated, so nothing is shown\n"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (
            ("--family", "gem"),
            "error: unknown family 'gem'\n  cause: did you mean gemm?\n"
            "  try:   trnbench validate: every family\n",
        ),
        (
            ("--generation", "trn4"),
            "error: unknown generation 'trn4'\n  cause: did you mean trn3, trn2, trn1?\n"
            "  try:   trnbench list generations\n",
        ),
        (
            ("--max-median", "hbm"),
            "error: --max-median 'hbm' is no limit\n"
            "  cause: it is a family, an equals sign and a percentage\n"
            "  try:   --max-median hbm=3%\n",
        ),
        (
            ("--max-median", "hbm=-3%"),
            "error: --max-median 'hbm=-3%' is no limit\n"
            "  cause: it is a family, an equals sign and a percentage\n"
            "  try:   --max-median hbm=3%\n",
        ),
        (
            ("--kernels", "nowhere"),
            "error: --kernels: nowhere is no folder\n  cause: it does not exist\n"
            "  try:   the folder into which the public sources were fetched\n",
        ),
        (("-i", "trn9"), "error: unknown instance 'trn9'\n"),
    ],
)
def test_bad_input_is_one_clear_message(args: tuple[str, ...], text: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(text)
    assert "Traceback" not in result.stderr


def test_nothing_selected() -> None:
    result = run("--family", "hbm", "--generation", "trn3")
    assert result.exit_code == 5
    assert result.stderr == (
        "error: no published point is selected\n  cause: the options exclude every point\n"
        "  try:   trnbench validate --points: all there are\n"
    )


def broken_registry(tmp_path: Path) -> Any:
    import msgspec

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


def test_two_files_with_one_id(tmp_path: Path) -> None:
    import msgspec

    registry = load_registry()
    same = registry.generations["trn1"].published
    registry.generations["trn2"] = msgspec.structs.replace(registry.generations["trn2"], published=same)
    with pytest.raises(FactError, match=r"published\.toml: id 't1-hbm-read-1c-8GiB' is used twice"):
        published_points(registry)


def test_markdown_is_two_tables_of_the_same_families() -> None:
    text = run("--format", "md").stdout
    tables = [block for block in text.split("\n\n") if block.startswith("| family")]
    assert len(tables) == 2
    heads = [[line.split("|")[1] for line in table.splitlines()[2:]] for table in tables]
    assert heads[0] == heads[1]
    assert text == markdown(validate(load_registry()))


def test_the_validation_is_the_same_every_time() -> None:
    registry = load_registry()
    assert validate(registry, families=("dma", "instruction")) == validate(
        load_registry(), families=("dma", "instruction")
    )


def test_a_table_goes_between_its_markers() -> None:
    text = f"a\n{BEGIN}\nold\n{END}\nb\n"
    assert inserted(text, "new\n") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb\n"
    assert inserted(inserted(text, "new\n"), "new\n") == inserted(text, "new\n")
    assert inserted("a\n(\n)\nb\n", "t\n", "(", ")") == "a\n(\n\nt\n\n)\nb\n"
    for wrong in ("no markers", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"{text}{text}"):
        with pytest.raises(BadInput, match="the text does not have the two lines"):
            inserted(wrong, "new\n")


def test_readme_shows_the_tables_as_they_are(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    if BEGIN not in text:
        pytest.skip("README shows no fidelity tables")
    assert inserted(text, markdown(validate(load_registry()))) == text, "run: trnbench validate --format md"
