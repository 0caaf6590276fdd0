"""Cases that look like measured ones, from arithmetic alone: a time, its rate, and the peak beside it."""

from __future__ import annotations

import math
from typing import Any

from synthetic_systems import DTYPE_FACTOR

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
)

ELEMENT_BYTES = {"bf16": 2, "fp8": 1, "fp32": 4, "int8": 1}


def _peak(system: tuple[Any, ...], metric: str, scope: Scope, dtype: str = "", **more: Any) -> PeakChoice:
    name, generation, _, _, _, devices, cores, _, flops, hbm = system
    units = {Scope.CORE: devices * cores, Scope.DEVICE: devices}.get(scope, 1)
    whole = {
        "peak_flops": flops * DTYPE_FACTOR[generation].get(dtype, 1.0),
        "hbm_bandwidth": hbm,
        "neuronlink_bandwidth": 1.024e12,
        "efa_bandwidth": 100e9,
    }[metric]
    value = whole / units if metric in ("peak_flops", "hbm_bandwidth") else whole
    derived = units > 1
    source = f"{generation}-page"
    chosen = Peak(
        metric=metric,
        value=value,
        scope=scope,
        dtype=dtype,
        evidence="derived" if derived else "documented",
        formula=f"{whole:g} / {units}" if derived else "",
        facts=(f"{name}/{metric}{f'[{dtype}]' if dtype else ''}@{source}",),
        source=source,
        policy=PeakPolicy.SEED,
        **more,
    )
    other = Peak(
        metric=metric,
        value=value * 0.95,
        scope=scope,
        dtype=dtype,
        source=f"{generation}-chip",
        policy=PeakPolicy.DEVICE,
        superseded_by=f"{generation}-page",
        **more,
    )
    bound = None
    if metric == "peak_flops":
        bound = Peak(
            metric=metric,
            value=value * 1.007,
            scope=scope,
            dtype=dtype,
            evidence="derived",
            formula="128 rows × 128 columns × 2 × clock × cores",
            policy=PeakPolicy.ENGINE,
        )
    return PeakChoice(policy=PeakPolicy.SEED, chosen=chosen, alternatives=(other,), engine_bound=bound)


def _measure(
    system: tuple[Any, ...],
    kernel: str,
    family: str,
    scope: Scope,
    point: dict[str, Any],
    metric: Metric,
    peak: PeakChoice | None,
    *,
    time_s: float,
    work: dict[str, float] | None = None,
    parts: tuple[Part, ...] = (),
    extra: tuple[Metric, ...] = (),
    detail: dict[str, Any] | None = None,
) -> Measurement:
    judgement = None
    status = Status.OK
    if peak is not None:
        fraction = metric.value / peak.chosen.value
        bound = peak.engine_bound
        of_bound = metric.value / bound.value if bound else None
        if of_bound is not None and of_bound > 1:
            status = Status.SUSPECT
        elif fraction > 1:
            status = Status.DOCUMENT_LOW
        judgement = Judgement(
            metric=metric.name,
            fraction=fraction,
            peaks=peak,
            of_engine_bound=of_bound,
            causes=("the clock ran above the documented one",) if fraction > 1 else (),
        )
    return Measurement(
        case=CaseKey(
            kernel=kernel, family=family, instance=system[0], generation=system[1], scope=scope, point=point
        ),
        evidence=Evidence(grade=Grade.EMULATED, by="roofline and alpha-beta", version="1"),
        status=status,
        reason_text="above what the clocks allow" if status is Status.SUSPECT else "",
        time_s=time_s,
        clock="model",
        stop_reason="deterministic model",
        metrics={m.name: m for m in (metric, *extra)},
        primary=metric.name,
        work=work or {},
        parts=parts or (Part(name="tensor", seconds=time_s * 0.9), Part(name="launch", seconds=time_s * 0.1)),
        bound=(parts or (Part(name="tensor", seconds=0.0),))[0].name,
        implementation=f"nki: trnbench_kernels.nki.{kernel}:{kernel}",
        judgement=judgement,
        detail=detail or {},
    )


def _skip(
    system: tuple[Any, ...],
    kernel: str,
    family: str,
    scope: Scope,
    point: dict[str, Any],
    why: str,
    peak: Any,
) -> Measurement:
    return Measurement(
        case=CaseKey(
            kernel=kernel, family=family, instance=system[0], generation=system[1], scope=scope, point=point
        ),
        evidence=Evidence(grade=Grade.EMULATED, by="roofline and alpha-beta", version="1"),
        status=Status.SKIPPED,
        reason_text=why,
        reference_peaks=(peak,) if peak else (),
    )


def gemm(system: tuple[Any, ...], scope: Scope, sizes: tuple[int, ...]) -> list[Measurement]:
    found: list[Measurement] = []
    for dtype in ("bf16", "fp8", "fp32", "int8"):
        for size in sizes:
            peak = _peak(system, "peak_flops", scope, dtype)
            point = {"dtype": dtype, "m": size, "n": size, "k": size}
            if dtype == "int8":
                reference = peak if peak.chosen.value else None
                found.append(
                    _skip(system, "gemm", "gemm", scope, point, "no public instruction for INT8", reference)
                )
                continue
            units = {Scope.CORE: 1}.get(scope, system[5] if scope is not Scope.DEVICE else 1)
            flops = 2.0 * size**3 * units
            moved = 3.0 * size * size * ELEMENT_BYTES[dtype] * units
            hbm = _peak(system, "hbm_bandwidth", scope).chosen.value
            top = peak.chosen.value * 0.925
            parts = {"tensor": flops / top, "hbm": moved / (0.9 * hbm), "launch": 4e-6}
            time_s = max(parts["tensor"], parts["hbm"]) + parts["launch"]
            ordered = tuple(Part(name=n, seconds=s) for n, s in sorted(parts.items(), key=lambda p: -p[1]))
            value = Metric(
                name="flops_per_s",
                value=flops / time_s,
                unit="FLOP/s",
                better="higher",
                scope=scope,
                formula="2·M·N·K / time",
            )
            extra = Metric(
                name="hbm_bytes_per_s", value=moved / time_s, unit="B/s", better="higher", scope=scope
            )
            found.append(
                _measure(
                    system,
                    "gemm",
                    "gemm",
                    scope,
                    point,
                    value,
                    peak,
                    time_s=time_s,
                    parts=ordered,
                    work={"flops": flops, "hbm_bytes": moved},
                    extra=(extra,),
                )
            )
    return found


def memory(system: tuple[Any, ...], kernel: str, scope: Scope, sizes: tuple[int, ...]) -> list[Measurement]:
    found = []
    for size in sizes:
        peak = _peak(system, "hbm_bandwidth", scope)
        time_s = 2e-6 + size / (0.91 * peak.chosen.value)
        value = Metric(
            name="hbm_bytes_per_s",
            value=size / time_s,
            unit="B/s",
            better="higher",
            scope=scope,
            formula="bytes / time",
        )
        flops = size / 4 * {"softmax": 5, "layernorm": 8, "attention": 120}.get(kernel, 0.5)
        extra = (
            Metric(name="flops_per_s", value=flops / time_s, unit="FLOP/s", better="higher", scope=scope),
        )
        found.append(
            _measure(
                system,
                kernel,
                "hbm" if kernel.startswith("hbm") else "normalisation",
                scope,
                {"dtype": "fp32", "size": size},
                value,
                peak,
                time_s=time_s,
                extra=extra,
                work={"hbm_bytes": float(size), "flops": flops},
                parts=(Part(name="hbm", seconds=time_s - 2e-6), Part(name="launch", seconds=2e-6)),
            )
        )
    return found


def collective(system: tuple[Any, ...], kernel: str, sizes: tuple[int, ...]) -> list[Measurement]:
    found = []
    ranks = system[5]
    for size in sizes:
        point = {"size": size}
        if ranks == 1:
            found.append(
                _skip(
                    system,
                    kernel,
                    "collective",
                    system[4],
                    point,
                    f"needs 2 devices, {system[0]} has 1",
                    None,
                )
            )
            continue
        peak = _peak(
            system,
            "neuronlink_bandwidth",
            system[4],
            direction=Direction.UNSTATED,
            qualifier="intra-instance",
        )
        alpha = 3e-6 * math.log2(ranks)
        time_s = alpha + size * 2 * (ranks - 1) / ranks / (0.7 * peak.chosen.value)
        busbw = Metric(
            name="busbw_bytes_per_s",
            value=size * 2 * (ranks - 1) / ranks / time_s,
            unit="B/s",
            better="higher",
            scope=system[4],
            direction=Direction.ONE_WAY,
            formula="size · 2(n−1)/n / time",
        )
        algbw = Metric(
            name="algbw_bytes_per_s",
            value=size / time_s,
            unit="B/s",
            better="higher",
            scope=system[4],
            formula="size / time",
        )
        found.append(
            _measure(
                system,
                kernel,
                "collective",
                system[4],
                point,
                busbw,
                peak,
                time_s=time_s,
                extra=(algbw,),
                work={"link_bytes": float(size)},
                parts=(Part(name="link", seconds=time_s - alpha), Part(name="latency", seconds=alpha)),
                detail={
                    "rank": "device" if kernel == "all_to_all" else "logical-core",
                    "bound_s": 0.6 * time_s,
                    "tried_s": {"ring": time_s, "mesh": 0.8 * time_s},
                },
            )
        )
    return found


def latency(system: tuple[Any, ...]) -> Measurement:
    value = Metric(name="latency_s", value=1.4e-6 * system[3], unit="s", better="lower", scope=Scope.CORE)
    return _measure(system, "dma_latency", "dma", Scope.CORE, {"size": 64}, value, None, time_s=value.value)
