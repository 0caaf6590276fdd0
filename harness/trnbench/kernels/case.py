"""Kernel × instance × one point on the axes × scope."""

from __future__ import annotations

import msgspec

from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel
from trnbench.results.measurement import CaseKey


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`skip` is "" or the reason this case cannot run here; it is reported, never dropped."""

    key: CaseKey
    kernel: Kernel
    extent: Extent
    skip: str = ""

    @property
    def id(self) -> str:
        return self.key.id
