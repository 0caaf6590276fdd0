"""A collective while others run on the same links: each keeps its own pace, all share what they cross."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import AUTO
from trnbench.emulator.fabric.collective import asked, chosen
from trnbench.emulator.fabric.explanation import explained
from trnbench.emulator.fabric.groups import GroupsRunner, checked
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.result import Result
from trnbench.emulator.fabric.runner import Chains, Found, Runner
from trnbench.emulator.fabric.systems import Fabric


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """What runs beside: `size` as `collective.run` takes it; no `groups` for all ranks together."""

    collective: str
    size: float
    algorithm: str = AUTO
    groups: tuple[tuple[int, ...], ...] = ()


def run_beside(
    fabric: Fabric,
    collective: str,
    size: float,
    others: Sequence[Other],
    *,
    algorithm: str = AUTO,
    groups: Sequence[Sequence[int]] = (),
    with_links: bool = False,
) -> Result:
    """The time until `collective` is done, its algorithm chosen among the traffic of `others`, which all
    begin when it does. Notes say by what they run and how much longer it takes than alone.

    Every rank is built node by node. Raises what `collective.run` and `run_groups` raise.
    """
    verb, size = asked(collective, size, len(groups[0]) if groups else fabric.size)
    runner = _runner(fabric, verb, size, groups)
    notes = []
    beside: Chains = ()
    for other in others:
        also, amount = asked(other.collective, other.size, fabric.size)
        found = chosen(_runner(fabric, also, amount, other.groups), other.algorithm)
        beside += found.schedule.sized().chains
        where = f", {len(other.groups)} groups at once" if other.groups else ""
        notes.append(f"beside {other.collective} of {amount:,.0f} B by {found.schedule.algorithm}{where}")
    runner.beside = beside
    together = chosen(runner, algorithm)
    runner.beside = ()
    alone = runner.named(together.schedule.algorithm)
    result = explained(runner, _among(together, alone), collective, algorithm, with_links=with_links)
    longer = together.solution.time_s / alone.solution.time_s
    notes.append(f"{longer:.2f} times as long as alone")
    return msgspec.structs.replace(result, notes=(*result.notes, *notes))


def _among(together: Found, alone: Found) -> Found:
    """What others cost counts as sharing links: latency and accesses at the ends are those of its own."""
    solution = msgspec.structs.replace(together.solution, latency_s=alone.solution.latency_s)
    return msgspec.structs.replace(together, solution=solution)


def _runner(fabric: Fabric, verb: str, size: float, groups: Sequence[Sequence[int]]) -> Runner:
    network: Network = fabric.network
    if groups:
        checked(groups, fabric.size)
        return GroupsRunner(fabric, verb, size, groups)
    return Runner(fabric, network, verb, size)
