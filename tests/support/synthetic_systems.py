"""Systems that look like the real ones: their figures, books of facts and records."""

from __future__ import annotations

from typing import Any

from trnbench import Assumption, Direction, Dispute, Fact, FactBook, Scope, Source, SystemRecord

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


def book(generation: str) -> FactBook:
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


def record(system: tuple[Any, ...]) -> SystemRecord:
    name, generation, title, order, scope, devices, cores, hosts, _, _ = system
    return SystemRecord(
        instance=name,
        generation=generation,
        title=title,
        order=10 * order,
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
