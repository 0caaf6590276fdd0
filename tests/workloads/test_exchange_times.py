"""Collectives of a step: a smaller question than the whole cluster has the same answer."""

from __future__ import annotations

from typing import Any

import pytest

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


def _whole(collective: str, axis: Axis, layout: Layout, system: System) -> float:
    groups: Any = layout.groups(axis)
    asked = Question(
        collective=collective, size=64e6, system=system, groups=groups, level="logical-core", context="graph"
    )
    return ask(asked).time_s


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_one_group_across_instances_stands_for_all_that_share_its_adapter(
    collective: str, cluster: System
) -> None:
    layout = Layout(tp=32, dp=2)
    exchange = Exchange(name="", collective=collective, axis=Axis.REPLICA, size=64e6)
    found = ExchangeTimes().time(exchange, layout, cluster)
    assert _cost(found, cluster) == pytest.approx(_whole(collective, Axis.REPLICA, layout, cluster), rel=1e-9)


def test_stages_on_several_instances_send_over_one_adapter_alike(cluster: System) -> None:
    layout = Layout(tp=32, pp=2)
    exchange = Exchange(name="", collective="permute", axis=Axis.PIPELINE, size=64e6)
    found = ExchangeTimes().time(exchange, layout, cluster)
    assert _cost(found, cluster) == pytest.approx(_whole("permute", Axis.PIPELINE, layout, cluster), rel=1e-9)


def test_groups_inside_instances_take_as_long_as_those_of_one(cluster: System) -> None:
    layout = Layout(tp=8, dp=8)
    exchange = Exchange(name="", collective="all_reduce", axis=Axis.TENSOR, size=64e6)
    found = ExchangeTimes().time(exchange, layout, cluster)
    assert _cost(found, cluster) == pytest.approx(
        _whole("all_reduce", Axis.TENSOR, layout, cluster), rel=1e-9
    )


def test_a_group_of_all_ranks_is_the_whole_instance() -> None:
    system = load_registry().system("trn1.32xlarge")
    exchange = Exchange(name="", collective="all_reduce", axis=Axis.TENSOR, size=16e6)
    whole = Question(collective="all_reduce", size=16e6, system=system, level="logical-core", context="graph")
    found = ExchangeTimes().time(exchange, Layout(tp=32), system)
    assert _cost(found, system) == pytest.approx(ask(whole).time_s, rel=1e-9)


def test_ranks_that_are_alone_send_nothing(cluster: System) -> None:
    exchange = Exchange(name="", collective="all_reduce", axis=Axis.TENSOR, size=16e6)
    assert ExchangeTimes().time(exchange, Layout(dp=64), cluster) == (0.0, 0.0)
