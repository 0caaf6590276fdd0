"""`trnbench list`."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner, Result

from trnbench.cli.main import cli

pytestmark = pytest.mark.parts


def invoke(*args: str) -> Result:
    return CliRunner().invoke(cli, ["-q", *args])


def rows(*args: str) -> list[dict]:
    result = invoke("list", *args, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_kernels_are_listed_unless_something_else_is_asked_for():
    assert invoke("list").stdout == invoke("list", "kernels").stdout
    found = {row["kernel"]: row for row in rows()}
    assert found["gemm"]["family"] == "gemm"
    assert found["gemm"]["axes"] == ["dtype", "size"]
    assert found["all_reduce"]["scopes"] == ["instance"]
    assert found["all_reduce"]["metric"] == "busbw_bytes_per_s"


def test_instances_are_listed_with_what_they_are_made_of():
    found = {row["instance"]: row for row in rows("instances")}
    assert found["trn1.32xlarge"]["devices"] == 16
    assert found["trn1.32xlarge"]["cores"] == 32
    assert found["u-trn2x64"]["hosts"] == 4
    assert found["trn3-gen2-ultraserver"]["devices"] == 144
    assert found["trn1n.32xlarge"]["by_default"] is False
    assert [row["instance"] for row in rows("instances", "-i", "trn2.48xlarge")] == ["trn2-16.48xlarge"]
    assert rows("instances", "-i", "trn1-ultracluster:64")[0]["devices"] == 1024


def test_cases_are_those_of_a_run():
    found = rows(
        "cases", "gemm", "-i", "trn1.2xlarge", "--scope", "core", "--dtype", "bf16", "-a", "size=1K,1M"
    )
    assert [(row["id"], row["planned"]) for row in found] == [
        ("trn1.2xlarge::gemm[dtype=bf16,size=1024]@core", "run"),
        ("trn1.2xlarge::gemm[dtype=bf16,size=1048576]@core", "skip"),
    ]
    assert found[1]["reason"] == "needs 6 TiB of the 16 GiB of device memory a core has"
    assert found[0]["point"] == {"dtype": "bf16", "size": 1024}


def test_zip_and_exclude_reach_the_plan():
    zipped = rows(
        "cases",
        "gemm_skinny",
        "-i",
        "trn1.2xlarge",
        "-a",
        "m=1,2",
        "-a",
        "n=3,4",
        "--zip",
        "m,n",
        "--dtype",
        "bf16",
    )
    assert [(row["point"]["m"], row["point"]["n"]) for row in zipped] == [(1, 3), (2, 4)]
    left = rows("cases", "hbm_read", "-i", "trn1.2xlarge", "--exclude", "size>=1M")
    assert [row["point"]["size"] for row in left] == [65536]


def test_the_table_says_in_words_what_is_skipped():
    lines = invoke("list", "cases", "permute", "-i", "trn1.2xlarge", "-a", "size=1K").stdout.splitlines()
    assert lines[0].split() == ["case", "planned", "reason"]
    assert set(lines[1]) == {"-", " "}
    assert lines[2].split(maxsplit=2) == [
        "trn1.2xlarge::permute[dtype=bf16,size=1024]@instance",
        "skip",
        "needs 2 devices, trn1.2xlarge has 1",
    ]


def test_cases_are_counted_on_stderr():
    result = CliRunner().invoke(cli, ["list", "cases", "permute", "-i", "trn1.*", "-a", "size=1K,2K"])
    assert result.stderr.splitlines()[0] == "4 cases, 2 of them would be skipped"
    assert "would be" not in result.stdout


def test_tags_and_families_count_their_kernels():
    tags = {row["tag"]: row for row in rows("tags")}
    assert tags["triad"] == {"tag": "triad", "count": 1, "kernels": ["hbm_triad"]}
    assert list(tags) == sorted(tags)
    families = {row["family"]: row["count"] for row in rows("families")}
    assert families["hbm"] == 4
    assert [row["family"] for row in rows("families", "--tag", "sparse")] == ["gemm"]


@pytest.mark.parametrize("what", ["backends", "formats", "sections"])
def test_what_plugins_bring_is_listed(what):
    assert isinstance(rows(what), list)


def test_options_narrow_the_kernels_down():
    assert {row["kernel"] for row in rows("kernels", "hbm_*", "--tag", "copy")} == {"hbm_copy"}
    assert {row["kernel"] for row in rows("-k", "reduction and not softmax")} == {"layer_norm", "rms_norm"}
    assert "hbm_read" not in {row["kernel"] for row in rows("--dtype", "mxfp4")}
    assert {row["kernel"] for row in rows("--scope", "cluster", "--family", "collective")} >= {"all_reduce"}
    assert "all_reduce" not in {row["kernel"] for row in rows("--scope", "core")}


def test_csv_and_markdown():
    table = list(csv.DictReader(io.StringIO(invoke("list", "tags", "--format", "csv").stdout)))
    assert {row["tag"] for row in table} == {row["tag"] for row in rows("tags")}
    assert invoke("list", "families", "--format", "md").stdout.startswith("| family | kernels | names |\n")
