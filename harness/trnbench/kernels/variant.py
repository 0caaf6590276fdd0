"""A further implementation of a kernel that another plugin owns."""

from __future__ import annotations

import msgspec

from trnbench.lazy import Ref


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """`source` carries out the kernel named `kernel` as an implementation of `kind`, which it lacks.

    So that a generation brings what only its language or its data types can say, and takes it along when
    its plugin is left out; axes, formulas and the name of a case stay those of the kernel.
    """

    kernel: str
    kind: str  # "nki-mx", "nki-beta1", …
    source: Ref

    @property
    def name(self) -> str:
        return f"{self.kernel}.{self.kind}"
