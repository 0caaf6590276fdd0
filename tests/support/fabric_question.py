"""One collective asked of a fabric in one call, and the systems it is asked on; a schedule flow by flow."""

from __future__ import annotations

from typing import Any, NamedTuple

from trnbench_emulator import ticks
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.explicit import ExplicitFlows
from trnbench_emulator.fabric.flow import Together
from trnbench_emulator.fabric.fluid import simulate
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Schedule
from trnbench_emulator.fabric.systems import Fabric

SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1-ultraserver", "trn3-gen2-ultraserver")
MIB, GIB = 2.0**20, 2.0**30


def run(fabric: Fabric, collective: str, size: float, **more: Any) -> Answer:
    return ask(fabric.question(collective, size, **more))


class Whole(NamedTuple):
    """What a schedule comes to flow by flow: ticks, bytes per link and memory, the end of each chain."""

    total_ticks: int
    carried: Floats
    accessed: Floats
    ends: list[int]


def flow_by_flow(network: Network, schedule: Schedule) -> Whole:
    """By none of the shortcuts of `solve`."""
    carrier = ExplicitFlows(network, schedule)
    flows, last = carrier.expanded(schedule.chains, ticks(schedule.per_message_s))
    outcome = simulate(Together(flows), carrier.rates, schedule.scale)
    ends = [max(outcome.arrival[flow] for flow in each) for each in last]
    carried = outcome.carried
    return Whole(outcome.total, carrier.per_link(carried), carrier.per_device(carried), ends)
