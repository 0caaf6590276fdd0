"""`trnbench spec`: figures with their evidence and source, disagreements, comparisons."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from at_terminal import shown
from click.testing import Result
from command import refusal, typed
from fact_rows import group
from synthetic_systems import SYSTEMS

INSTANCES = tuple(system.name for system in SYSTEMS)
KNOWN = {f"C{number:02}" for number in range(1, 38)}
OWN = """schema = 1
[sources.mine]
document = "My own tables"
date = "2030-01-01"
"""


def spec(*args: str) -> Result:
    return typed("-q", "spec", *args)


def rows(*args: str) -> Any:
    result = spec(*args, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def own_facts(folder: Path, body: str, head: str = OWN) -> str:
    path = folder / "my.toml"
    path.write_text(head + body)
    return str(path)


def bandwidth(printed: str, unit: str = "TB/s") -> str:
    row = f'metric = "hbm_bandwidth", printed = "{printed}", unit = "{unit}"'
    return group(row, subject="trn2-16.48xlarge", source="mine")


def test_show_gives_every_figure_as_printed_and_normalised_with_its_place() -> None:
    facts = rows("show", "trn2-16.48xlarge")["facts"]
    one = next(row for row in facts if row["metric"] == "hbm_bandwidth")
    told = {
        "printed": "46.4 TB/sec",
        "normalised": "46.4 TB/s",
        "value": 46.4e12,
        "unit": "B/s",
        "scope": "instance",
        "evidence": "documented",
        "source": "seed-trn2",
    }
    assert {key: one[key] for key in told} == told
    assert one["locator"] == "specification table, column trn2-16.48xlarge, row Device Memory Bandwidth"
    low = next(row for row in facts if row["metric"] == "peak_flops[fp16, bf16, tf32]")
    assert (low["printed"], low["superseded_by"]) == ("10 PFLOPS", "trn2-arch")


@pytest.mark.parts
@pytest.mark.parametrize("name", [*INSTANCES, "trainium1", "trainium3", "neuroncore-v2", "neuroncore-v4"])
def test_no_number_is_shown_without_evidence_and_source(name: str) -> None:
    shown = rows("show", name)
    assert shown["facts"]
    sources = {row["source"] for row in shown["sources"]}
    for row in [*shown["facts"], *shown["peaks"]]:
        assert row["evidence"], row
        assert row["source"] in sources, row
    assert all(row["locator"] for row in shown["facts"])
    assert all(row["reason"] for row in shown["assumptions"])


def test_show_chooses_peaks_by_policy_and_keeps_the_alternatives() -> None:
    def peak(*args: str) -> dict[str, Any]:
        listed = rows("show", "trn2-16.48xlarge", *args)["peaks"]
        return next(row for row in listed if row["metric"] == "peak_flops[bf16]")

    assert [peak("--peak", policy)["peak"] for policy in ("seed", "device", "engine", "latest")] == [
        "10 PFLOPS",
        "10.67 PFLOPS",
        "10.07 PFLOPS",
        "10.7 PFLOPS",
    ]
    default = peak()
    assert (default["peak"], default["engine_bound"]) == ("10 PFLOPS", "10.07 PFLOPS")
    assert "10.7 PFLOPS (documented, trn2-arch)" in default["alternatives"]
    assert peak("--scope", "core")["formula"] == "10 PFLOPS / 16 devices / 8 cores"


@pytest.mark.parts
def test_show_is_a_table_for_people() -> None:
    result = spec("show", "trn1.2xlarge")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "trn1.2xlarge (Trn1 2xlarge (1 device)): documented"
    for title in ("Assumed, where no document has a figure", "Peaks per instance by policy seed", "Sources"):
        assert title in lines
    assert any("AWS Trn1 Architecture" in line and "seed-trn1" in line for line in lines)


@pytest.mark.parts
def test_show_as_csv_and_markdown() -> None:
    table = list(csv.DictReader(io.StringIO(spec("show", "trn1.2xlarge", "--format", "csv").stdout)))
    assert {row["table"] for row in table} == {"fact", "assumption", "peak"}
    assert all(row["evidence"] for row in table)
    fact = next(row for row in table if row["metric"] == "hbm_bandwidth")
    assert (fact["printed"], float(fact["value"]), fact["unit"]) == ("820 GiB/sec", 820 * 2.0**30, "B/s")
    text = spec("show", "trn1.2xlarge", "--format", "md").stdout
    assert "| hbm_bandwidth | 820 GiB/sec | 880.5 GB/s | instance |" in text


@pytest.mark.parts
def test_show_knows_aliases_and_sizes() -> None:
    assert rows("show", "trn2.48xlarge")["name"] == "trn2-16.48xlarge"
    peaks = rows("show", "trn1-ultracluster:4")["peaks"]
    assert next(row for row in peaks if row["metric"] == "peak_flops[bf16]")["value"] == 4 * 3.36e15


@pytest.mark.parts
def test_list_has_every_system_with_sourced_figures() -> None:
    listed = {row["instance"]: row for row in rows("list")}
    assert set(INSTANCES) <= set(listed)
    one = listed["u-trn2x64"]
    assert (one["generation"], one["scope"], one["devices"], one["cores"]) == ("trn2", "ultraserver", 64, 512)
    assert one["bf16"] == "40 PFLOPS [D seed-trn2]"
    assert one["figures"]["bf16"]["evidence"] == "documented"
    assert "trn2-ultraserver" in one["aliases"]
    assert listed["trn1-ultracluster"]["bf16"] == "6.3 EFLOPS [F seed-trn1]"
    assert listed["trn1.2xlarge"]["neuronlink"] is None
    assert {row["instance"]: row for row in rows("list", "--peak", "latest")}["u-trn2x64"]["bf16"] == (
        "42.8 PFLOPS [D trn2-arch]"
    )


@pytest.mark.parts
def test_check_lists_every_known_contradiction_and_ends_well() -> None:
    result = spec("check", "--format", "json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    named = {each for row in found for each in row["disputes"].split()}
    assert named >= KNOWN
    assert {row["generation"] for row in found} == {"trn1", "trn2", "trn3"}
    assert any(row["rule"] == "no rule can find this" for row in found)
    assert "disagreements found by rule, 0 of them in no list of disputes" in result.stderr


def test_check_shows_both_sources() -> None:
    [row] = [row for row in rows("check", "trn2", "--rule", "hosts-sum") if row["metric"] == "efa_bandwidth"]
    assert "3,200 Gbps (seed-trn2: " in row["claims"]
    assert "4 instances × 3,200 Gbps (trn2-arch: " in row["claims"]
    assert (row["ratio"], row["disputes"]) == (4.0, "C15")
    assert {claim["source"] for claim in row["details"]} == {"seed-trn2", "trn2-arch"}


@pytest.mark.parametrize(("columns", "widest"), [(250, 100), (60, 60), (3, 40)])
def test_check_fits_the_terminal(columns: int, widest: int) -> None:
    lines = shown("spec", "check", columns=columns).lines
    assert max(map(len, lines)) <= widest
    text = " ".join(" ".join(lines).split())
    for row in rows("check"):
        words = [row["subject"], *(side.strip() for side in row["claims"].split(" | ")), row["note"]]
        for each in words:
            assert widest == 40 or " ".join(each.split()) in text, each


def test_check_prints_a_block_for_each_disagreement() -> None:
    printed = spec("check", "trn2", "--rule", "hosts-sum").stdout
    (found,) = [each for each in printed.split("\n\n") if " · efa_bandwidth · " in each]
    assert found.rstrip("\n").splitlines() == [
        "trn2 · hosts-sum · u-trn2x64 · efa_bandwidth · 4.000 times · C15",
        "    3,200 Gbps (seed-trn2: specification table, column u-trn2x64 UltraServer, row EFA bandwidth)",
        "    4 instances × 3,200 Gbps (seed-trn2: specification table, column trn2-16.48xlarge, row EFA",
        "      bandwidth)",
        "    4 instances × 3,200 Gbps (trn2-arch: specification table, column trn2.48xlarge /"
        " trn2u.48xlarge)",
        "    3,200 Gbps (trn2-arch: specification table, column Trn2 UltraServer)",
    ]


def test_strict_passes_on_what_is_known() -> None:
    assert spec("check", "--strict").exit_code == 0


def test_a_wrong_fact_of_ones_own_is_found_and_strict_fails(tmp_path: Path) -> None:
    mine = own_facts(tmp_path, bandwidth("58.4"))
    result = spec("check", "trn2", "--facts", mine, "--format", "json")
    assert result.exit_code == 0
    news = [row for row in json.loads(result.stdout) if not row["disputes"]]
    assert {row["rule"] for row in news} == {"value", "devices-sum"}
    assert all("58.4 TB/s (mine: specification table)" in row["claims"] for row in news)
    result = spec("check", "--strict", "--facts", mine)
    assert result.exit_code == 1
    assert result.stderr.endswith(
        "error: --strict: name them in [[disputes]] of the fact files, or correct the facts\n"
    )


def test_strict_sees_a_new_figure_in_a_known_disagreement(tmp_path: Path) -> None:
    body = bandwidth("11.7", "PFLOPS").replace("hbm_bandwidth", 'peak_flops", dtypes = ["bf16"], note = "')
    result = spec("check", "trn2", "--strict", "--facts", own_facts(tmp_path, body), "--format", "json")
    assert result.exit_code == 1
    row = next(row for row in json.loads(result.stdout) if "11.7 PFLOPS" in row["claims"])
    assert (row["disputes"], row["note"]) == ("C13", "not in the dispute: 11.7 PFLOPS (mine)")


def test_ones_own_facts_stand_beside_the_documents(tmp_path: Path) -> None:
    mine = own_facts(tmp_path, bandwidth("48.4"))

    def peak(*args: str) -> dict[str, Any]:
        listed = rows("show", "trn2-16.48xlarge", "--facts", mine, *args)["peaks"]
        return next(row for row in listed if row["metric"] == "hbm_bandwidth")

    assert (peak()["peak"], peak()["source"]) == ("46.4 TB/s", "seed-trn2")
    assert "48.4 TB/s (documented, mine)" in peak()["alternatives"]
    assert (peak("--peak", "latest")["peak"], peak("--peak", "latest")["source"]) == ("48.4 TB/s", "mine")


def test_ones_own_facts_can_override(tmp_path: Path) -> None:
    head = OWN.replace("schema = 1", "schema = 1\noverride = true") + "seed = true\n"
    mine = own_facts(tmp_path, bandwidth("48.4"), head)
    peaks = rows("show", "trn2-16.48xlarge", "--facts", mine)["peaks"]
    assert next(row for row in peaks if row["metric"] == "hbm_bandwidth")["peak"] == "48.4 TB/s"


def test_a_broken_fact_file_is_named(tmp_path: Path) -> None:
    mine = own_facts(tmp_path, bandwidth("48.4", "TB"))
    assert refusal(spec("list", "--facts", mine)) == (
        f"error: {mine}: [[group]] 1, fact 1: hbm_bandwidth cannot be in TB\n"
        "  cause: hbm_bandwidth (device memory bandwidth) is a data rate, not an amount of data\n"
        "  try:   a unit that leads to B/s, or another metric\n"
    )


@pytest.mark.parts
def test_diff_compares_like_with_like() -> None:
    compared = {row["metric"]: row for row in rows("diff", "trn1.32xlarge", "trn2-16.48xlarge")}
    assert compared["peak_flops[bf16]"]["ratio"] == pytest.approx(10 / 3.36)
    assert compared["peak_flops[bf16]"]["a_from"] == "documented, seed-trn1"
    assert compared["hbm_capacity"]["ratio"] == 3.0
    assert compared["peak_flops[int8]"]["b"] is None
    assert compared["peak_flops[int8]"]["ratio"] is None
    device = {row["metric"]: row for row in rows("diff", "trn1.32xlarge", "u-trn2x64", "--scope", "device")}
    assert device["hbm_bandwidth"]["ratio"] == pytest.approx(2.9e12 / (820 * 2**30))


def test_diff_gives_no_ratio_of_unlike_scopes() -> None:
    result = spec("diff", "trn2-16.48xlarge", "u-trn2x64", "--format", "json")
    compared = {row["metric"]: row for row in json.loads(result.stdout)}
    assert compared["peak_flops[bf16]"]["ratio"] is None
    assert result.stderr == (
        "note: no ratio of unlike scopes: trn2-16.48xlarge is one instance, u-trn2x64 one ultraserver; "
        "--scope device compares like with like\n"
    )
