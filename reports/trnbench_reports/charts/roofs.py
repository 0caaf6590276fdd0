"""The flat roofs of a roofline: documented peaks, each with what the clocks allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trnbench import Measurement, PeakChoice
from trnbench_reports import numbers


@dataclass(frozen=True, kw_only=True)
class Roof:
    """One flat roof: the types that share it, the documented figure and what the clocks allow each."""

    names: tuple[str, ...]
    documented: float
    engines: tuple[float, ...]
    shared: bool  # a smaller scope's share of a documented figure, not a printed one
    main: bool  # of the 16-bit type: its ridge is labelled


def choices(cases: Sequence[Measurement], metric: str) -> list[PeakChoice]:
    """Every peak of `metric` these cases were, or would have been, judged by; skipped ones included."""
    by_key: dict[tuple[object, ...], PeakChoice] = {}
    for each in cases:
        offered = (each.judgement.peaks, *each.reference_peaks) if each.judgement else each.reference_peaks
        for choice in offered:
            peak = choice.chosen
            if peak.metric == metric and peak.value > 0:
                by_key.setdefault((peak.dtype, peak.sparse, peak.qualifier, peak.value), choice)
    return list(by_key.values())


def roofs(cases: Sequence[Measurement]) -> list[Roof]:
    """Flat roofs from high to low; types with one figure share one line.

    Of an engine that is not the tensor engine only the highest roof is drawn: one line, its name.
    """
    flat: dict[str, list[tuple[str, PeakChoice]]] = defaultdict(list)
    engines: dict[str, PeakChoice] = {}
    for choice in choices(cases, "peak_flops"):
        peak = choice.chosen
        if peak.qualifier:
            held = engines.get(peak.qualifier)
            if held is None or peak.value > held.chosen.value:
                engines[peak.qualifier] = choice
            continue
        name = " ".join(filter(None, (peak.dtype, "sparse" if peak.sparse else ""))) or "peak"
        flat[numbers.significant(peak.value)].append((name, choice))
    for qualifier, choice in engines.items():
        flat[numbers.significant(choice.chosen.value)].append((f"{qualifier} engine", choice))
    ordered = sorted(flat.values(), key=lambda group: -group[0][1].chosen.value)
    main = next((i for i, group in enumerate(ordered) if {"bf16", "fp16"} & {n for n, _ in group}), 0)
    return [
        Roof(
            names=tuple(dict.fromkeys(name for name, _ in group)),
            documented=group[0][1].chosen.value,
            engines=tuple(sorted({c.engine_bound.value for _, c in group if c.engine_bound})),
            shared=group[0][1].chosen.evidence != "documented",
            main=i == main,
        )
        for i, group in enumerate(ordered)
    ]
