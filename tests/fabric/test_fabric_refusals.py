"""What a fabric cannot be asked, refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest
from fabric_question import run

from trnbench.errors import FactError, UsageError
from trnbench.registry import Registry
from trnbench_emulator.fabric.constants import constants_of
from trnbench_emulator.fabric.publication import published_question
from trnbench_emulator.fabric.systems import Fabric, Options


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: run(f, "gossip", 1), "unknown collective 'gossip'"),
        (lambda f: run(f, "all_reduce", 0), "a message of 0 bytes cannot be sent"),
        (lambda f: run(f, "all_reduce", float("nan")), "a message of nan bytes cannot be sent"),
        (lambda f: run(f, "all_reduce", 8, algorithm="magic"), "unknown algorithm 'magic'"),
        (lambda f: run(f, "all_to_all", 8, algorithm="ring"), "ring does no all_to_all"),
        (lambda f: run(f, "all_reduce", 8, ranks=(0,)), "a collective needs at least 2 ranks"),
        (lambda f: run(f, "all_reduce", 8, ranks=(0, 99)), "rank 99 is not there"),
        (lambda f: f.groups({"data": 3, "tensor": 4}, "data"), "3 data × 4 tensor does not divide 16 ranks"),
        (lambda f: f.groups({"data": 4, "tensor": 4}, "expert"), "unknown group 'expert'"),
        (lambda f: run(f, "send", 8, ranks=(0, 16)), "rank 16 is not there"),
        (lambda f: run(f, "send", -8, ranks=(0, 1)), "a message of -8 bytes cannot be sent"),
        (lambda f: run(f, "send", 8, ranks=(3, 3)), "send does not take ranks 3, 3"),
        (lambda f: run(f, "read", 8), "read does not take ranks of no number"),
        (lambda f: run(f, "ping_pong", 8, ranks=(0, 1, 2)), "ping_pong does not take ranks 0, 1, 2"),
        (lambda f: run(f, "incast", 8, ranks=(0, 1, 1)), "incast does not take ranks 0, 1, 1"),
        (
            lambda f: run(f, "all_reduce", 8, ranks=(0, 1), groups=((2, 3),)),
            "some ranks alone have no groups and nothing beside them",
        ),
        (lambda f: Fabric(f.system, Options(level="chip")), "ranks cannot be 'chip'"),
        (
            lambda f: Fabric(f.system, Options(oversubscription=0.5)),
            "an oversubscription of 0.5 makes no sense",
        ),
        (lambda f: Fabric(f.system, Options(straggler=((0, -1.0),))), "a straggler at -1 makes no sense"),
        (lambda f: Fabric(f.system, Options(straggler=((0, 0.0),))), "a straggler at 0 makes no sense"),
        (lambda f: Fabric(f.system, Options(straggler=((16, 0.5),))), "rank 16 is not there"),
        (lambda f: Fabric(f.system, Options(late=((1, -1.0),))), "a rank cannot be -1 s late"),
        (
            lambda f: Fabric(f.system, Options(degraded=(("d0", "d1", float("nan")),))),
            "a factor of nan makes no sense",
        ),
        (
            lambda f: Fabric(f.system, Options(degraded=(("d0", "d10", 0.5),))).network,
            "trn2-16.48xlarge has no link d0 > d10",
        ),
        (
            lambda f: Fabric(f.system, Options(degraded=(("d0", "moon", 0.5),))).network,
            "trn2-16.48xlarge has no node 'moon'",
        ),
        (
            lambda f: published_question(f.system, "all_reduce", 8, 999),
            "999 ranks on 1 nodes do not fit",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(registry: Registry, call: Any, text: str) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"))
    with pytest.raises(UsageError) as refusal:
        call(fabric)
    assert str(refusal.value).startswith(text)


def test_constants_that_make_no_sense_are_refused() -> None:
    for key, value in (("hbm_efficiency", 1.5), ("step_us", -1.0), ("network_in_flight", 0.5)):
        with pytest.raises(FactError) as refusal:
            constants_of({"fabric": {key: {"value": value}}})
        assert str(refusal.value).startswith(f"[fabric.{key}] of the cost table: {value:g} makes no sense")
    assert constants_of({}).rules == ()
