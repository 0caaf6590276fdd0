"""What the GPU said of itself while it was measured: clocks, power, and why they were held down."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from trnbench import Witness, show
from trnbench_cuda.smi import IDLE, POWER_CAP, SETTING, SLOWED, Sample

CAPPED_SHARE = 0.05
"""Of the samples under load from which on a cap of the power is worth a word."""


def witness(samples: Iterable[Sample]) -> Witness:
    """Slowed down by heat or by its supply: suspect. Held down by power or by a setting: said."""
    told = tuple(samples)
    busy = [each for each in told if each.reasons is None or not each.reasons & IDLE]
    if not busy:
        return Witness(
            notes=("clocks and power were not seen: nvidia-smi gave no sample while the GPU was at work",)
        )
    counters = _counters(busy)
    known = [each.reasons for each in busy if each.reasons is not None]
    doubts = tuple(
        f"{_share(known, bit)} while it was measured: {words} (nvidia-smi, clocks event reasons)"
        for bit, words in SLOWED.items()
        if any(mask & bit for mask in known)
    )
    notes = []
    if known and sum(bool(mask & POWER_CAP) for mask in known) > CAPPED_SHARE * len(known):
        clock = counters.get("sm_clock_hz")
        at = f", at a clock of {show(clock, 'Hz')}" if clock else ""
        notes.append(f"held down by its power limit in {_share(known, POWER_CAP)}{at}")
    if any(mask & SETTING for mask in known):
        notes.append("its clock is limited by a setting (nvidia-smi -q -d CLOCK)")
    limits = {(each.limit_w, each.usual_limit_w) for each in busy if each.limit_w and each.usual_limit_w}
    notes += [
        f"its power limit is {limit:g} W, {usual:g} W as it was delivered"
        for limit, usual in sorted(limits)
        if limit is not None and usual is not None and limit < usual
    ]
    return Witness(
        counters=counters,
        notes=tuple(notes),
        doubts=doubts,
        detail={"gpu_samples": len(told), "gpu_samples_under_load": len(busy)},
    )


def _counters(busy: list[Sample]) -> dict[str, float]:
    columns = {
        "sm_clock_hz": [each.clock_hz for each in busy],
        "temperature_c": [each.temperature_c for each in busy],
        "power_w": [each.power_w for each in busy],
        "power_limit_w": [each.limit_w for each in busy],
    }
    return {
        name: median(values)
        for name, cells in columns.items()
        if (values := [each for each in cells if each is not None])
    }


def _share(masks: list[int], bit: int) -> str:
    count = sum(bool(mask & bit) for mask in masks)
    return f"{count} of {len(masks)} samples"
