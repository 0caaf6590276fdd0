"""The figure of a device's links as bus bandwidth of so many ranks: one definition for both of a share."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from trnbench.facts.peak import Peak, PeakChoice
from trnbench.kernels.extent import Extent


def scaled(choice: PeakChoice, factor: Fraction, extent: Extent) -> PeakChoice:
    """Every figure of `choice` times `factor`; itself where that is 1."""
    if factor == 1:
        return choice
    why = f"{factor} of it: busbw counts {extent.ranks:,} ranks on the links of {extent.devices:,} devices"

    def times(peak: Peak) -> Peak:
        formula = f"{peak.formula or 'the figure'} × {factor}"
        return msgspec.structs.replace(
            peak, value=peak.value * float(factor), evidence="derived", formula=formula
        )

    return msgspec.structs.replace(
        choice,
        chosen=times(choice.chosen),
        alternatives=tuple(map(times, choice.alternatives)),
        engine_bound=times(choice.engine_bound) if choice.engine_bound else None,
        note="; ".join(filter(None, (choice.note, why))),
    )
