"""`trnbench info`: all there is to know about a kernel or an instance."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from trnbench.cli.main import cli
from trnbench.registry import load_registry

pytestmark = pytest.mark.parts


def invoke(*args: str) -> Result:
    return CliRunner().invoke(cli, ["-q", "info", *args])


def info(*args: str) -> dict:
    result = invoke(*args, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_kernel_shows_axes_formulas_and_implementations():
    found = info("gemm")
    assert found["title"] == "gemm: Square matrix product"
    words = {row["what"]: row["is"] for row in found["kernel"]}
    assert words["implementation, nki"] == "trnbench_kernels.nki.gemm_best:gemm_best"
    assert words["scopes"] == "core, logical-core (when asked for), device, instance"
    assert words["held against"] == "peak_flops"
    assert [axis["axis"] for axis in found["axes"]] == ["dtype", "size"]
    core = next(row for row in found["work"] if row["scope"] == "core")
    assert core["formula"].startswith("flops = 2·M·N·K; hbm_bytes = ")


def test_a_kernel_shows_the_peaks_it_is_held_against_with_their_source():
    peaks = info("gemm")["peaks"]
    one = next(
        row
        for row in peaks
        if (row["instance"], row["scope"], row["dtype"]) == ("trn1.32xlarge", "instance", "bf16")
    )
    assert one["value"] == 3360e12
    assert one["peak"] == "3.36 PFLOPS"
    assert one["source"].startswith("AWS Trn1 Architecture")


def test_the_policy_of_peaks_can_be_chosen():
    def value(*args: str) -> float:
        rows = info("gemm", *args)["peaks"]
        return next(
            r["value"]
            for r in rows
            if (r["instance"], r["scope"], r["dtype"]) == ("trn1.32xlarge", "instance", "bf16")
        )

    assert value("--peak", "device") == 16 * 190e12
    result = invoke("gemm", "--peak", "sed")
    assert (result.exit_code, result.stderr.strip()) == (
        2,
        "error: unknown peak policy 'sed'\n  cause: did you mean seed?\n  try:   --peak seed",
    )


def test_a_skipped_kernel_still_shows_its_peaks():
    found = info("gemm_sparse")
    assert any(row["instance"] == "trn2-16.48xlarge" and row["value"] == 40e15 for row in found["peaks"])
    words = {row["what"]: row["is"] for row in found["kernel"]}
    assert words["held against"] == "peak_flops (sparse)"
    assert words["scopes"] == "core, logical-core (when asked for), device (when asked for), instance"


def test_what_would_be_skipped_is_counted_with_the_reason():
    rows = info("all_reduce")["skipped"]
    assert {
        "instance": "trn1.2xlarge",
        "cases": 7,
        "of": 7,
        "reason": "needs 2 devices, trn1.2xlarge has 1",
    } in rows
    words = {row["what"]: row["is"] for row in info("all_reduce")["kernel"]}
    assert words["held against"] == "neuronlink_bandwidth (one-way, of one device)"
    assert words["held against, cluster"] == "efa_bandwidth (one-way, of one instance)"
    nothing = {row["what"]: row["is"] for row in info("point_to_point")["kernel"]}
    assert nothing["held against"] == "nothing: no document gives such a figure"


def test_an_instance_shows_what_it_is_made_of_and_its_figures():
    found = info("trn2.48xlarge")
    words = {row["what"]: row["is"] for row in found["instance"]}
    assert words["name"] == "trn2-16.48xlarge"
    assert words["devices"] == "16 × trainium2"
    assert words["cores"] == "128 × neuroncore-v3"
    memory = [
        row
        for row in found["figures"]
        if row["subject"] == "trn2-16.48xlarge" and row["figure"] == "hbm_capacity"
    ]
    assert memory[0]["printed"] == "1,536 GiB"
    assert memory[0]["source"]
    assert memory[0]["locator"]
    assert any(row["superseded_by"] for row in found["figures"])


def test_an_instance_may_have_a_size():
    found = info("trn1-ultracluster:64")
    words = {row["what"]: row["is"] for row in found["instance"]}
    assert words["name"] == "trn1-ultracluster:64"
    assert words["made of"] == "64 × trn1.32xlarge"
    assert words["devices"] == "1,024 × trainium1"


def test_tables_have_titles_and_markdown_a_heading():
    text = invoke("softmax").stdout
    assert text.startswith("softmax: Softmax over rows\n\nKernel\nwhat ")
    for title in ("\nAxes\n", "\nWork\n", "\nPeaks\n"):
        assert title in text
    assert invoke("softmax", "--format", "md").stdout.startswith(
        "# softmax: Softmax over rows\n\n**Kernel**\n"
    )
    assert invoke("softmax", "--format", "csv").stdout.startswith(
        "section,row,key,value\nkernel,0,what,name\n"
    )


@pytest.mark.parametrize("name", sorted(load_registry().kernels))
def test_every_kernel_can_be_shown(name):
    assert invoke(name).exit_code == 0


def test_an_unknown_name():
    result = invoke("gem")
    assert result.exit_code == 2
    assert result.stderr.strip() == (
        "error: unknown kernel or instance 'gem'\n"
        "  cause: did you mean gemm, gemm_int8?\n"
        "  try:   trnbench list kernels, trnbench list instances"
    )
