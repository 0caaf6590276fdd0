"""Kernel × instance × one point on the axes × scope."""

from __future__ import annotations

import msgspec

from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, PrimaryMetric
from trnbench.results.measurement import CaseKey


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`skip` is "" or the reason this case cannot run here; it is reported, never dropped.

    `explain`: where its time goes is wanted, not only how much it is. A plan wants that of one scope of
    each kernel and point; a backend that finds it out at no cost may give it at every one.
    """

    key: CaseKey
    kernel: Kernel
    extent: Extent
    skip: str = ""
    explain: bool = True

    @property
    def primary(self) -> PrimaryMetric:
        """What this case reports first and is judged by."""
        return self.kernel.primary_at.get(self.key.scope, self.kernel.primary)

    @property
    def id(self) -> str:
        return self.key.id
