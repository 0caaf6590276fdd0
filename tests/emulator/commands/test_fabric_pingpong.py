"""`trnbench fabric probe pingpong`: two ranks over sizes, across EFA by default on a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from trnbench.cli.main import cli
from trnbench.registry import load_registry
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.systems import fabric_of

CLUSTER, TRN1 = "trn1-ultracluster:2", "trn1.32xlarge"


def invoke(*args: str) -> Result:
    return CliRunner().invoke(cli, ["fabric", *args])


def rows(*args: str) -> list[dict[str, Any]]:
    found = invoke(*args, "--format", "json")
    assert found.exit_code == 0, found.stderr
    made: list[dict[str, Any]] = json.loads(found.stdout)
    return made


def test_on_a_cluster_it_goes_over_efa_and_inside_it_does_not() -> None:
    args = ("probe", "pingpong", "-i", CLUSTER, "-b", "8", "-e", "1G", "-f", "32")
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
    small, large = rows("probe", "pingpong", "-i", CLUSTER, "-b", "1", "-e", "1G", "-f", str(2**30))
    fabric = fabric_of(load_registry().system(CLUSTER))
    message = fabric.question("send", 1.0, ranks=(0, 16))
    # The start is paid once for both ways, so half of it stands in each.
    half = fabric.constants.gather_start / 2
    assert small["time_s"] == pytest.approx(ask(message).time_s - half)
    route = fabric.network.route(0, 16)
    rate = float((fabric.network.capacity[route.resources] / route.weights).min())
    assert 0.99 * rate < large["bandwidth_gb_s"] * 1e9 <= rate


def test_a_slow_network_slows_it() -> None:
    args = ("probe", "pingpong", "-i", CLUSTER, "-b", "1G", "-e", "1G")
    assert rows(*args, "--oversubscription", "2")[0]["time_s"] == pytest.approx(
        2 * rows(*args)[0]["time_s"], rel=0.01
    )


def test_the_table_says_which_two() -> None:
    found = invoke("probe", "pingpong", "-i", CLUSTER, "-b", "1M", "-e", "1M")
    assert found.stdout.splitlines()[0] == f"{CLUSTER}: s0.d0 to s1.d0 and back, half of it"
    assert "4 links between s0.d0 and s1.d0" in found.stderr.splitlines()


def test_a_ring_of_one_device_per_instance() -> None:
    args = ("-i", "trn1-ultracluster:4", "--group", "[[0,16,32,48]]", "-b", "1G", "-e", "1G")
    (ring,) = rows_of_run("all_reduce", *args, "--algorithm", "ring")
    (step,) = rows_of_run("permute", *args)
    # Every adapter sends all the time: busbw of the ring is the bandwidth of one step.
    assert ring["busbw_gb_s"] == pytest.approx(step["busbw_gb_s"], rel=0.01)


def rows_of_run(*args: str) -> list[dict[str, Any]]:
    found = invoke("run", *args, "--format", "json")
    assert found.exit_code == 0, found.stderr
    made: list[dict[str, Any]] = json.loads(found.stdout)["rows"]
    return made


BAD = {
    "itself": (
        ("-i", CLUSTER, "--sender", "3", "--receiver", "3"),
        "error: rank 3 cannot play with itself\n  cause: a ping-pong takes two ranks\n"
        "  try:   --sender 0 --receiver 1\n",
    ),
    "not there": (
        ("-i", CLUSTER, "--receiver", "99"),
        "error: rank 99 is not there\n  cause: ranks are 0 to 31\n"
        "  try:   one of these, or --ranks core, which makes every core a rank\n",
    ),
    "one rank": (
        ("-i", "trn1.2xlarge"),
        "error: trn1.2xlarge has one rank\n  cause: a ping-pong takes two\n"
        "  try:   --ranks core, or a system of several devices\n",
    ),
    "no way up": (
        ("-i", TRN1, "-f", "1"),
        "error: a factor of 1 leads nowhere\n  cause: it multiplies the size\n  try:   -f 2\n",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_message(case: str) -> None:
    args, expected = BAD[case]
    found = invoke("probe", "pingpong", *args)
    assert (found.stderr, found.stdout, found.exit_code) == (expected, "", 2)
