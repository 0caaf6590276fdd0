"""Systems that look like the real ones: their figures, books of facts and records."""

from __future__ import annotations

from typing import Any, NamedTuple

from trnbench import Assumption, Direction, Dispute, Fact, FactBook, Scope, Source, SystemRecord


class System(NamedTuple):
    name: str
    title: str
    scope: Scope
    devices: int
    cores: int  # per device
    hosts: int
    flops: float  # of dense bf16
    hbm: float  # B/s

    @property
    def generation(self) -> str:
        return next(each for each in DTYPE_FACTOR if each in self.name)

    @property
    def order(self) -> int:
        return int(self.generation[-1])


INSTANCE, SERVER = Scope.INSTANCE, Scope.ULTRASERVER
SYSTEMS = [
    System("trn1.2xlarge", "Trn1 2xlarge", INSTANCE, 1, 2, 1, 210e12, 820 * 2**30),
    System("trn1.32xlarge", "Trn1 32xlarge", INSTANCE, 16, 2, 1, 3360e12, 13120 * 2**30),
    System("trn1-ultracluster", "Trn1 UltraCluster", Scope.CLUSTER, 64, 2, 4, 13440e12, 52480 * 2**30),
    System("trn2-16.48xlarge", "Trn2-16 48xlarge", INSTANCE, 16, 8, 1, 10e15, 46.4e12),
    System("u-trn2x64", "u-trn2x64 UltraServer", SERVER, 64, 8, 4, 40e15, 185.6e12),
    System("trn3-gen1-ultraserver", "Trn3 Gen1 UltraServer", SERVER, 64, 8, 16, 42944e12, 313.6e12),
    System("trn3-gen2-ultraserver", "Trn3 Gen2 UltraServer", SERVER, 144, 8, 36, 96624e12, 705.6e12),
]

DTYPE_FACTOR = {
    "trn1": {"bf16": 1.0, "fp8": 1.0, "fp32": 0.25, "int8": 2.0},
    "trn2": {"bf16": 1.0, "fp8": 2.0, "fp32": 0.29, "int8": 0.0},
    "trn3": {"bf16": 1.0, "fp8": 3.75, "fp32": 0.27, "int8": 0.0},
}
NEURONLINK = [("2,048", "GiB/s", 2048 * 2**30, "page"), ("2.56", "TB/s", 2.56e12, "chip"),
              ("1.2", "TB/s", 1.2e12, "guide")]  # fmt: skip
"""What documents print for a device of Trn3, and which of them."""


def _facts(generation: str) -> list[Fact]:
    facts = []

    def add(subject: str, metric: str, printed: str, value: float, scope: Scope, **more: Any) -> None:
        given = {"source": f"{generation}-page", **more}
        facts.append(Fact(subject=subject, metric=metric, printed=printed, value=value, scope=scope, **given))

    for system in SYSTEMS:
        if system.generation != generation:
            continue
        where = {"printed_unit": "TFLOPS", "locator": "instance table, column FLOPS"}
        for dtype in ("bf16", "fp8", "fp32"):
            value = system.flops * DTYPE_FACTOR[generation][dtype]
            printed = f"{value / 1e12:,g}"
            add(system.name, "peak_flops", printed, value, system.scope, dtypes=(dtype,), **where)
        where = {"printed_unit": "TB/sec", "locator": "instance table, row Device Memory Bandwidth"}
        printed = f"{system.hbm / 1e12:g}"
        add(system.name, "hbm_bandwidth", printed, float(system.hbm), system.scope, **where)
    for printed, unit, value, source in NEURONLINK if generation == "trn3" else ():
        where = {"printed_unit": unit, "locator": "NeuronLink-v4", "source": f"trn3-{source}"}
        direction = Direction.UNSTATED
        add(
            "trainium3",
            "neuronlink_bandwidth",
            printed,
            float(value),
            Scope.DEVICE,
            direction=direction,
            **where,
        )
    return facts


def book(generation: str) -> FactBook:
    page, chip, latency = f"{generation}-page", f"{generation}-chip", f"{generation}-link-latency"
    about, device = f"about-neuron/arch/{generation}.rst", "https://example.org/device"
    title = f"{generation.title()} architecture"
    first = Source(id=page, document=title, version="2.26", date="2025-10-29", seed=True, path=about)
    second = Source(
        id=chip, document=f"{generation} device page", version="2.32", date="2026-08-21", path=device
    )
    assumed = Assumption(
        id=latency, metric="latency", printed="1.0", printed_unit="µs", value=1e-6, low=0.5e-6, high=3e-6,
        reason="no document prints a hop latency", subject=generation,
    )  # fmt: skip
    dispute = Dispute(
        id="C07",
        topic="NeuronLink bandwidth of one device",
        values=tuple(f"{printed} {unit}" for printed, unit, _, _ in NEURONLINK),
        sources=tuple(f"trn3-{source}" for _, _, _, source in NEURONLINK),
        subjects=("trainium3",),
        rule="value",
        note="direction is never stated",
    )
    return FactBook(
        sources={page: first, chip: second},
        facts=tuple(_facts(generation)),
        assumptions={latency: assumed},
        disputes=(dispute,) if generation == "trn3" else (),
    )


def record(system: System) -> SystemRecord:
    return SystemRecord(
        instance=system.name,
        generation=system.generation,
        title=system.title,
        order=10 * system.order,
        scope=system.scope,
        device=f"trainium{system.order}",
        core=f"neuroncore-v{system.order + 1}",
        devices=system.devices,
        cores_per_device=system.cores,
        hosts=system.hosts,
        aliases=("trn2.48xlarge",) if system.name == "trn2-16.48xlarge" else (),
        topology_summary={"kind": "torus", "shape": "4×4", "degree": 4, "diameter": 4},
        plugin="trnbench 0.1.0",
    )
