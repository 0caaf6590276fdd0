"""Runs that look like the default run, made from arithmetic alone: no plugin, no backend, no store."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from trnbench import (
    Assumption,
    CaseKey,
    Direction,
    Dispute,
    Evidence,
    Fact,
    FactBook,
    Grade,
    Judgement,
    Measurement,
    Metric,
    Part,
    Peak,
    PeakChoice,
    PeakPolicy,
    PluginRecord,
    Reason,
    Run,
    Scope,
    Source,
    Status,
    SystemRecord,
)

# name, generation, title, order, scope, devices, cores per device, hosts, dense bf16 flop/s, hbm B/s
SYSTEMS = [
    ("trn1.2xlarge", "trn1", "Trn1 2xlarge", 1, Scope.INSTANCE, 1, 2, 1, 210e12, 820 * 2**30),
    ("trn1.32xlarge", "trn1", "Trn1 32xlarge", 1, Scope.INSTANCE, 16, 2, 1, 3360e12, 13120 * 2**30),
    ("trn1-ultracluster", "trn1", "Trn1 UltraCluster", 1, Scope.CLUSTER, 64, 2, 4, 13440e12, 52480 * 2**30),
    ("trn2-16.48xlarge", "trn2", "Trn2-16 48xlarge", 2, Scope.INSTANCE, 16, 8, 1, 10e15, 46.4e12),
    ("u-trn2x64", "trn2", "u-trn2x64 UltraServer", 2, Scope.ULTRASERVER, 64, 8, 4, 40e15, 185.6e12),
    (
        "trn3-gen1-ultraserver",
        "trn3",
        "Trn3 Gen1 UltraServer",
        3,
        Scope.ULTRASERVER,
        64,
        8,
        16,
        42944e12,
        313.6e12,
    ),
    (
        "trn3-gen2-ultraserver",
        "trn3",
        "Trn3 Gen2 UltraServer",
        3,
        Scope.ULTRASERVER,
        144,
        8,
        36,
        96624e12,
        705.6e12,
    ),
]
DTYPE_FACTOR = {
    "trn1": {"bf16": 1.0, "fp8": 1.0, "fp32": 0.25, "int8": 2.0},
    "trn2": {"bf16": 1.0, "fp8": 2.0, "fp32": 0.29, "int8": 0.0},
    "trn3": {"bf16": 1.0, "fp8": 3.75, "fp32": 0.27, "int8": 0.0},
}
DOCUMENT = {"trn1": "Trn1 architecture", "trn2": "Trn2 architecture", "trn3": "Trn3 architecture"}
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
    unvalidated: bool = False,
    extra: tuple[Metric, ...] = (),
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
        evidence=Evidence(
            grade=Grade.EMULATED, by="roofline and alpha-beta", version="1", unvalidated=unvalidated
        ),
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
        implementation=f"nki: trnbench.kernels.nki.{kernel}:{kernel}",
        judgement=judgement,
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


def _gemm(system: tuple[Any, ...], scope: Scope, sizes: tuple[int, ...]) -> list[Measurement]:
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


def _memory(system: tuple[Any, ...], kernel: str, scope: Scope, sizes: tuple[int, ...]) -> list[Measurement]:
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


def _collective(system: tuple[Any, ...], kernel: str, sizes: tuple[int, ...]) -> list[Measurement]:
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
                unvalidated=system[1] == "trn3",
                work={"link_bytes": float(size)},
                parts=(Part(name="link", seconds=time_s - alpha), Part(name="latency", seconds=alpha)),
            )
        )
    return found


def _latency(system: tuple[Any, ...]) -> Measurement:
    value = Metric(name="latency_s", value=1.4e-6 * system[3], unit="s", better="lower", scope=Scope.CORE)
    return _measure(system, "dma_latency", "dma", Scope.CORE, {"size": 64}, value, None, time_s=value.value)


def _book(generation: str) -> FactBook:
    page, chip = f"{generation}-page", f"{generation}-chip"
    facts = []
    for system in SYSTEMS:
        if system[1] != generation:
            continue
        for dtype in ("bf16", "fp8", "fp32"):
            value = system[8] * DTYPE_FACTOR[generation][dtype]
            facts.append(
                Fact(
                    subject=system[0],
                    metric="peak_flops",
                    printed=f"{value / 1e12:,g}",
                    printed_unit="TFLOPS",
                    value=value,
                    scope=system[4],
                    source=page,
                    locator="instance table, column FLOPS",
                    dtypes=(dtype,),
                )
            )
        facts.append(
            Fact(
                subject=system[0],
                metric="hbm_bandwidth",
                printed=f"{system[9] / 1e12:g}",
                printed_unit="TB/sec",
                value=float(system[9]),
                scope=system[4],
                source=page,
                locator="instance table, row Device Memory Bandwidth",
            )
        )
    if generation == "trn3":
        for printed, unit, value, source in (
            ("2,048", "GiB/s", 2048 * 2**30, page),
            ("2.56", "TB/s", 2.56e12, chip),
            ("1.2", "TB/s", 1.2e12, "trn3-guide"),
        ):
            facts.append(
                Fact(
                    subject="trainium3",
                    metric="neuronlink_bandwidth",
                    printed=printed,
                    printed_unit=unit,
                    value=float(value),
                    scope=Scope.DEVICE,
                    source=source,
                    locator="NeuronLink-v4",
                    direction=Direction.UNSTATED,
                )
            )
    return FactBook(
        sources={
            page: Source(
                id=page,
                document=DOCUMENT[generation],
                version="2.26",
                date="2025-10-29",
                seed=True,
                path=f"about-neuron/arch/{generation}.rst",
            ),
            chip: Source(
                id=chip,
                document=f"{generation} device page",
                version="2.32",
                date="2026-08-21",
                path="https://example.org/device",
            ),
        },
        facts=tuple(facts),
        assumptions={
            f"{generation}-link-latency": Assumption(
                id=f"{generation}-link-latency",
                metric="latency",
                printed="1.0",
                printed_unit="µs",
                value=1e-6,
                low=0.5e-6,
                high=3e-6,
                reason="no document prints a hop latency",
                subject=generation,
            )
        },
        disputes=(
            Dispute(
                id="C07",
                topic="NeuronLink bandwidth of one device",
                values=("2,048 GiB/s", "2.56 TB/s", "1.2 TB/s"),
                sources=(page, chip, "trn3-guide"),
                subjects=("trainium3",),
                rule="value",
                note="direction is never stated",
            ),
        )
        if generation == "trn3"
        else (),
    )


def _record(system: tuple[Any, ...]) -> SystemRecord:
    name, generation, title, order, scope, devices, cores, hosts, _, _ = system
    return SystemRecord(
        instance=name,
        generation=generation,
        title=title,
        order=order,
        scope=scope,
        device=f"trainium{order}",
        core=f"neuroncore-v{order + 1}",
        devices=devices,
        cores_per_device=cores,
        hosts=hosts,
        aliases=("trn2.48xlarge",) if name == "trn2-16.48xlarge" else (),
        topology_summary={"kind": "torus", "shape": "4×4", "degree": 4, "diameter": 4},
        plugin="trnbench 0.1.0",
    )


def make_run(*, sizes: int = 6, extra_kernels: int = 8, id: str = "20261120T201500Z-a1b2c3") -> Run:
    """About 1,600 cases over 7 systems with the defaults."""
    gemm_sizes = tuple(512 * 2**i for i in range(sizes))
    byte_sizes = tuple(2 ** (16 + 2 * i) for i in range(sizes))
    found: list[Measurement] = []
    for system in SYSTEMS:
        for scope in dict.fromkeys((Scope.CORE, Scope.DEVICE, system[4])):
            found += _gemm(system, scope, gemm_sizes)
            for kernel in ("hbm_read", "hbm_write", "hbm_copy", "softmax", "layernorm", "attention"):
                found += _memory(system, kernel, scope, byte_sizes)
        for index in range(extra_kernels):
            found += _memory(system, f"hbm_stride_{index}", Scope.CORE, byte_sizes)
        for kernel in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
            found += _collective(system, kernel, byte_sizes)
        found.append(_latency(system))
    return Run(
        id=id,
        created="2026-11-20T20:15:00Z",
        finished="2026-11-20T20:15:09Z",
        tool_version="0.1.0",
        argv=("trnbench", "run"),
        settings={"seed": 20261120, "jobs": 2, "policy": "seed", "axes": {"size": [1, 2, 3]}},
        environment={"python": "3.11.2", "os": "Linux", "cpu_count": 2, "emulator": "1"},
        backend="emulator",
        systems={system[0]: _record(system) for system in SYSTEMS},
        books={generation: _book(generation) for generation in ("trn1", "trn2", "trn3")},
        plugins=(
            PluginRecord(name="trn1", distribution="trnbench", version="0.1.0"),
            PluginRecord(name="broken", distribution="other", version="9", error="ImportError: no module x"),
        ),
        measurements=tuple(found),
    )


def with_verdicts(run: Run) -> Run:
    """The same run with one suspect, one failed and one document-low case put in."""
    import msgspec

    cases = list(run.measurements)
    ok = [
        index for index, each in enumerate(cases) if each.status is Status.OK and each.judgement is not None
    ]
    assert all(a < b for a, b in pairwise(ok))
    first, second, third = ok[3], ok[40], ok[80]
    cases[first] = msgspec.structs.replace(
        cases[first], status=Status.SUSPECT, reason_text="1.2 times the engine bound; likely no barrier"
    )
    cases[second] = msgspec.structs.replace(
        cases[second],
        status=Status.FAILED,
        reason=Reason.CRASH,
        reason_text="the worker ended with signal 11",
        metrics={},
        judgement=None,
        time_s=None,
    )
    cases[third] = msgspec.structs.replace(cases[third], status=Status.DOCUMENT_LOW)
    return msgspec.structs.replace(run, measurements=tuple(cases))


HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><script>alert(1)</script>",
    "\u202egnp.exe\u202c \u200f\u200e",
    "\"onmouseover='alert(1)' x=\"",
    "{{ 7*7 }} ${7*7} {% raw %}",
    "name-" * 2000,
    "nul\x00\x1b[31mred\ud7ff",
)


def make_hostile(run: Run) -> Run:
    """The run with hostile words in every place a name or a reason can stand."""
    import msgspec

    replace = msgspec.structs.replace
    cases = list(run.measurements[:60])
    for index, bad in enumerate(HOSTILE):
        case = cases[index]
        cases[index] = replace(
            case,
            case=replace(case.case, kernel=bad, family=bad, point={bad[:40]: bad, "dtype": bad}),
            reason_text=bad,
            bound=bad,
            implementation=bad,
            notes=(bad,),
            detail={bad[:50]: bad},
        )
        cases[index + 10] = replace(cases[index + 10], case=replace(cases[index + 10].case, instance=bad))
        cases[index + 20] = replace(cases[index + 20], status=Status.FAILED, reason_text=bad)
    systems = dict(run.systems)
    first = systems["trn1.2xlarge"]
    for bad in HOSTILE:
        systems[bad] = replace(first, instance=bad, title=bad, generation="trn1")
    book = run.books["trn1"]
    facts = tuple(replace(f, locator=HOSTILE[0], note=HOSTILE[1]) for f in book.facts)
    sources = {
        k: replace(s, document=HOSTILE[1], path="javascript:alert(1)") for k, s in book.sources.items()
    }
    return replace(
        run,
        id=HOSTILE[0],
        argv=HOSTILE,
        environment={bad[:80]: bad for bad in HOSTILE},
        settings={bad[:80]: bad for bad in HOSTILE},
        notes=HOSTILE,
        systems=systems,
        books={**run.books, "trn1": replace(book, facts=facts, sources=sources)},
        measurements=tuple(cases),
    )
