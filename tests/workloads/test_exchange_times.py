"""Collectives of a step: a smaller question than the whole cluster has the same answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from trnbench.generation import System
from trnbench.registry import load_registry
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.question import Question
from trnbench_steps.layout import Axis, Layout
from trnbench_steps.operators import Exchange
from trnbench_steps.step_constants import constants_of
from trnbench_steps.stretches import ExchangeTime, ExchangeTimes


@pytest.fixture(scope="module")
def cluster() -> System:
    return load_registry().system("trn1-ultracluster:2")


def _cost(found: ExchangeTime, system: System) -> float:
    """Start, links and residue."""
    return found.start_s + found.moving_s * (1.0 + constants_of(system).collective_residue)


@pytest.mark.parametrize(
    ("collective", "axis", "layout"),
    [
        *(
            (name, Axis.REPLICA, Layout(tp=32, dp=2))  # one group of all that share an adapter
            for name in ("all_gather", "reduce_scatter", "all_reduce")
        ),
        ("permute", Axis.PIPELINE, Layout(tp=32, pp=2)),  # stages on several instances
        ("all_reduce", Axis.TENSOR, Layout(tp=8, dp=8)),  # groups inside instances
    ],
    ids=str,
)
def test_what_stands_for_a_cluster_costs_the_same(
    collective: str, axis: Axis, layout: Layout, cluster: System
) -> None:
    exchange = Exchange(name="", collective=collective, axis=axis, size=64e6)
    groups: Any = layout.groups(axis)
    whole = Question(
        collective=collective, size=64e6, system=cluster, groups=groups, level="logical-core", context="graph"
    )
    found = ExchangeTimes().time(exchange, layout, cluster)
    assert _cost(found, cluster) == pytest.approx(ask(whole).time_s, rel=1e-9)


@pytest.mark.parametrize("size", [4, 1875])
def test_ranks_of_some_instances_take_as_long_whatever_stands_beside_them(size: int) -> None:
    """60,000 ranks are not built one by one."""
    systems = [load_registry().system(f"trn1-ultracluster:{instances}") for instances in (2, size)]
    exchange = Exchange(name="", collective="all_reduce", axis=Axis.TENSOR, size=16e6)
    costs = [
        _cost(ExchangeTimes().time(exchange, Layout(tp=64, dp=system.size // 2), system), system)
        for system in systems
    ]
    groups = ((*range(64),), (*range(64, 128),))
    asked = Question(
        collective="all_reduce",
        size=16e6,
        system=systems[1],
        groups=groups,
        level="logical-core",
        context="graph",
    )
    assert costs[1] == costs[0] == pytest.approx(ask(asked).time_s, rel=1e-9)


def test_groups_inside_instances_are_asked_of_any_cluster() -> None:
    times = []
    for name, ranks in (("trn1.32xlarge", 32), ("trn1-ultracluster:1875", 60_000)):
        groups = tuple(tuple(range(start, start + 8)) for start in range(0, ranks, 8))
        system = load_registry().system(name)
        times.append(
            ask(Question(collective="all_reduce", size=1e6, system=system, groups=groups, level="core"))
        )
    assert times[0].time_s == times[1].time_s


def test_some_ranks_of_two_instances_are_asked_where_two_instances_are() -> None:
    system = load_registry().system("trn1-ultracluster:1875")
    exchange = Exchange(name="", collective="all_reduce", axis=Axis.TENSOR, size=16e6)
    found = ExchangeTimes().time(exchange, Layout(tp=48), system)
    assert found == ExchangeTimes().time(exchange, Layout(tp=48), replace(system, size=3))


def test_a_group_of_all_ranks_is_the_whole_instance() -> None:
    system = load_registry().system("trn1.32xlarge")
    exchange = Exchange(name="", collective="all_reduce", axis=Axis.TENSOR, size=16e6)
    whole = Question(collective="all_reduce", size=16e6, system=system, level="logical-core", context="graph")
    found = ExchangeTimes().time(exchange, Layout(tp=32), system)
    assert _cost(found, system) == pytest.approx(ask(whole).time_s, rel=1e-9)


def test_ranks_that_are_alone_send_nothing(cluster: System) -> None:
    exchange = Exchange(name="", collective="all_reduce", axis=Axis.TENSOR, size=16e6)
    assert ExchangeTimes().time(exchange, Layout(dp=64), cluster) == (0.0, 0.0)
