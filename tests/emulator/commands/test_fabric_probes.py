"""`trnbench fabric` matrix, bisection, incast and scale: traffic that is no collective."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fabric_command import TRN1, TRN2, invoke, out, rows

from trnbench.registry import load_registry
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.systems import fabric_of

DEVICES = ("--ranks", "device")


class TestProbes:
    def test_the_matrix_of_a_torus_is_symmetric_and_knows_hops(self) -> None:
        pairs = {
            (row["src"], row["dst"]): row for row in rows("probe", "matrix", "-i", TRN1, "-b", "1G", *DEVICES)
        }
        assert len(pairs) == 16 * 15
        for (a, b), row in pairs.items():
            assert row["time_s"] == pytest.approx(pairs[b, a]["time_s"])
        assert pairs["d0", "d1"]["hops"] == 1
        assert pairs["d0", "d10"]["hops"] == 4
        assert pairs["d0", "d10"]["latency_s"] > pairs["d0", "d1"]["latency_s"]

    def test_bisection_stays_below_the_narrowest_cut_and_comes_near(self) -> None:
        (row,) = rows("probe", "bisection", "-i", TRN2, "-b", "1G", *DEVICES)
        assert 0.9 < row["share"] <= 1
        assert row["cut_gb_s"] == pytest.approx(2048)

    def test_incast_is_bound_by_what_the_target_takes_in(self) -> None:
        found = rows("probe", "incast", "-i", TRN2, "-b", "1G", *DEVICES)
        assert [row["senders"] for row in found] == [1, 2, 4, 8, 15]
        assert all(row["total_gb_s"] <= 1024.0 + 1e-6 for row in found)  # four links of 256 GB/s
        assert found[-1]["total_gb_s"] > 950

    def test_scaling_reaches_thirty_thousand_devices(self) -> None:
        found = rows("scale", "all_reduce", "-i", "trn1-ultracluster", *DEVICES)
        assert (found[0]["instances"], found[-1]["instances"], found[-1]["ranks"]) == (2, 1875, 30000)
        times = [row["time_s"] for row in found]
        assert times == sorted(times)
        assert {row["evidence"] for row in found} == {"emulated"}

    def test_links_carry_what_they_are_said_to_the_busiest_first(self) -> None:
        found = rows("links", "all_reduce", "-i", "u-trn2x64", "-b", "1G", "--all")
        loads = [row["load"] for row in found]
        assert loads == sorted(loads, reverse=True)
        assert 0 < loads[0] <= 1 + 1e-9
        assert len(rows("links", "all_reduce", "-i", "u-trn2x64", "--top", "3")) == 3

    def test_sensitivity_moves_each_assumption_and_reading(self) -> None:
        found = rows("sensitivity", "all_reduce", "-i", "trn3-gen2-ultraserver", "-b", "1M")
        names = {str(row["what"]) for row in found}
        assert {"neuronswitch-latency", "neuronlink-direction", "trn3-links"} <= names
        changes = [abs(row["change"]) for row in found]
        assert changes == sorted(changes, reverse=True)
        switch = {row["setting"]: row["change"] for row in found if row["what"] == "neuronswitch-latency"}
        assert min(switch.values()) < 0 < max(switch.values())

    def test_a_small_change_has_the_digits_that_tell_it_from_nothing(self) -> None:
        text = out("sensitivity", "all_reduce", "-i", "trn1-ultracluster:2", "--context", "graph")
        assert not re.search(r"[-+−]0\.0 %", text)
        assert re.search(r"−0\.0[1-9] %", text)

    def test_algorithms_say_why_not_and_which_thresholds(self) -> None:
        found = {str(row["algorithm"]): row for row in rows("algorithms", "-i", TRN2, *DEVICES)}
        assert {row["auto"] for row in found.values()} == {""}  # what was observed speaks of cores
        assert found["kangaring"]["collectives"] == "–"
        assert "kangaring needs pairs of ranks that share a device" in str(found["kangaring"]["not"])
        cores = {str(row["algorithm"]): row for row in rows("algorithms", "-i", TRN2)}
        assert "all_reduce" in str(cores["kangaring"]["collectives"])
        assert cores["mesh"]["auto"] == "8, 64 ranks below 1 MB"
        assert cores["rdh"]["auto"] == "8, 64 ranks 1 to 56 MB"
        assert cores["kangaring"]["auto"] == "8, 64 ranks from 56 MB"


def test_starts_inside_a_graph_are_moved_through_their_range() -> None:
    found = rows("sensitivity", "all_reduce", "-i", TRN1, "-b", "8K", "--context", "graph")
    moved = {(row["what"], row["setting"]) for row in found}
    assert {("graph start share", "0.14"), ("graph start share", "0.47")} <= moved
    assert not any(
        "start" in str(row["what"]) for row in rows("sensitivity", "all_reduce", "-i", TRN1, "-b", "8K")
    )


# `trnbench fabric pingpong`: two ranks over sizes, across EFA by default on a cluster ----------------

CLUSTER = "trn1-ultracluster:2"


def test_on_a_cluster_it_goes_over_efa_and_inside_it_does_not() -> None:
    args = ("probe", "pingpong", "-i", CLUSTER, "-b", "8", "-e", "1G", "-f", "32", *DEVICES)
    efa = rows(*args)
    inside = rows(*args, "--receiver", "1")
    assert {(row["src"], row["dst"]) for row in efa} == {("s0.d0", "s1.d0")}
    assert {(row["src"], row["dst"]) for row in inside} == {("s0.d0", "s0.d1")}
    assert [row["size"] for row in efa] == [8 * 32**k for k in range(6)]
    for far, near in zip(efa, inside, strict=True):
        assert far["time_s"] > near["time_s"]
        assert far["bandwidth_gb_s"] == pytest.approx(far["size"] / far["time_s"] / 1e9)
    assert efa[0]["evidence"] == "emulated"


def test_bandwidth_is_that_of_the_adapter_and_latency_that_of_a_message() -> None:
    small, large = rows("probe", "pingpong", "-i", CLUSTER, "-b", "1", "-e", "1G", "-f", str(2**30), *DEVICES)
    fabric = fabric_of(load_registry().system(CLUSTER))
    message = fabric.question("send", 1.0, ranks=(0, 16))
    # The start is paid once for both ways, so half of it stands in each.
    half = fabric.constants.gather_start / 2
    assert small["time_s"] == pytest.approx(ask(message).time_s - half)
    route = fabric.network.route(0, 16)
    rate = float((fabric.network.capacity[route.resources] / route.weights).min())
    assert 0.99 * rate < large["bandwidth_gb_s"] * 1e9 <= rate


def test_a_slow_network_slows_it() -> None:
    args = ("probe", "pingpong", "-i", CLUSTER, "-b", "1G", "-e", "1G", *DEVICES)
    assert rows(*args, "--oversubscription", "2")[0]["time_s"] == pytest.approx(
        2 * rows(*args)[0]["time_s"], rel=0.01
    )


def test_the_table_says_which_two() -> None:
    found = invoke("probe", "pingpong", "-i", CLUSTER, "-b", "1M", "-e", "1M", *DEVICES)
    assert found.stdout.splitlines()[0] == f"{CLUSTER}: s0.d0 to s1.d0 and back, half of it"
    assert "4 links between s0.d0 and s1.d0" in found.stderr.splitlines()


def test_a_ring_of_one_device_per_instance() -> None:
    args = ("-i", "trn1-ultracluster:4", "--group", "[[0,16,32,48]]", "-b", "1G", "-e", "1G", *DEVICES)
    (ring,) = rows("run", "all_reduce", *args, "--algorithm", "ring")
    (step,) = rows("run", "permute", *args)
    # Every adapter sends all the time: busbw of the ring is the bandwidth of one step.
    assert ring["busbw_gb_s"] == pytest.approx(step["busbw_gb_s"], rel=0.01)


# Bad input to `trnbench fabric`: one clear message each, exit code 2 ---------------------------------

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


def test_links_without_bandwidth_are_one_clear_message(tmp_path: Path, monkeypatch: Any) -> None:
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
        f"error: {mine}: [[group]] 1, fact 1: neuronlink_bandwidth is '0'\n"
        "  cause: neuronlink_bandwidth (links between devices) is more than 0\n"
        "  try:   the number that the document prints, or leave it out where the machine has none\n",
        2,
    )
    monkeypatch.setenv("TRNBENCH_FACTS", str(mine))
    assert invoke("run", "all_reduce", "-i", TRN1).stderr == zero.stderr
