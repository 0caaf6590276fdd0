"""`trnbench fabric`: tables that parsers read, answers that hang together, the installed command."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fabric_command import TRN1, TRN2, invoke, out, parsed, rows

from trnbench.results.measurement import Band, Nearest, Nearness
from trnbench_emulator.commands.fabric.cells import near_cells


class TestOneTable:
    """Of up to 24 rows, without --explain."""

    SIZED = ("run", "all_reduce", "-b", "64M", "-e", "64M")
    BOTH = (*SIZED, "-i", TRN1, "-i", TRN2)

    def test_systems_are_rows_with_time_band_and_verdict(self) -> None:
        head, one, two, sentence = invoke(*self.BOTH).stdout.splitlines()
        assert head.split() == ["system", "ranks", "µs", "expect", "GB/s", "share", "published", "ev"]
        assert [line.split()[:2] for line in (one, two)] == [[TRN1, "32"], [TRN2, "64"]]
        start = "all_reduce, fp32, size 64 MiB, logical-core ranks, by kangaring: the fastest"
        assert sentence.startswith(start)
        assert sentence.endswith(f"the bands of {TRN2} and {TRN1} overlap.")

    def test_ranks_are_logical_cores_unless_told(self) -> None:
        ((one,), (named,), (devices,)) = (
            rows(*self.SIZED, "-i", TRN1, *more)
            for more in ((), ("--ranks", "logical-core"), ("--ranks", "device"))
        )
        assert one == named
        assert (one["ranks"], devices["ranks"]) == (32, 16)

    def test_data_have_the_rows_of_every_system(self) -> None:
        made = json.loads(out(*self.BOTH, "--format", "json"))
        assert [each["instance"] for each in made["systems"]] == [TRN1, TRN2]
        assert made["rows"] == [row for name in (TRN1, TRN2) for row in rows(*self.SIZED, "-i", name)]
        read = csv.DictReader(io.StringIO(out(*self.BOTH, "--format", "csv")))
        assert [(row["instance"], row["ranks"]) for row in read] == [(TRN1, "32"), (TRN2, "64")]

    def test_the_smallest_size_alone_is_the_only_one(self) -> None:
        args = ("run", "all_reduce", "-i", TRN1)
        assert [row["size"] for row in rows(*args, "-b", "1M")] == [2**20]
        assert [row["size"] for row in rows(*args, "-e", "32")] == [8, 16, 32]
        assert rows(*args)[-1]["size"] == 2**30

    def test_more_rows_are_the_table_of_nccl_tests(self) -> None:
        assert invoke("run", "all_reduce", "-i", TRN2).stdout.startswith("# trnbench fabric all_reduce")


class TestTable:
    def test_the_header_is_that_of_nccl_tests(self) -> None:
        lines = out("run", "all_reduce", "-i", TRN2, "-b", "1M", "-e", "4M").splitlines()
        (header,) = [line for line in lines if line.split()[:3] == ["#", "size", "count"]]
        theirs = "size count type redop root time algbw busbw #wrong"
        assert " ".join(header.split()[1:10]) == theirs
        assert header.split()[10:] == ["algorithm", "%peak", "%bound", "bound", "evidence", "near", "expect"]
        assert lines[-3] == "# Out of bounds values : 0 OK"
        assert lines[-2].startswith("# Avg bus bandwidth    : ")
        assert "# trn2-16.48xlarge: 64 ranks, one per logical core" in lines

    def test_a_parser_of_nccl_tests_reads_it(self) -> None:
        data, average = parsed(out("run", "all_reduce", "-i", TRN2, "-b", "8", "-e", "1G", "-f", "8"))
        assert [int(row[0]) for row in data] == [8 * 8**k for k in range(10)]
        for row in data:
            assert row[2:5] == ["float", "sum", "-1"]
            assert int(row[1]) * 4 == int(row[0])
            assert row[8] == "N/A"
            if float(row[7]) > 1:
                # algbw = size / time, busbw = 2·(n−1)/n of it, in true GB/s
                assert float(row[6]) == pytest.approx(int(row[0]) / float(row[5]) / 1e3, rel=0.01)
                assert float(row[7]) == pytest.approx(float(row[6]) * 126 / 64, rel=0.01)
        assert average == pytest.approx(sum(float(row[7]) for row in data) / len(data), rel=0.01)

    def test_units_are_exact_in_json(self) -> None:
        for each in rows("run", "all_gather", "-i", TRN1, "-b", "1M", "-e", "1G", "-f", "32", "-d", "bf16"):
            size, seconds = each["size"], each["time_s"]
            assert each["algbw_gb_s"] == pytest.approx(size / seconds / 1e9)
            assert each["busbw_gb_s"] == pytest.approx(size / seconds / 1e9 * 31 / 32)
            assert each["count"] == size / 2
            assert each["wrong"] is None

    def test_csv_and_markdown(self) -> None:
        args = ("run", "broadcast", "-i", TRN1, "-b", "1M", "-e", "2M")
        read = list(csv.DictReader(io.StringIO(out(*args, "--format", "csv"))))
        assert [row["size"] for row in read] == ["1048576", "2097152"]
        assert {row["root"] for row in read} == {"0"}
        assert out(*args, "--format", "md").startswith("| ")

    def test_names_of_other_tools_are_understood(self) -> None:
        args = ("-i", TRN1, "-b", "1M", "-e", "1M")
        assert (
            out("run", "all_reduce_perf", *args)
            == out("run", "allreduce", *args)
            == out("run", "all-reduce", *args)
        )

    def test_every_row_is_graded(self) -> None:
        text = out("run", "all_to_all", "-i", "u-trn2x64", "-b", "1M", "-e", "4M")
        assert {tuple(row[-3:]) for row in parsed(text)[0]} == {("emulated", "none", "-")}
        why = "# none: no measurement of the links between instances of an UltraServer is published"
        assert why in text.splitlines()

    def test_what_to_expect_stands_beside_the_time(self) -> None:
        args = ("run", "all_reduce", "-i", TRN2, "-b", "64M", "-e", "64M", "--ranks", "logical-core")
        (one,) = rows(*args)
        assert one["nearness"] == "same"
        assert (one["best_published_at"], one["best_published_id"]) == ("", "t2-nccom-allreduce-bf16-128M")
        low, high = one["expected_low_s"], one["expected_high_s"]
        assert 0 < low < high
        ((*_, near, least, to, most),) = parsed(out(*args))[0]
        assert (near, to) == ("same", "to")
        assert float(least) == pytest.approx(low * 1e6, rel=0.01)
        assert float(most) == pytest.approx(high * 1e6, rel=0.01)

    def test_a_misspelt_type_is_refused_with_what_to_type(self) -> None:
        result = invoke("run", "all_reduce", "-i", TRN2, "-b", "1M", "-d", "bf61")
        assert result.exit_code == 2
        assert result.stderr.startswith("error: unknown dtype 'bf61'\n  cause: did you mean bf16")
        assert result.stderr.endswith("  try:   -d bf16\n")

    def test_what_is_published_at_another_size_stands_in_parentheses(self) -> None:
        note = "in parentheses: published at another size or number of ranks"
        for size, at in (("64M", ""), ("1K", "1 GiB, 64 ranks")):
            args = ("run", "all_reduce", "-i", TRN2, "-b", size)
            (one,) = rows(*args)
            assert one["best_published_at"] == at
            told = invoke(*args)
            assert (note in told.stderr) == bool(at)
            (value,) = re.findall(r"  (\(?[0-9.,]+\)?)  E$", told.stdout, re.MULTILINE)
            assert value.startswith("(") == bool(at)

    def test_nothing_is_expected_sooner_than_documented_links_allow(self) -> None:
        band = Band(low=-0.5, high=0.9, votes=9, points=9)
        nearest = Nearest(kind=Nearness.SAME, band=band)
        for least_s, expected in ((0.0, math.exp(-0.9)), (0.9, 0.9), (2.0, 1.0)):
            cells = near_cells(nearest, 1.0, least_s=least_s)
            assert cells["expected_low_s"] == pytest.approx(expected)
            assert cells["expected_high_s"] == pytest.approx(math.exp(0.5))
        assert near_cells(nearest, 1.0, (0.2, 3.0), 0.8)["expected_low_s"] == 0.8

    def test_a_question_that_nobody_published_has_no_interval(self) -> None:
        (one,) = rows("run", "all_reduce", "-i", TRN2, "-b", "64M", "-e", "64M", "--degrade", "d0-d1=0.5")
        assert (one["nearness"], one["expected_low_s"], one["expected_high_s"]) == ("none", None, None)

    def test_two_ranks_are_asked_and_judged_by_the_instances_that_they_lie_on(self) -> None:
        args = ("run", "all_reduce", "-b", "1M", "--group")
        here = rows(*args, "[[0,1]]", "-i", TRN1) + rows(*args, "[[0,1]]", "-i", "trn1-ultracluster:4")
        across = [row for n in (2, 4) for row in rows(*args, "[[0,32]]", "-i", f"trn1-ultracluster:{n}")]
        for pair, best in ((here, "t1-nccom-ar2-1048576"), (across, "t1-efa-ar2-524288")):
            assert pair[0] == {**pair[1], "instance": pair[0]["instance"]}
            assert (pair[0]["algorithm"], pair[0]["best_published_id"]) == ("ring", best)

    def test_the_documented_figure_is_of_the_same_ranks_as_busbw(self) -> None:
        args = ("run", "all_reduce", "-i", TRN2, "-b", "1G", "-e", "1G")
        (one,) = rows(*args, "--ranks", "device")
        assert one["peak_share"] == pytest.approx(one["busbw_gb_s"] / 1024)
        (core,) = rows(*args)
        # 2·63/64 over 2·15/16: 64 ranks on the links of 16 devices.
        assert core["peak_share"] == pytest.approx(core["busbw_gb_s"] / (1024 * 21 / 20))
        said = out(*args)
        assert "# peak: derived 1.08 TB/s, busbw of 64 ranks over the links of a device, one way" in said
        assert "the figure × 21/20" in said

    def test_no_peak_where_nothing_need_cross_a_link(self) -> None:
        (ring,) = rows("run", "permute", "-i", TRN2, "-b", "1M", "-e", "1M", "--ranks", "core")
        assert ring["peak_share"] == pytest.approx(ring["busbw_gb_s"] / 1024)
        args = ("run", "permute", "-i", "trn1.2xlarge", "-b", "1M", "-e", "1M", "--ranks", "core")
        assert rows(*args)[0]["peak_share"] is None
        assert "# peak: none, these ranks need no link between devices" in out(*args)
        far = ("run", "all_reduce", "-i", "trn1-ultracluster:2", "-b", "1M", "-e", "1M")
        assert "# peak: none, a network lies between" in out(*far)

    def test_context_is_printed_and_changes_start_and_residue(self) -> None:
        args = ("run", "all_reduce", "-i", TRN1, "-b", "8K", "-e", "8K", "--algorithm", "mesh")
        (alone,), (graph,) = rows(*args), rows(*args, "--context", "graph")
        start, residue = graph["start_s"], graph["residue_s"]
        assert start == pytest.approx(0.37 * alone["start_s"])
        moving = alone["time_s"] - alone["start_s"]
        assert graph["time_s"] == pytest.approx(start + moving + residue)
        assert (alone["residue_s"], alone["range_low_s"]) == (0.0, None)
        assert graph["range_low_s"] < graph["time_s"]
        assert "# context: nccom, alone, as nccom-test measures it" in out(*args)
        said = out(*args, "--context", "graph")
        assert "# context: graph, inside a compiled graph" in said
        assert "# start: 37% of a collective's start alone, 14% to 47%" in said
        assert "and no mechanism explains it" in said

    def test_what_an_inequality_alone_bounds_has_no_least(self) -> None:
        args = ("run", "all_reduce", "-i", TRN1, "--ranks", "core", "-b", "4K", "-e", "128K", "-f", "32")
        small, large = rows(*args, "--context", "graph")
        assert small["expected_low_s"] is None
        assert small["expected_high_s"] == pytest.approx(91.6e-6)  # of 8 KiB: less takes no longer
        assert large["expected_high_s"] is None
        said = out(*args, "--context", "graph")
        assert "up to 91.60" in said
        assert "(t1-decode-llama3-8b-b1-ar32)" in said
        assert all(row["expected_low_s"] is not None for row in rows(*args))

    def test_by_what_right_auto_takes_an_algorithm_is_said(self) -> None:
        ring = ("run", "all_gather", "-i", TRN1, "-b", "64K", "-e", "64K")
        why = "ring (published times that grow by the steps of a ring; observed: t1-nccom-ag32-*)"
        assert f"# auto: {why}" in out(*ring)
        none = out(*ring, "--ranks", "device")
        assert "# auto: no rule observed: best of ring, bucket, mesh, rdh" in none
        graph = out(*ring, "--context", "graph")
        assert "# auto: no rule observed: best of ring, bucket, mesh, rdh, kangaring" in graph

    def test_nothing_beats_its_bound(self) -> None:
        for name in ("all_reduce", "all_to_all", "broadcast"):
            for instance in (TRN2, "trn1-ultracluster:4"):
                for each in rows("run", name, "-i", instance, "-b", "64", "-e", "1G", "-f", "256"):
                    assert 0 < each["bound_share"] <= 1 + 1e-9, (name, instance, each)


class TestOptions:
    ONE = ("run", "all_to_all", "-b", "1G", "-e", "1G")

    def time(self, *args: str) -> float:
        (one,) = rows(*self.ONE, *args)
        return one["time_s"]

    def test_a_reading_that_halves_links_doubles_time(self) -> None:
        assert self.time("-i", TRN1, "--reading", "neuronlink=both-ways") == pytest.approx(
            2 * self.time("-i", TRN1), rel=0.02
        )

    def test_a_slow_link_slows_what_crosses_it(self) -> None:
        whole = self.time("-i", TRN1)
        slow = self.time("-i", TRN1, "--degrade", "d0-d1=0.5")
        dead = self.time("-i", TRN1, "--degrade", "d0>d1=0")
        assert 1.2 * whole < slow <= 2 * whole  # routes that split avoid a part of it
        assert dead > whole

    def test_a_slow_link_of_a_cluster_slows_it_whatever_its_size(self) -> None:
        for size in (2, 64, 1875):
            system = f"trn1-ultracluster:{size}"
            args = ("run", "all_gather", "-b", "64M", "-e", "64M", "-i", system)
            (whole,) = rows(*args)
            (slow,) = rows(*args, "--degrade", "s1.d0-s1.d1=0.05")
            assert slow["time_s"] > 1.05 * whole["time_s"]

    def test_another_collective_at_the_same_time(self) -> None:
        args = ("run", "all_reduce", "-i", TRN1, "-b", "64M", "-e", "64M", "--ranks", "device")
        alone, beside = (
            rows(*args, *more)[0]["time_s"] for more in ((), ("--with", "all_to_all=64M@expert=4"))
        )
        assert beside > 1.1 * alone
        said = out(*args, "--with", "all-to-all=64M@expert=4").splitlines()
        assert "# beside all_to_all of 67,108,864 B by direct, 4 groups at once" in said

    def test_a_straggler_is_slow_or_late(self) -> None:
        args = ("run", "all_reduce", "-i", TRN2, "-b", "64M", "-e", "64M")
        whole, slow, late = (
            rows(*args, *more)[0]["time_s"] for more in ((), ("--degrade", "3=0.1"), ("--degrade", "3=2ms"))
        )
        assert slow > 1.2 * whole
        assert 2e-3 < late < 2e-3 + 1.2 * whole
        said = out(*args, "--degrade", "3=0.1", "--degrade", "5=50us", "--exact")
        assert (
            "# options: rank 3 at 0.1 of its memory bandwidth; rank 5 50 µs late; flow by flow"
            in said.splitlines()
        )

    def test_oversubscription_slows_the_cluster_network(self) -> None:
        cluster = ("-i", "trn1-ultracluster:4")
        assert self.time(*cluster, "--oversubscription", "2") == pytest.approx(
            2 * self.time(*cluster), rel=0.05
        )

    def test_oversubscription_changes_nothing_of_an_instance_alone(self) -> None:
        args = ("run", "all_reduce", "-i", TRN1, "-b", "64M")
        (alone,) = rows(*args)
        assert alone["expected_high_s"]
        assert rows(*args, "--oversubscription", "2") == [alone]

    def test_groups_at_once_share_links(self) -> None:
        def seconds(*groups: str) -> float:
            (one,) = rows("run", "all_reduce", "-i", TRN1, "-b", "64M", "-e", "64M", *groups)
            return one["time_s"]

        alone, tensor = seconds("--group", "[[0,1,2,3]]"), seconds("--group", "tensor=4")
        rings = json.dumps([list(range(k, k + 4)) for k in range(0, 16, 4)])
        # Each row of the torus has its own links, and tensor groups are these rows.
        assert tensor == seconds("--group", rings) == pytest.approx(alone)
        # Opposite places of one ring of the torus.
        crossing = seconds("--group", "[[0,2],[1,3]]")
        assert crossing > 1.3 * seconds("--group", "[[0,2]]")

    def test_data_groups_lie_across_tensor_groups(self) -> None:
        sizes = ("-b", "1M", "-e", "1M", "--ranks", "device", "--group", "data=4", "--group", "tensor=4")
        made = json.loads(out("run", "all_reduce", "-i", TRN1, *sizes, "--format", "json"))
        assert (made["groups"], made["ranks"]) == (4, 4)


def command() -> str:
    beside = Path(sys.executable).with_name("trnbench")
    found = str(beside) if beside.exists() else shutil.which("trnbench")
    if not found:
        pytest.skip("trnbench is not installed as a command here")
    return found


def test_the_installed_command_end_to_end(tmp_path: Path) -> None:
    env = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        [command(), "fabric", "run", "all_reduce", "-i", TRN2, "-b", "8", "-e", "1G", "-f", "2"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=env,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert len(parsed(done.stdout)[0]) == 28
    bad = subprocess.run(
        [command(), "fabric", "links", "all_reduce", "-i", "trn2", "-b", "1M"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=env,
        timeout=120,
    )
    assert bad.returncode == 2
    assert bad.stderr.startswith("error: unknown instance 'trn2'\n")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [command(), "fabric", "probe", "matrix", "-i", "trn1-ultracluster:64", "--all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    loaded = Path(f"/proc/{process.pid}/maps")
    while "_multiarray_umath" not in loaded.read_text():  # the first thing it needs is NumPy
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.endswith("interrupted: this command had saved nothing yet\n")
