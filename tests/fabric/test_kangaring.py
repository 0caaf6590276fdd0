"""Kangaring's plan moves the bytes that its blocks need, over half the hops of a ring."""

from __future__ import annotations

import pytest

from trnbench.registry import Registry, load_registry
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.algorithms.algorithm import NotPossible
from trnbench_emulator.fabric.systems import Fabric, Options


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.mark.parametrize("system", ["trn1.32xlarge", "inf2.48xlarge", "trn2-16.48xlarge"])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter"])
def test_bytes_of_the_plan_are_those_of_the_blocks(registry: Registry, system: str, collective: str) -> None:
    network = Fabric(registry.system(system), Options(level="logical-core")).network
    kangaring, size = ALGORITHMS["kangaring"], 2.0**26
    schedule = kangaring.schedule(network, collective, size)
    moved = sum(len(each.blocks) for step in kangaring.transfers(network, collective) for each in step)
    block = size / len(schedule.chains) / network.size
    planned = sum(
        move.size * len(move.pairs) * step.times
        for chain in schedule.chains
        for step in chain
        for move in step.moves
    )
    assert planned == pytest.approx(moved * block)
    phases = 2 if collective == "all_reduce" else 1
    # A ring takes n − 1 steps per phase; here n/2 − 1 hops and one or two inside the device.
    assert phases * (network.size // 2) <= schedule.steps <= phases * (network.size // 2) + phases


def test_who_cannot_run_it_is_told_why(registry: Registry) -> None:
    network = Fabric(registry.system("trn2-16.48xlarge")).network
    with pytest.raises(NotPossible) as refusal:
        ALGORITHMS["kangaring"].schedule(network, "all_gather", 1024.0)
    assert str(refusal.value) == (
        "kangaring needs pairs of ranks that share a device\n"
        "  cause: trn2-16.48xlarge has 1 ranks per device here\n"
        "  try:   --ranks core or logical-core, or --algorithm ring"
    )
