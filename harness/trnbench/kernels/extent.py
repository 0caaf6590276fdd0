"""How much of a machine a case uses."""

from __future__ import annotations

import msgspec

from trnbench.facts.scope import Scope


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """`ranks` take part in a collective (devices, unless `rank_is_core`); a core kernel has one."""

    scope: Scope
    cores: int = 1
    devices: int = 1
    hosts: int = 1
    ranks: int = 1
