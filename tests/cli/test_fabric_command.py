"""`trnbench fabric`: tables that parsers read, answers that hang together, one message for bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trnbench.cli.main import cli

TRN2, TRN1 = "trn2-16.48xlarge", "trn1.32xlarge"


def invoke(*args: str) -> Result:
    return CliRunner().invoke(cli, ["fabric", *args])


def out(*args: str) -> str:
    found = invoke(*args)
    assert found.exit_code == 0, found.stderr
    return found.stdout


def rows(*args: str) -> list[dict[str, object]]:
    made = json.loads(out(*args, "--format", "json"))
    found: list[dict[str, object]] = made["rows"] if isinstance(made, dict) else made
    return found


def parsed(text: str) -> tuple[list[list[str]], float]:
    """As scripts around nccl-tests read it: lines without # are data, the average from its own line."""
    data = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    (average,) = [line.split(":")[1] for line in text.splitlines() if line.startswith("# Avg bus bandwidth")]
    return data, float(average)


class TestTable:
    def test_the_header_is_that_of_nccl_tests(self) -> None:
        lines = out("run", "all_reduce", "-i", TRN2, "-b", "1M", "-e", "4M").splitlines()
        (header,) = [line for line in lines if line.split()[:3] == ["#", "size", "count"]]
        theirs = "size count type redop root time algbw busbw #wrong"
        assert " ".join(header.split()[1:10]) == theirs
        assert header.split()[10:] == ["algorithm", "%peak", "%bound", "bound", "evidence"]
        assert lines[-3] == "# Out of bounds values : 0 OK"
        assert lines[-2].startswith("# Avg bus bandwidth    : ")
        assert "# trn2-16.48xlarge: 16 ranks, one per device" in lines

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
                assert float(row[7]) == pytest.approx(float(row[6]) * 30 / 16, rel=0.01)
        assert average == pytest.approx(sum(float(row[7]) for row in data) / len(data), rel=0.01)

    def test_units_are_exact_in_json(self) -> None:
        for each in rows("run", "all_gather", "-i", TRN1, "-b", "1M", "-e", "1G", "-f", "32", "-d", "bf16"):
            size, seconds = float(str(each["size"])), float(str(each["time_s"]))
            assert each["algbw_gb_s"] == pytest.approx(size / seconds / 1e9)
            assert each["busbw_gb_s"] == pytest.approx(size / seconds / 1e9 * 15 / 16)
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

    def test_unvalidated_is_said_in_every_row(self) -> None:
        text = out("run", "all_to_all", "-i", "u-trn2x64", "-b", "1M", "-e", "4M")
        assert {row[-1] for row in parsed(text)[0]} == {"emulated,unvalidated"}
        assert "# unvalidated: no measurement of these links is published" in text.splitlines()
        assert {
            row[-1] for row in parsed(out("run", "all_reduce", "-i", TRN2, "-b", "1M", "-e", "1M"))[0]
        } == {"emulated"}

    def test_share_of_the_documented_figure_needs_the_same_scope(self) -> None:
        (one,) = rows("run", "all_reduce", "-i", TRN2, "-b", "1G", "-e", "1G")
        assert 0.5 < float(str(one["peak_share"])) < 1
        (core,) = rows("run", "all_reduce", "-i", TRN2, "-b", "1G", "-e", "1G", "--ranks", "core")
        assert core["peak_share"] is None
        assert "# peak: none, ranks share a device's links" in out(
            "run", "all_reduce", "-i", TRN2, "-b", "1G", "-e", "1G", "--ranks", "core"
        )

    def test_nothing_beats_its_bound(self) -> None:
        for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "permute"):
            for instance in (TRN1, TRN2, "u-trn2x64", "trn1-ultracluster:4"):
                for each in rows("run", name, "-i", instance, "-b", "64", "-e", "1G", "-f", "256"):
                    assert 0 < float(str(each["bound_share"])) <= 1 + 1e-9, (name, instance, each)


class TestOptions:
    ONE = ("run", "all_to_all", "-b", "1G", "-e", "1G")

    def time(self, *args: str) -> float:
        (one,) = rows(*self.ONE, *args)
        return float(str(one["time_s"]))

    def test_best_is_never_slower_than_auto_or_any_other(self) -> None:
        times = {
            name: float(
                str(rows("run", "all_reduce", "-i", TRN2, "-b", "64M", "-e", "64M", "-a", name)[0]["time_s"])
            )
            for name in ("auto", "best", "ring", "bucket", "mesh", "rdh")
        }
        assert times["best"] == min(times.values())

    def test_a_reading_that_halves_links_doubles_time(self) -> None:
        assert self.time("-i", TRN1, "--neuronlink-direction", "both-ways") == pytest.approx(
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
            assert float(str(slow["time_s"])) > 1.05 * float(str(whole["time_s"]))

    def test_another_collective_at_the_same_time(self) -> None:
        args = ("run", "all_reduce", "-i", TRN1, "-b", "64M", "-e", "64M")
        alone, beside = (
            rows(*args, *more)[0]["time_s"] for more in ((), ("--with", "all_to_all=64M@expert=4"))
        )
        assert float(str(beside)) > 1.1 * float(str(alone))
        said = out(*args, "--with", "all-to-all=64M@expert=4").splitlines()
        assert "# beside all_to_all of 67,108,864 B by direct, 4 groups at once" in said

    def test_a_straggler_is_slow_or_late(self) -> None:
        args = ("run", "all_reduce", "-i", TRN2, "-b", "64M", "-e", "64M")
        whole, slow, late = (
            float(str(rows(*args, *more)[0]["time_s"]))
            for more in ((), ("--straggler", "3=0.1"), ("--straggler", "3=2ms"))
        )
        assert slow > 1.2 * whole
        assert 2e-3 < late < 2e-3 + 1.2 * whole
        said = out(*args, "--straggler", "3=0.1", "--straggler", "5=50us", "--exact")
        assert (
            "# options: rank 3 at 0.1 of its memory bandwidth; rank 5 50 µs late; flow by flow"
            in said.splitlines()
        )

    def test_oversubscription_slows_the_cluster_network(self) -> None:
        cluster = ("-i", "trn1-ultracluster:4")
        assert self.time(*cluster, "--oversubscription", "2") == pytest.approx(
            2 * self.time(*cluster), rel=0.05
        )

    def test_groups_at_once_share_links(self) -> None:
        alone = rows(
            "run", "all_reduce", "-i", TRN1, "-b", "64M", "-e", "64M", "--replica-groups", "[[0,1,2,3]]"
        )
        rings = [list(range(k, k + 4)) for k in range(0, 16, 4)]
        all_rows = rows(
            "run", "all_reduce", "-i", TRN1, "-b", "64M", "-e", "64M", "--replica-groups", json.dumps(rings)
        )
        tensor = rows("run", "all_reduce", "-i", TRN1, "-b", "64M", "-e", "64M", "--group", "tensor=4")
        # Each row of the torus has its own links, and tensor groups are these rows.
        assert all_rows[0]["time_s"] == pytest.approx(float(str(alone[0]["time_s"])))
        assert tensor == all_rows
        crossing = [[0, 2], [1, 3]]  # opposite places of one ring of the torus
        both = rows(
            "run",
            "all_reduce",
            "-i",
            TRN1,
            "-b",
            "64M",
            "-e",
            "64M",
            "--replica-groups",
            json.dumps(crossing),
        )
        one = rows("run", "all_reduce", "-i", TRN1, "-b", "64M", "-e", "64M", "--replica-groups", "[[0,2]]")
        assert float(str(both[0]["time_s"])) > 1.3 * float(str(one[0]["time_s"]))

    def test_data_groups_lie_across_tensor_groups(self) -> None:
        made = json.loads(
            out(
                "run",
                "all_reduce",
                "-i",
                TRN1,
                "-b",
                "1M",
                "-e",
                "1M",
                "--group",
                "data=4",
                "--group",
                "tensor=4",
                "--format",
                "json",
            )
        )
        assert (made["groups"], made["ranks"]) == (4, 4)


class TestProbes:
    def test_the_matrix_of_a_torus_is_symmetric_and_knows_hops(self) -> None:
        pairs = {(row["src"], row["dst"]): row for row in rows("matrix", "-i", TRN1, "-s", "1G")}
        assert len(pairs) == 16 * 15
        for (a, b), row in pairs.items():
            assert row["time_s"] == pytest.approx(float(str(pairs[b, a]["time_s"])))
        assert pairs["d0", "d1"]["hops"] == 1
        assert pairs["d0", "d10"]["hops"] == 4
        assert float(str(pairs["d0", "d10"]["latency_s"])) > float(str(pairs["d0", "d1"]["latency_s"]))

    def test_bisection_stays_below_the_narrowest_cut_and_comes_near(self) -> None:
        (row,) = rows("bisection", "-i", TRN2, "-s", "1G")
        assert 0.9 < float(str(row["share"])) <= 1
        assert row["cut_gb_s"] == pytest.approx(2048)

    def test_incast_is_bound_by_what_the_target_takes_in(self) -> None:
        found = rows("incast", "-i", TRN2, "-s", "1G")
        assert [row["senders"] for row in found] == [1, 2, 4, 8, 15]
        assert all(float(str(row["total_gb_s"])) <= 1024.0 + 1e-6 for row in found)  # four links of 256 GB/s
        assert float(str(found[-1]["total_gb_s"])) > 950

    def test_scaling_reaches_thirty_thousand_devices(self) -> None:
        found = rows("scale", "all_reduce", "-i", "trn1-ultracluster")
        assert (found[0]["instances"], found[-1]["instances"], found[-1]["ranks"]) == (2, 1875, 30000)
        times = [float(str(row["time_s"])) for row in found]
        assert times == sorted(times)
        assert found[0]["evidence"] == "emulated"  # two instances have published points
        assert found[-1]["evidence"] == "emulated,unvalidated"

    def test_links_carry_what_they_are_said_to_the_busiest_first(self) -> None:
        found = rows("links", "all_reduce", "-i", "u-trn2x64", "-s", "1G", "--all")
        loads = [float(str(row["load"])) for row in found]
        assert loads == sorted(loads, reverse=True)
        assert 0 < loads[0] <= 1 + 1e-9
        assert len(rows("links", "all_reduce", "-i", "u-trn2x64", "--top", "3")) == 3

    def test_sensitivity_moves_each_assumption_and_reading(self) -> None:
        found = rows("sensitivity", "all_reduce", "-i", "trn3-gen2-ultraserver", "-s", "1M")
        names = {str(row["what"]) for row in found}
        assert {"neuronswitch-latency", "neuronlink-direction", "trn3-links"} <= names
        changes = [abs(float(str(row["change"]))) for row in found]
        assert changes == sorted(changes, reverse=True)
        switch = {
            row["setting"]: float(str(row["change"]))
            for row in found
            if row["what"] == "neuronswitch-latency"
        }
        assert min(switch.values()) < 0 < max(switch.values())

    def test_algorithms_say_why_not_and_which_thresholds(self) -> None:
        found = {str(row["algorithm"]): row for row in rows("algorithms", "-i", TRN2)}
        assert found["mesh"]["auto"] == "below 1 MB"
        assert found["rdh"]["auto"] == "1 to 56 MB"
        assert found["kangaring"]["auto"] == "from 56 MB"
        assert found["kangaring"]["collectives"] == "–"
        assert "kangaring needs pairs of ranks that share a device" in str(found["kangaring"]["not"])
        cores = {
            str(row["algorithm"]): row for row in rows("algorithms", "-i", TRN2, "--ranks", "logical-core")
        }
        assert "all_reduce" in str(cores["kangaring"]["collectives"])


BAD = {
    "unknown group": (
        ("run", "all_reduce", "-i", TRN2, "--group", "foo=2"),
        "error: unknown group 'foo'\n  cause: there are tensor, expert, data, pipeline\n"
        "  try:   --group tensor=8\n",
    ),
    "ranks that do not divide": (
        ("run", "all_reduce", "-i", TRN2, "--group", "tensor=6"),
        "error: groups of 6 do not divide 16 ranks\n  cause: 16 / 6 leaves 4\n"
        "  try:   a product that divides 16\n",
    ),
    "below one element": (
        ("run", "all_reduce", "-i", TRN2, "-b", "2", "-d", "fp32"),
        "error: 2 B is less than one fp32 element\n  cause: an element takes 4 B\n  try:   -b 4\n",
    ),
    "nothing to send": (
        ("run", "all_reduce", "-i", TRN2, "-b", "0"),
        "error: a sweep starts at 1 byte or more\n  cause: -b is 0\n  try:   -b 8\n",
    ),
    "disconnected": (
        (
            *("run", "all_reduce", "-i", TRN1, "--degrade", "d0-d1=0", "--degrade", "d0-d3=0"),
            *("--degrade", "d0-d4=0", "--degrade", "d0-d12=0"),
        ),
        "error: trn1.32xlarge: no route from d0 to d1\n"
        "  cause: the links left after --degrade or the chosen link kinds do not connect them\n"
        "  try:   trnbench topology check trn1.32xlarge\n",
    ),
    "negative bandwidth": (
        ("run", "all_reduce", "-i", TRN2, "--degrade", "d0-d1=-1"),
        "error: a factor of -1 makes no sense\n  cause: 0 is a dead link, 1 a whole one, 0.5 half\n",
    ),
    "unknown link": (
        ("run", "all_reduce", "-i", TRN1, "--degrade", "d0-d5=0.5"),
        "error: trn1.32xlarge has no link d0-d5\n"
        "  cause: d0 is joined to d12, d3, d4, d1, numa0, efa0\n"
        "  try:   trnbench topology show trn1.32xlarge\n",
    ),
    "no factor": (
        ("run", "all_reduce", "-i", TRN1, "--degrade", "d0-d1"),
        "error: --degrade d0-d1 is no LINK=FACTOR\n  try:   --degrade d0-d1=0.5\n",
    ),
    "not possible here": (
        ("run", "all_reduce", "-i", TRN2, "-a", "kangaring"),
        "error: kangaring needs pairs of ranks that share a device\n"
        "  cause: trn2-16.48xlarge has 1 ranks per device here\n"
        "  try:   --ranks core or logical-core, or --algorithm ring\n",
    ),
    "not for this collective": (
        ("run", "all_to_all", "-i", TRN2, "-a", "ring"),
        "error: ring does no all_to_all\n  cause: these do: direct, pairwise\n",
    ),
    "one rank": (
        ("run", "all_reduce", "-i", "trn1.2xlarge"),
        "error: a collective needs at least 2 ranks\n  cause: trn1.2xlarge has 1 here, one per device\n"
        "  try:   --ranks core, or a system of several devices\n",
    ),
    "unknown collective": (
        ("run", "all_reduc", "-i", TRN2),
        "error: unknown collective 'all_reduc'\n  cause: did you mean all_reduce, reduce, all_gather?\n",
    ),
    "no size": (
        ("run", "all_reduce", "-i", TRN2, "-e", "lots"),
        "error: 'lots' is no size\n  cause: a number with K, M or G behind it, which are powers of two\n"
        "  try:   64K, 1M or 1G\n",
    ),
    "no way up": (
        ("run", "all_reduce", "-i", TRN2, "-f", "1"),
        "error: a factor of 1 leads nowhere\n  cause: it multiplies the size\n  try:   -f 2\n",
    ),
    "backwards": (
        ("run", "all_reduce", "-i", TRN2, "-b", "1M", "-e", "1K"),
        "error: the sweep ends at 1024 B before it starts at 1048576 B\n  try:   -b 8 -e 1G\n",
    ),
    "rank twice": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "[[0,1],[1,2]]"),
        "error: rank 1 is in two replica groups\n  cause: every rank takes part once\n"
        "  try:   --replica-groups '[[0,1],[2,3]]'\n",
    ),
    "unequal groups": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "[[0,1],[2,3,4]]"),
        "error: replica groups must be of one size, two ranks or more\n  cause: sizes given: 2, 3\n"
        "  try:   --replica-groups '[[0,1],[2,3]]'\n",
    ),
    "rank out of reach": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "[[0,99]]"),
        "error: rank 99 is not there\n  cause: ranks are 0 to 15\n",
    ),
    "no groups": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "{}"),
        "error: --replica-groups '{}' is no list of lists of ranks\n"
        "  try:   --replica-groups '[[0,1],[2,3]]'\n",
    ),
    "oversubscription below one": (
        ("run", "all_reduce", "-i", "trn1-ultracluster:2", "--oversubscription", "0.5"),
        "error: an oversubscription of 0.5 makes no sense\n"
        "  cause: it says how many times less the network carries than the adapters: 1 or more\n"
        "  try:   --oversubscription 2\n",
    ),
    "three figures of Trn3": (
        ("run", "all_reduce", "-i", TRN2, "--trn3-links", "table"),
        "error: trn2-16.48xlarge takes no --trn3-links\n"
        "  cause: only documents of Trn3 give three figures for one link\n  try:   leave it out\n",
    ),
    "nothing beside": (
        ("run", "all_reduce", "-i", TRN2, "--with", "all_to_all"),
        "error: --with all_to_all is no COLLECTIVE=SIZE\n"
        "  cause: a collective, its message, and behind @ the groups if there are some\n"
        "  try:   --with all_to_all=64M or --with all_to_all=64M@expert=8\n",
    ),
    "no straggler": (
        ("run", "all_reduce", "-i", TRN2, "--straggler", "3=half"),
        "error: --straggler 3=half is no RANK=SHARE and no RANK=TIME\n"
        "  cause: a share is a number up to 1, a time has a unit: ns, us, ms or s\n"
        "  try:   --straggler 3=0.5 or --straggler 3=50us\n",
    ),
    "straggler without speed": (
        ("run", "all_reduce", "-i", TRN2, "--straggler", "3=0"),
        "error: a straggler at 0 makes no sense\n"
        "  cause: it is the share of its speed that the rank has left: above 0, up to 1\n"
        "  try:   --straggler 3=0.5\n",
    ),
    "straggler that is not there": (
        ("run", "all_reduce", "-i", TRN2, "--straggler", "16=0.5"),
        "error: rank 16 is not there\n  cause: ranks are 0 to 15\n",
    ),
    "link of a cluster that is not there": (
        ("run", "all_reduce", "-i", "trn1-ultracluster:8", "--degrade", "s8.d0-s8.d1=0.5"),
        "error: trn1-ultracluster:8 has no link s8.d0-s8.d1\n"
        "  cause: links are named by the nodes they join, as in d0-d1\n"
        "  try:   trnbench topology show trn1-ultracluster:8\n",
    ),
    "too many pairs": (
        ("matrix", "-i", "trn1-ultracluster"),
        "error: trn1-ultracluster: 30,000 ranks are not built node by node\n  cause: up to 4,096 are\n"
        "  try:   an all-reduce, reduce-scatter or all-gather over all of them, or a smaller cluster\n",
    ),
    "counts out of reach": (
        ("scale", "all_reduce", "-i", TRN2, "--counts", "2,99"),
        "error: --counts 2,99 is not within reach\n  cause: 2 to 16 are there\n  try:   --counts 2,4,8\n",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_message(case: str) -> None:
    args, expected = BAD[case]
    found = invoke(*args)
    assert (found.stderr, found.stdout, found.exit_code) == (expected, "", 2)


FACTS = """schema = 1
override = true
[sources.mine]
document = 'mine'
[[group]]
subject = 'trn1.32xlarge'
scope = 'device'
source = 'mine'
locator = 'x'
facts = [{metric='neuronlink_bandwidth', printed='WHAT', unit='GB/s', direction='unstated'}]
"""


def test_links_without_bandwidth_are_one_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(FACTS.replace("WHAT", "-384"))
    below = invoke("run", "all_reduce", "-i", TRN1, "--facts", str(mine))
    assert (below.stderr, below.exit_code) == (
        f"error: {mine}: [[group]] 1, fact 1: '-384' is negative\n"
        "  cause: no documented figure of a machine is below zero\n"
        "  try:   write the printed digits without the sign, or leave the fact out\n",
        2,
    )
    mine.write_text(FACTS.replace("WHAT", "0"))
    zero = invoke("run", "all_reduce", "-i", TRN1, "--facts", str(mine))
    assert (zero.stderr, zero.exit_code) == (
        "error: trn1.32xlarge: a link has no bandwidth\n"
        "  cause: a bandwidth of zero or below in the facts or in --degrade\n"
        "  try:   trnbench topology show trn1.32xlarge\n",
        2,
    )
    monkeypatch.setenv("TRNBENCH_FACTS", str(mine))
    assert invoke("run", "all_reduce", "-i", TRN1).stderr == zero.stderr


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
        [command(), "fabric", "links", "all_reduce", "-i", "trn2", "-s", "1M"],
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
        [command(), "fabric", "matrix", "-i", "trn1-ultracluster:64", "--all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("interrupted: this command had saved nothing yet\n")
