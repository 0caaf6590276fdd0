"""`trnbench list`, and `trnbench info`: all there is to know about a kernel or an instance."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace
from typing import Any

import pytest
from command import listed, typed

from trnbench import Detection
from trnbench.cli.benchmarks import here
from trnbench.registry import load_registry

pytestmark = pytest.mark.parts


def rows(*words: str) -> Any:
    return listed("-q", "list", *words)


def names(key: str, *words: str) -> set[str]:
    return {row[key] for row in rows(*words)}


def info(*words: str) -> Any:
    return listed("-q", "info", *words)


def told(name: str, about: str = "kernel") -> dict[str, str]:
    return {row["what"]: row["is"] for row in info(name)[about]}


class Answering:
    """A backend that detects this, or breaks."""

    def __init__(self, seen: Detection | None) -> None:
        self.name, self.seen = "b", seen

    def detect(self) -> Detection:
        if self.seen is None:
            raise RuntimeError("no driver")
        return self.seen


ANY, AWAY = Detection(available=True), Detection(available=False, why="no device")


@pytest.mark.parametrize(
    ("seen", "answer"),
    [
        ({}, "Here: no backend answers."),
        ({"a": AWAY, "b": None}, "Here: no backend answers. Not here: a, b (trnbench doctor)."),
        (
            {"a": Detection(available=True, instance="trn2.3xlarge"), "b": AWAY, "c": ANY},
            "Here: c answers for every system; a measures trn2.3xlarge. Not here: b (trnbench doctor).",
        ),
        ({"a": ANY}, "Here: a answers for every system."),
    ],
)
def test_who_answers_here(seen: dict[str, Detection | None], answer: str) -> None:
    registry: Any = SimpleNamespace(backends={name: Answering(each) for name, each in seen.items()})
    assert here(registry) == answer


def test_kernels_are_listed_unless_something_else_is_asked_for():
    answers, _, table = typed("list").stdout.partition("\n\n")
    assert table == typed("list", "kernels").stdout
    assert answers.startswith("Here: ")
    assert "emulated answers for every system; host measures host." in " ".join(answers.split())
    assert typed("list", "--format", "csv").stdout == typed("list", "kernels", "--format", "csv").stdout
    kernels = {row["kernel"]: row for row in rows()}
    assert kernels["gemm"]["family"] == "gemm"
    assert kernels["gemm"]["axes"] == ["dtype", "size"]
    assert kernels["all_reduce"]["scopes"] == ["instance"]
    assert kernels["all_reduce"]["metric"] == "busbw_bytes_per_s"


@pytest.mark.parametrize("where", [("-i", "trn1.2xlarge"), ("--generation", "trn1")])
def test_kernels_are_those_that_have_a_case_on_these_systems(where: tuple[str, str]) -> None:
    asked = ("host_m*", "gemm", *where)
    assert names("kernel", "kernels", *asked) == {"gemm"}
    assert "host" not in names("tag", "tags", *asked)


def test_instances_are_listed_with_what_they_are_made_of():
    instances = {row["instance"]: row for row in rows("instances")}
    assert instances["trn1.32xlarge"]["devices"] == 16
    assert instances["trn1.32xlarge"]["cores"] == 32
    assert instances["u-trn2x64"]["hosts"] == 4
    assert instances["trn3-gen2-ultraserver"]["devices"] == 144
    assert instances["trn1n.32xlarge"]["by_default"] is False
    assert names("instance", "instances", "-i", "trn2.48xlarge") == {"trn2-16.48xlarge"}
    assert rows("instances", "-i", "trn1-ultracluster:64")[0]["devices"] == 1024


def test_cases_are_those_of_a_run():
    words = "cases gemm -i trn1.2xlarge --scope core --dtype bf16 -a size=1K,1M"
    small, large = rows(*words.split())
    assert (small["id"], small["planned"]) == ("trn1.2xlarge::gemm[dtype=bf16,size=1024]@core", "run")
    assert (large["id"], large["planned"]) == ("trn1.2xlarge::gemm[dtype=bf16,size=1048576]@core", "skip")
    assert large["reason"] == "needs 6 TiB of the 16 GiB of device memory a core has"
    assert small["point"] == {"dtype": "bf16", "size": 1024}


def test_zip_and_exclude_reach_the_plan():
    words = "cases gemm_skinny -i trn1.2xlarge -a m=1,2 -a n=3,4 --zip m,n --dtype bf16"
    assert [(row["point"]["m"], row["point"]["n"]) for row in rows(*words.split())] == [(1, 3), (2, 4)]
    left = rows("cases", "hbm_read", "-i", "trn1.2xlarge", "--exclude", "size>=1M")
    assert [row["point"]["size"] for row in left] == [65536]


def test_the_table_says_in_words_what_is_skipped_and_stderr_counts():
    done = typed(
        "list", "cases", "point_to_point", "-i", "trn1.*", "-a", "size=1K,2K", "-a", "reach=neighbour"
    )
    head, rule, first, *_ = done.stdout.splitlines()
    assert head.split() == ["case", "planned", "reason"]
    assert set(rule) == {"-", " "}
    case = "trn1.2xlarge::point_to_point[reach=neighbour,size=1024]@instance"
    assert first.split(maxsplit=2) == [case, "skip", "needs 2 devices, trn1.2xlarge has 1"]
    assert done.stderr.splitlines()[0] == "4 cases, 2 of them would be skipped"
    assert "would be" not in done.stdout


def test_tags_and_families_count_their_kernels():
    tags = {row["tag"]: row for row in rows("tags")}
    assert tags["triad"] == {"tag": "triad", "count": 1, "kernels": ["hbm_triad"]}
    assert list(tags) == sorted(tags)
    assert {row["family"]: row["count"] for row in rows("families")}["hbm"] == 4
    assert names("family", "families", "--tag", "sparse") == {"gemm"}


def test_options_narrow_the_kernels_down():
    assert names("kernel", "kernels", "hbm_*", "--tag", "copy") == {"hbm_copy"}
    assert names("kernel", "-k", "reduction and not softmax") == {"layer_norm", "rms_norm"}
    assert "hbm_read" not in names("kernel", "--dtype", "mxfp4")
    assert names("kernel", "--scope", "cluster", "--family", "collective") >= {"all_reduce"}
    assert "all_reduce" not in names("kernel", "--scope", "core")


def test_csv_and_markdown():
    table = list(csv.DictReader(io.StringIO(typed("list", "tags", "--format", "csv").stdout)))
    assert {row["tag"] for row in table} == names("tag", "tags")
    assert typed("list", "families", "--format", "md").stdout.startswith("| family | kernels | names |\n")


def test_a_kernel_shows_axes_formulas_and_implementations():
    gemm = info("gemm")
    assert gemm["title"] == "gemm: Square matrix product"
    words = told("gemm")
    assert words["implementation, nki"] == "trnbench_kernels.nki.gemm_best:gemm_best"
    assert words["scopes"] == "core, logical-core (when asked for), device, instance"
    assert words["held against"] == "peak_flops"
    assert [axis["axis"] for axis in gemm["axes"]] == ["dtype", "size"]
    core = next(row for row in gemm["work"] if row["scope"] == "core")
    assert core["formula"].startswith("flops = 2·M·N·K; hbm_bytes = ")


def test_a_kernel_shows_the_peaks_it_is_held_against_with_their_source():
    def peak(*words: str) -> Any:
        wanted = ("trn1.32xlarge", "instance", "bf16")
        listing = info("gemm", *words)["peaks"]
        return next(row for row in listing if (row["instance"], row["scope"], row["dtype"]) == wanted)

    assert (peak()["value"], peak()["peak"]) == (3360e12, "3.36 PFLOPS")
    assert peak()["source"].startswith("AWS Trn1 Architecture")
    assert peak("--peak", "device")["value"] == 16 * 190e12


def test_a_skipped_kernel_still_shows_its_peaks():
    peaks = info("gemm_sparse")["peaks"]
    assert any(row["instance"] == "trn2-16.48xlarge" and row["value"] == 40e15 for row in peaks)
    words = told("gemm_sparse")
    assert words["held against"] == "peak_flops (sparse)"
    assert words["scopes"] == "core, logical-core (when asked for), device (when asked for), instance"


def test_what_would_be_skipped_is_counted_with_the_reason():
    why = "needs 2 devices, trn1.2xlarge has 1"
    skipped = next(row for row in info("point_to_point")["skipped"] if row["instance"] == "trn1.2xlarge")
    assert (skipped["cases"], skipped["reason"]) == (skipped["of"], why)
    assert info("all_reduce")["skipped"] == []
    words = told("all_reduce")
    assert words["held against"] == "neuronlink_bandwidth (one-way, of one device)"
    assert words["held against, cluster"] == "efa_bandwidth (one-way, of one instance)"
    assert told("point_to_point")["held against"] == "nothing: no document gives such a figure"


def test_an_instance_shows_what_it_is_made_of_and_its_figures():
    words = told("trn2.48xlarge", "instance")
    assert words["name"] == "trn2-16.48xlarge"
    assert words["devices"] == "16 × trainium2"
    assert words["cores"] == "128 × neuroncore-v3"
    figures = info("trn2.48xlarge")["figures"]
    wanted = ("trn2-16.48xlarge", "hbm_capacity")
    memory = next(row for row in figures if (row["subject"], row["figure"]) == wanted)
    assert memory["printed"] == "1,536 GiB"
    assert memory["source"]
    assert memory["locator"]
    assert any(row["superseded_by"] for row in figures)


def test_an_instance_may_have_a_size():
    words = told("trn1-ultracluster:64", "instance")
    assert words["name"] == "trn1-ultracluster:64"
    assert words["made of"] == "64 × trn1.32xlarge"
    assert words["devices"] == "1,024 × trainium1"


def test_tables_have_titles_and_markdown_a_heading():
    def text(*words: str) -> str:
        return typed("info", "softmax", *words).stdout

    assert text().startswith("softmax: Softmax over rows\n\nKernel\nwhat ")
    assert all(title in text() for title in ("\nAxes\n", "\nWork\n", "\nPeaks\n"))
    assert text("--format", "md").startswith("# softmax: Softmax over rows\n\n**Kernel**\n")
    assert text("--format", "csv").startswith("section,row,key,value\nkernel,0,what,name\n")


@pytest.mark.parametrize("name", sorted(load_registry().kernels))
def test_every_kernel_can_be_shown(name):
    assert typed("info", name).exit_code == 0
