"""`trnbench topology`: what people and scripts see, and what a wrong call says."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from click.testing import Result
from command import typed
from fact_rows import group

from trnbench.topology.graph import from_json

pytestmark = pytest.mark.parts


def invoke(*args: str) -> Result:
    return typed("topology", *args)


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def test_show_tells_the_whole_graph() -> None:
    shown = lines(invoke("show", "trn1.32xlarge"))
    assert shown[0] == "trn1.32xlarge: torus 4 × 4"
    rows = [line.split("  ") for line in shown]
    flat = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["diameter", "4 links", "closed form of the torus: ⌊k/2⌋ and ⌊k²/4⌋/k along each side k"] in flat
    assert ["d0", "d12, d3, d4, d1", "numa0", "efa0"] in flat
    assert ["d10", "1111"] in flat
    assert ["Hamiltonian cycles", "2", "sharing no cable"] in flat
    assert [
        "neuronlink",
        "32",
        "bandwidth",
        "103 GB/s",
        "384 GiB/sec / 4 neighbours",
        "trn1.32xlarge/neuronlink_bandwidth@trn1-arch",
    ] in flat
    assert any("assumed: neuronlink-hop-latency, 1 µs to 2 µs" in line for line in shown)


@pytest.mark.parametrize("name", ["trn3-gen1-ultraserver", "trn3-gen2-ultraserver"])
def test_show_sets_the_three_figures_of_trn3_side_by_side(name: str) -> None:
    shown = "\n".join(lines(invoke("show", name)))
    for reading in (
        "documented: levels, the same   704 GB/s   256 GB/s + 320 GB/s + 128 GB/s",
        "documented: table, 3.12 ×      2.2 TB/s   2,048 GiB/sec/device",
        "documented: chip-page, 3.64 ×  2.56 TB/s  2.56 TB/sec",
    ):
        assert reading in shown
    assert "Only these say" in shown


def test_show_as_json_holds_numbers_and_tables() -> None:
    shown = json.loads(invoke("show", "u-trn2x64", "--format", "json").stdout)
    assert (shown["kind"], shown["shape"], shown["degree"], shown["diameter"]) == (
        "torus",
        ["torus", 4, 4, 4],
        6,
        6,
    )
    assert shown["bisection_one_way_bytes_per_s"] == 32 * 128e9
    assert len(shown["tables"]["neighbours"]) == 64


def test_show_as_csv_and_markdown() -> None:
    rows = list(csv.DictReader(io.StringIO(invoke("show", "inf2.48xlarge", "--format", "csv").stdout)))
    assert {"property": "shape", "value": "ring of 12", "how": ""} in rows
    shown = invoke("show", "inf2.48xlarge", "--format", "md").stdout
    assert shown.startswith("# inf2.48xlarge: ring of 12\n")
    assert "| d0 | d11, d1 | host |  |" in shown
    assert "\n**Notes**\n\n- NeuronLink figures" in shown
    assert "\nNotes\n- NeuronLink figures" in invoke("show", "inf2.48xlarge").stdout


def test_aliases_and_sizes_are_names_too() -> None:
    assert lines(invoke("show", "trn2.48xlarge"))[0] == "trn2-16.48xlarge: torus 4 × 4"
    assert lines(invoke("show", "trn1-ultracluster:2"))[0] == (
        "trn1-ultracluster:2: torus 4 × 4, 2 of them on one network"
    )


def test_all_devices_are_shown_when_asked_for() -> None:
    assert "… 80 more devices: --all shows them" in invoke("show", "trn3-gen2-ultraserver").stdout
    assert "\ns35.d3 " in invoke("show", "trn3-gen2-ultraserver", "--all").stdout


def test_readings_change_the_figures() -> None:
    shown = json.loads(
        invoke(
            "show", "trn3-gen2-ultraserver", "--reading", "trn3-links=table",
            "--reading", "neuronlink=both-ways", "--format", "json",
        ).stdout
    )  # fmt: skip
    assert shown["budgets"][0]["figure"]["value"] == 1024 * 2**30
    assert "2,048 GiB/s of the instance table" in shown["notes"][0]


def test_every_installed_system_passes_its_checks() -> None:
    result = invoke("check")
    assert result.exit_code == 0, result.stdout
    assert "trn1-ultracluster" in result.stdout
    assert "u-trn2x64" in result.stdout
    assert "failed" not in result.stdout


def test_check_prints_what_it_looked_at() -> None:
    rows = json.loads(invoke("check", "trn1.32xlarge", "--format", "json").stdout)
    found = {row["check"]: row for row in rows}
    assert found["“4D-HyperCube”"]["verdict"] == "ok"
    assert found["neighbour table of rt-tips"]["detail"] == "16 rows equal, the order of neighbours included"
    assert {row["instance"] for row in rows} == {"trn1.32xlarge"}
    assert json.loads(invoke("check", "trn1.32xlarge", "--failures", "--format", "json").stdout) == []


def test_check_counts_cores_when_they_are_opened() -> None:
    rows = json.loads(invoke("check", "trn1.32xlarge", "--open-cores", "--format", "json").stdout)
    assert {row["check"]: row["detail"] for row in rows}["number of cores"].startswith("32 in the graph")


def test_every_system_can_be_opened_into_its_cores() -> None:
    rows = json.loads(invoke("check", "--open-cores", "--failures", "--format", "json").stdout)
    assert [row for row in rows if row["verdict"] == "failed"] == []


def test_a_failed_check_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = tmp_path / "wrong.toml"
    name = group('metric = "topology_name", printed = "3D hypercube"', subject="trn1.2xlarge", source="mine")
    facts.write_text(f'schema = 1\n[sources.mine]\ndocument = "my notes"\n{name}')
    result = invoke("check", "trn1.2xlarge", "--facts", str(facts), "--failures")
    assert result.exit_code == 1
    assert "no such map exists (trn1.2xlarge/topology_name@mine)" in result.stdout
    monkeypatch.setenv("TRNBENCH_FACTS", str(facts))
    assert invoke("check", "trn1.2xlarge", "--failures").stdout == result.stdout


def test_exported_json_is_read_again(tmp_path: Path) -> None:
    target = tmp_path / "graph.json"
    lines(invoke("export", "trn1.32xlarge", "-o", str(target)))
    assert from_json(target.read_bytes()).name == "trn1.32xlarge"
    assert from_json(invoke("export", "trn1.32xlarge", "--as", "json").stdout.encode()).shape == (
        "torus",
        4,
        4,
    )


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        (".svg", "<svg "),
        (".dot", "digraph "),
        (".gv", "digraph "),
        (".txt", "trn1.32xlarge: "),
        (".json", "{"),
    ],
)
def test_the_suffix_chooses_the_format(tmp_path: Path, suffix: str, start: str) -> None:
    target = tmp_path / f"graph{suffix}"
    result = invoke("export", "trn1.32xlarge", "-o", str(target))
    assert (result.exit_code, result.stdout) == (0, "")
    assert target.read_text().startswith(start)


def test_what_is_asked_for_goes_before_the_suffix(tmp_path: Path) -> None:
    target = tmp_path / "graph.txt"
    lines(invoke("export", "trn1.32xlarge", "--as", "dot", "-o", str(target)))
    assert target.read_text().startswith("digraph ")


def test_an_option_of_one_builder_is_left_out_for_the_others() -> None:
    left_out = [word for name in ("trn1", "cuda") for word in ("--no-plugin", name)]
    words = ["topology", "check", "--reading", "trn3-links=table", "--failures"]
    result = typed(*left_out, *words)
    assert result.exit_code == 0, result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = invoke("export", "trn1.32xlarge", "-o", str(tmp_path / "x.svg"))
    tmp_path.chmod(0o700)
    assert result.exit_code == 2
    assert "permission denied" in result.stderr


def test_a_file_in_use_is_kept_unless_forced(tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("mine")
    result = invoke("export", "trn1.32xlarge", "-o", str(target))
    assert result.exit_code == 2
    assert target.read_text() == "mine"
    lines(invoke("export", "trn1.32xlarge", "-o", str(target), "--force"))
    assert target.read_text().startswith("trn1.32xlarge: ")
