"""Uneven parts on `trnbench fabric run`: what they cost, how they are said, one message for bad ones."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from click.testing import Result
from command import listed, typed

from trnbench.errors import UsageError
from trnbench.registry import load_registry
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.question import Beside, Question
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.solve import solve
from trnbench_emulator.fabric.systems import fabric_of

TRN2, TRN1 = "trn2-16.48xlarge", "trn1.32xlarge"
GIB = 2.0**30


def ranks(args: tuple[str, ...]) -> tuple[str, ...]:
    """Devices unless told, so that every rank has links of its own."""
    return () if "--ranks" in args else ("--ranks", "device")


def invoke(*args: str) -> Result:
    return typed("fabric", "run", *args, *ranks(args))


def answer(*args: str) -> Any:
    return listed("fabric", "run", *args, "-b", "1G", "-e", "1G", *ranks(args))


@pytest.mark.parametrize("instance", [TRN1, TRN2, "u-trn2x64"])
@pytest.mark.parametrize(
    ("uneven", "even", "algorithm"),
    [
        ("all_gather_v", "all_gather", "mesh"),
        ("all_to_all_v", "all_to_all", "direct"),
        ("reduce_scatter_v", "reduce_scatter", "mesh"),
    ],
)
def test_even_shares_are_the_collective_of_equal_parts(
    instance: str, uneven: str, even: str, algorithm: str
) -> None:
    (one,) = answer(uneven, "-i", instance)["rows"]
    (other,) = answer(even.removesuffix("_v"), "-i", instance, "--algorithm", algorithm)["rows"]
    assert one["time_s"] == other["time_s"]
    assert one["busbw_gb_s"] == other["busbw_gb_s"]
    assert one["bound_share"] == pytest.approx(other["bound_share"])
    assert one["times_even"] == 1


@pytest.mark.parametrize("collective", ["all_gather_v", "all_to_all_v", "reduce_scatter_v"])
def test_the_time_is_that_of_its_messages(collective: str) -> None:
    fabric = fabric_of(load_registry().system(TRN2))
    parts = [GIB * share for share in answer(collective, "-i", TRN2, "--shares", "5,1,2,0")["shares"]]
    assert parts[:4] == pytest.approx([GIB * k / 32 for k in (5, 1, 2, 0)])
    shared_by = 0 if collective == "all_gather_v" else 1  # the sender's share, the receiver's
    writes = 2.0 if collective == "reduce_scatter_v" else 1.0  # what is summed is read again
    one_by_one = {pair: parts[pair[shared_by]] for pair in permutations(range(16), 2)}
    moves = tuple(
        Move(size=size, pairs=(pair,), writes=writes, direct=True)
        for pair, size in one_by_one.items()
        if size
    )
    messages = Schedule(algorithm="messages", chains=((Step(moves=moves),),))
    paid = fabric.constants.charged(messages, collective.removesuffix("_v"))
    expected = solve(fabric.network, paid).time_s
    found = ask(fabric.question(collective, GIB, shares=tuple(parts))).time_s
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_hot_expert_costs_what_its_device_takes_in() -> None:
    (row,) = answer("all_to_all_v", "-i", TRN1, "--shares", "hot:1")["rows"]
    # 15 ranks send all they have to one, whose four links are the bound.
    assert 0.99 < row["bound_share"] <= 1
    times = [
        answer("all_to_all_v", "-i", TRN1, "--shares", f"hot:{share}")["rows"][0]["times_even"]
        for share in (0.0625, 0.25, 0.5, 1)
    ]
    assert times[0] == pytest.approx(1)
    assert times == sorted(times)


@pytest.mark.parametrize("collective", ["all_gather_v", "all_to_all_v", "reduce_scatter_v"])
@pytest.mark.parametrize(
    ("where", "skew"),
    [
        *(((TRN1,), skew) for skew in ("zipf:1.2", "zipf:0", "hot:0.5", "hot:0")),
        ((TRN2, "--ranks", "logical-core"), "hot:0.5"),
        (("trn1-ultracluster:2",), "hot:0.5"),
        *((("u-trn2x64", "--group", "expert=8"), skew) for skew in ("zipf:1.2", "hot:0")),
    ],
)
def test_nothing_beats_its_bound(collective: str, where: tuple[str, ...], skew: str) -> None:
    (row,) = answer(collective, "-i", *where, "--shares", skew)["rows"]
    assert 0 < row["bound_share"] <= 1 + 1e-9


def test_table_and_json_say_the_shares() -> None:
    args = ("all_to_all_v", "-i", TRN2, "--shares", "zipf:1.2", "-b", "1M", "-e", "1G", "-f", "1024")
    said = invoke(*args, "--explain").stdout.splitlines()
    assert "# trnbench fabric all_to_all_v, emulated" in said
    assert "# shares: zipf:1.2, sent to each rank; largest 36.5 %, smallest 1.31 %, even 6.25 %" in said
    assert "# 1 GiB takes 3.41 times as long as with even shares" in said
    assert "# busbw: by the factor of even shares" in said
    made = json.loads(invoke(*args, "--format", "json").stdout)
    assert (made["shares_of"], len(made["shares"])) == ("receivers", 16)
    assert made["shares"][1] / made["shares"][0] == pytest.approx(2**-1.2)
    assert sum(made["shares"]) == pytest.approx(1)
    held = invoke(
        "all_gather_v", "-i", TRN2, "--shares", "3,1,1,1", "-b", "1M", "-e", "1M", "--explain"
    ).stdout
    assert (
        "# shares: 3,1,1,1, held by each rank; largest 12.5 %, smallest 4.17 %, even 6.25 %"
        in held.splitlines()
    )


def test_groups_have_the_same_shares_each() -> None:
    made = answer("all_to_all_v", "-i", TRN2, "--group", "expert=4", "--shares", "3,1,1,1")
    assert (made["groups"], made["ranks"], made["shares"]) == (4, 4, pytest.approx([0.5, *[1 / 6] * 3]))
    assert "4 groups of 4 at once" in made["notes"]


def test_the_model_refuses_what_the_command_does() -> None:
    system = load_registry().system(TRN2)
    with pytest.raises(UsageError, match="all_reduce takes no shares"):
        ask(Question(collective="all_reduce", size=GIB, system=system, shares=(1.0,) * 16))
    with pytest.raises(UsageError, match="15 shares for 16 ranks"):
        ask(Question(collective="all_gather_v", size=GIB, system=system, shares=(1.0,) * 15))


@pytest.mark.parametrize("collective", ["all_gather_v", "all_to_all_v", "reduce_scatter_v"])
def test_uneven_parts_run_beside_others(collective: str) -> None:
    uneven = (collective, "-i", TRN2, "--shares", "5,1,2,0")
    times = {}
    for others in ((), ("--with", "all_reduce=256M"), ("--with", "all_to_all=1G@tensor=4")):
        found = answer(*uneven, *others)
        times[others] = found["rows"][0]["time_s"]
        if others:
            longer = times[others] / times[()]
            assert longer > 1.1
            assert f"{longer:.2f} times as long as alone" in found["notes"]
    assert "beside all_to_all of 1,073,741,824 B by direct, 4 groups at once" in found["notes"]


def test_others_beside_have_uneven_parts_too() -> None:
    fabric = fabric_of(load_registry().system(TRN2))
    hot = Beside(collective="all_to_all_v", size=GIB, shares=(1.0,) + (0.0,) * 15)
    even = Beside(collective="all_to_all_v", size=GIB)
    slower, slow = (
        ask(fabric.question("all_reduce", GIB, algorithm="ring", beside=(other,))) for other in (hot, even)
    )
    assert slower.notes[-2] == "beside all_to_all_v of 1,073,741,824 B by direct"
    # All that is sent to one device keeps its cables busy; the ring waits there for every step.
    assert slower.time_s > 1.2 * slow.time_s
