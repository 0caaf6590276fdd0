"""How much of a machine a case uses."""

from __future__ import annotations

import msgspec

from trnbench.facts.scope import Scope


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """`ranks` take part in a collective: one per device, or one per logical core where the kernel says so; a
    core kernel has one.
    """

    scope: Scope
    cores: int = 1
    devices: int = 1
    hosts: int = 1
    ranks: int = 1

    @property
    def cores_of_device(self) -> int:
        """Cores of one device that are at work."""
        return max(self.cores // max(self.devices, 1), 1)

    @property
    def rank_kind(self) -> str:
        """What a rank of a collective is."""
        return "logical core" if self.ranks > self.devices else "device"
