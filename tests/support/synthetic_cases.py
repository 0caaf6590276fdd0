"""Cases that look like measured ones, from arithmetic alone: a time, its rate, and the peak beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from synthetic_systems import DTYPE_FACTOR, System

from trnbench import (
    CaseKey,
    Direction,
    Evidence,
    Grade,
    Judgement,
    Measurement,
    Metric,
    Part,
    Peak,
    PeakChoice,
    PeakPolicy,
    Scope,
    Status,
)  # fmt: skip

ELEMENT_BYTES = {"bf16": 2, "fp8": 1, "fp32": 4, "int8": 1}
FAMILIES = {"gemm": "gemm", "dma_latency": "dma", "softmax": "normalisation", "layernorm": "normalisation",
            "attention": "normalisation"}  # fmt: skip
"""Of kernels whose name does not begin with hbm; all others are collectives."""


def _peak(system: System, metric: str, scope: Scope, dtype: str = "", **more: Any) -> PeakChoice:
    units = {Scope.CORE: system.devices * system.cores, Scope.DEVICE: system.devices}.get(scope, 1)
    flops = system.flops * DTYPE_FACTOR[system.generation].get(dtype, 1.0)
    links = {"neuronlink_bandwidth": 1.024e12, "efa_bandwidth": 100e9}
    whole = {"peak_flops": flops, "hbm_bandwidth": system.hbm, **links}[metric]
    value = whole if metric in links else whole / units
    page = f"{system.generation}-page"

    def peak(value: float, policy: PeakPolicy, **of: Any) -> Peak:
        return Peak(metric=metric, value=value, scope=scope, dtype=dtype, policy=policy, **of)

    derived = {"evidence": "derived", "formula": f"{whole:g} / {units}"} if units > 1 else {}
    fact = f"{system.name}/{metric}{f'[{dtype}]' if dtype else ''}@{page}"
    chosen = peak(value, PeakPolicy.SEED, facts=(fact,), source=page, **{**derived, **more})
    chip = {"source": f"{system.generation}-chip", "superseded_by": page}
    other = peak(value * 0.95, PeakPolicy.DEVICE, **chip, **more)
    clocks = "128 rows × 128 columns × 2 × clock × cores"
    bound = peak(value * 1.007, PeakPolicy.ENGINE, evidence="derived", formula=clocks)
    bound = bound if metric == "peak_flops" else None
    return PeakChoice(policy=PeakPolicy.SEED, chosen=chosen, alternatives=(other,), engine_bound=bound)


def _case(system: System, kernel: str, scope: Scope, point: dict[str, Any], **fields: Any) -> Measurement:
    family = "hbm" if kernel.startswith("hbm") else FAMILIES.get(kernel, "collective")
    about = {"instance": system.name, "generation": system.generation, "scope": scope, "point": point}
    return Measurement(
        case=CaseKey(kernel=kernel, family=family, **about),
        evidence=Evidence(grade=Grade.EMULATED, by="roofline and alpha-beta", version="1"),
        **fields,
    )


def _judged(metric: Metric, peak: PeakChoice) -> tuple[Judgement, Status]:
    fraction, bound = metric.value / peak.chosen.value, peak.engine_bound
    of_bound = metric.value / bound.value if bound else None
    causes = ("the clock ran above the documented one",) if fraction > 1 else ()
    judgement = Judgement(
        metric=metric.name, fraction=fraction, peaks=peak, of_engine_bound=of_bound, causes=causes
    )
    if of_bound is not None and of_bound > 1:
        return judgement, Status.SUSPECT
    return judgement, Status.DOCUMENT_LOW if fraction > 1 else Status.OK


def _measure(
    system: System, kernel: str, scope: Scope, point: dict[str, Any], metrics: tuple[Metric, ...],
    peak: PeakChoice | None, time_s: float, parts: Mapping[str, float] = {}, **fields: Any,
) -> Measurement:  # fmt: skip
    """A case whose first metric is its own, judged where it has a peak."""
    judgement, status = _judged(metrics[0], peak) if peak else (None, Status.OK)
    parts = parts or {"tensor": time_s * 0.9, "launch": time_s * 0.1}
    return _case(
        system,
        kernel,
        scope,
        point,
        status=status,
        reason_text="above what the clocks allow" if status is Status.SUSPECT else "",
        time_s=time_s,
        clock="model",
        stop_reason="deterministic model",
        metrics={each.name: each for each in metrics},
        primary=metrics[0].name,
        parts=tuple(Part(name=name, seconds=seconds) for name, seconds in parts.items()),
        bound=next(iter(parts)),
        implementation=f"nki: trnbench_kernels.nki.{kernel}:{kernel}",
        judgement=judgement,
        **fields,
    )


def _skip(
    system: System, kernel: str, scope: Scope, point: dict[str, Any], why: str, *peaks: PeakChoice
) -> Measurement:
    skipped = {"status": Status.SKIPPED, "reason_text": why, "reference_peaks": peaks}
    return _case(system, kernel, scope, point, **skipped)


def _rate(name: str, value: float, scope: Scope, **more: Any) -> Metric:
    unit = "FLOP/s" if "flops" in name else "B/s"
    return Metric(name=name, value=value, unit=unit, better="higher", scope=scope, **more)


def gemm(system: System, scope: Scope, sizes: tuple[int, ...]) -> list[Measurement]:
    return [_product(system, scope, dtype, size) for dtype in ELEMENT_BYTES for size in sizes]


def _product(system: System, scope: Scope, dtype: str, size: int) -> Measurement:
    peak = _peak(system, "peak_flops", scope, dtype)
    point = {"dtype": dtype, "m": size, "n": size, "k": size}
    if dtype == "int8":
        reference = (peak,) if peak.chosen.value else ()
        return _skip(system, "gemm", scope, point, "no public instruction for INT8", *reference)
    units = 1 if scope in (Scope.CORE, Scope.DEVICE) else system.devices
    flops = 2.0 * size**3 * units
    moved = 3.0 * size * size * ELEMENT_BYTES[dtype] * units
    hbm = _peak(system, "hbm_bandwidth", scope).chosen.value
    parts = {"tensor": flops / (peak.chosen.value * 0.925), "hbm": moved / (0.9 * hbm), "launch": 4e-6}
    time_s = max(parts["tensor"], parts["hbm"]) + parts["launch"]
    metrics = (
        _rate("flops_per_s", flops / time_s, scope, formula="2·M·N·K / time"),
        _rate("hbm_bytes_per_s", moved / time_s, scope),
    )
    ordered = dict(sorted(parts.items(), key=lambda part: -part[1]))
    work = {"flops": flops, "hbm_bytes": moved}
    return _measure(system, "gemm", scope, point, metrics, peak, time_s, ordered, work=work)


def memory(system: System, kernel: str, scope: Scope, sizes: tuple[int, ...]) -> list[Measurement]:
    found = []
    for size in sizes:
        peak = _peak(system, "hbm_bandwidth", scope)
        time_s = 2e-6 + size / (0.91 * peak.chosen.value)
        flops = size / 4 * {"softmax": 5, "layernorm": 8, "attention": 120}.get(kernel, 0.5)
        metrics = (
            _rate("hbm_bytes_per_s", size / time_s, scope, formula="bytes / time"),
            _rate("flops_per_s", flops / time_s, scope),
        )
        point, parts = {"dtype": "fp32", "size": size}, {"hbm": time_s - 2e-6, "launch": 2e-6}
        work = {"hbm_bytes": float(size), "flops": flops}
        found.append(_measure(system, kernel, scope, point, metrics, peak, time_s, parts, work=work))
    return found


def collective(system: System, kernel: str, sizes: tuple[int, ...]) -> list[Measurement]:
    return [_linked(system, kernel, size) for size in sizes]


def _linked(system: System, kernel: str, size: int) -> Measurement:
    ranks, scope, point = system.devices, system.scope, {"size": size}
    if ranks == 1:
        return _skip(system, kernel, scope, point, f"needs 2 devices, {system.name} has 1")
    stated = {"direction": Direction.UNSTATED, "qualifier": "intra-instance"}
    peak = _peak(system, "neuronlink_bandwidth", scope, **stated)
    alpha, sent = 3e-6 * math.log2(ranks), size * 2 * (ranks - 1) / ranks
    time_s = alpha + sent / (0.7 * peak.chosen.value)
    one_way = {"direction": Direction.ONE_WAY, "formula": "size · 2(n−1)/n / time"}
    metrics = (
        _rate("busbw_bytes_per_s", sent / time_s, scope, **one_way),
        _rate("algbw_bytes_per_s", size / time_s, scope, formula="size / time"),
    )
    detail = {
        "rank": "device" if kernel == "all_to_all" else "logical-core",
        "bound_s": 0.6 * time_s,
        "tried_s": {"ring": time_s, "mesh": 0.8 * time_s},
    }
    parts, work = {"link": time_s - alpha, "latency": alpha}, {"link_bytes": float(size)}
    return _measure(system, kernel, scope, point, metrics, peak, time_s, parts, work=work, detail=detail)


def latency(system: System) -> Measurement:
    time_s = 1.4e-6 * system.order
    metric = Metric(name="latency_s", value=time_s, unit="s", better="lower", scope=Scope.CORE)
    return _measure(system, "dma_latency", Scope.CORE, {"size": 64}, (metric,), None, time_s)
