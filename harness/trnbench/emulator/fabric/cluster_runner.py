"""A collective over any number of instances, carried out on the few that stand for all."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.emulator.fabric import cluster
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.runner import Runner
from trnbench.emulator.fabric.schedule import Schedule
from trnbench.emulator.fabric.systems import Fabric


class ClusterRunner(Runner):
    """`Fabric.standing` says which instances stand for all, `cluster` why that is exact."""

    def __init__(self, fabric: Fabric, collective: str, size: float) -> None:
        super().__init__(fabric, fabric.standing(), collective, size)
        self.ranks = fabric.size

    def network_of(self, name: str) -> Network:
        return self.fabric.standing(pipelined=name in cluster.PIPELINED)

    def names(self) -> tuple[str, ...]:
        return cluster.algorithms(self.collective)

    @property
    def instances(self) -> int:
        return self.fabric.system.size

    def meant(self, name: str) -> bool:
        return name in self.names()

    def _too_slow(self, name: str, *, quick: bool) -> str:
        return ""

    def schedule(self, name: str) -> Schedule:
        network = self.network_of(name)
        return self._sized(
            network,
            name,
            lambda: cluster.plan(name, network, self.collective, 1.0, self.fabric.system.size),
        )


def runner_of(fabric: Fabric, collective: str, size: float, group: Sequence[int] | None = None) -> Runner:
    """What carries out one collective over all ranks, or over these.

    Raises UsageError for a rank that is not there, TopologyError where ranks are too many or apart.
    """
    if fabric.clustered and group is None:
        return ClusterRunner(fabric, collective, size)
    return Runner(fabric, fabric.network_of(group), collective, size)
