"""Micro-benchmarks of what starts with Trainium3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from trnbench import (
    Axis,
    Direction,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    PublishedAs,
    Scope,
    Spread,
    Statement,
    Variant,
    Work,
    asks,
    item_bytes,
    per_core,
    word_axis,
)

if TYPE_CHECKING:
    from trnbench import Topology

_MICROSCALED = {
    "gemm": "gemm_mx_best:gemm_mx_best",
    "gemm_naive": "gemm_mx:gemm_mx_naive",
    "gemm_blocked": "gemm_mx:gemm_mx_blocked",
    "gemm_shared": "gemm_mx_best:gemm_mx_best",
    "gemm_skinny": "gemm_mx_best:gemm_mx_best",
    "gemm_ragged": "gemm_mx_best:gemm_mx_best",
    "tensor_throughput": "engines_mx:tensor_mx_burst",
}


def microscaled_variants() -> Iterator[Variant]:
    """One for each kernel whose axes name MXFP8 and MXFP4."""
    for kernel, source in _MICROSCALED.items():
        yield Variant(kernel=kernel, kind="nki-mx", source=f"trnbench_trn3.nki.{source}")


LANES = 128  # partitions
_SETS = 4  # results that a burst goes round


def _moved(point: Point) -> float:
    """Bytes of SBUF for each element: it is read, its eight bits and its share of a scale are written."""
    return item_bytes(point["dtype"]) + item_bytes("mxfp8")


def _quantize_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    elements = float(LANES * int(point["elements"]) * many)
    return Work(
        engine_flops={"vector": elements},
        bytes={"sbuf": _moved(point) * elements},
        elements=elements,
        instructions=float(many),
        formula=per_core(
            f"vector_flops = {LANES}·elements·instructions; sbuf_bytes = {_moved(point):g} B each",
            extent,
        ),
    )


def _quantize_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    # Tiles of scales have a row for every partition, of which one in eight is used.
    words = int(point["elements"]) // 4
    return {"sbuf": LANES * (int(point["elements"]) * item_bytes(point["dtype"]) + _SETS * 5 * words)}


def quantizers() -> Iterator[Kernel]:
    """quantize_throughput."""
    yield Kernel(
        name="quantize_throughput",
        family="engine",
        title="Quantising to MXFP8",
        about="What the vector engine sustains in making the operands of a microscaled product.",
        axes=(
            word_axis("dtype", "in", "bf16", choices=("bf16", "fp16")),
            Axis(name="elements", values=(128, 2048), about="per partition and instruction"),
            Axis(name="instructions", values=(256,), about="issued one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(
            name="elements_per_s", unit="element/s", count="elements", peak="element_rate", qualifier="vector"
        ),
        work=_quantize_work,
        footprint=_quantize_footprint,
        requires=asks("quantize_mx"),
        valid=lambda point: "" if int(point["elements"]) % 4 == 0 else "a word has four elements",
        tags=("compute", "engine", "vector"),
        implementations={"nki": "trnbench_trn3.nki.engines_mx:quantize_burst"},
        published=PublishedAs(group="instruction", operation=lambda _: "vector quantize_mx"),
        tests=(
            Statement(
                source="nki-arch-v4",
                locator="vector engine",
                says="quantize_mx takes four elements of each partition per cycle",
            ),
        ),
    )


_TILES = 8  # four operands and as many results


def _exponential_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    elements, item = float(LANES * int(point["elements"]) * many), item_bytes(point["dtype"])
    engine = str(point["engine"])
    return Work(
        engine_flops={engine: elements},
        bytes={"sbuf": 2 * item * elements},
        elements=elements,
        instructions=float(many),
        formula=per_core(
            f"{engine}_flops = {LANES}·elements·instructions, an exponential each; sbuf_bytes = 2·{item:g} B"
            " for each",
            extent,
        ),
    )


def exponentials() -> Iterator[Kernel]:
    """exponential_engines."""
    yield Kernel(
        name="exponential_engines",
        family="engine",
        title="Exponentials by the vector and by the scalar engine",
        about="Does the vector engine's own exponential give four times those of an activation?",
        axes=(
            word_axis(
                "engine",
                "the vector engine by nisa.exponential, the scalar engine by an activation",
                "vector",
                "scalar",
            ),
            word_axis("dtype", "in and out", "fp32", choices=("bf16", "fp32")),
            Axis(name="elements", values=(512,), about="per partition and instruction"),
            Axis(name="instructions", values=(256,), about="issued one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="elements_per_s", unit="element/s", count="elements"),
        work=_exponential_work,
        footprint=lambda point, _: {
            "sbuf": _TILES * LANES * int(point["elements"]) * item_bytes(point["dtype"])
        },
        # Without the instruction there is nothing to set the activation beside.
        requires=asks("exponential", "activation"),
        tags=("compute", "engine", "vector", "scalar", "activation"),
        implementations={"nki": "trnbench_trn3.nki.exponential:exponential"},
        tests=(
            Statement(
                source="nki-arch-v4",
                locator="vector engine",
                says="the vector engine's exponential has four times the throughput of the scalar engine's",
            ),
        ),
    )


MIB = 1 << 20


def _accumulate_work(point: Point, extent: Extent) -> Work:
    size = float(point["size"]) * extent.cores
    return Work(
        bytes={"hbm": 3 * size, "sbuf": 3 * size},
        formula=per_core("hbm_bytes = 3·size: two arrays read, their sum written", extent),
    )


def accumulations() -> Iterator[Kernel]:
    """dma_accumulate."""
    yield Kernel(
        name="dma_accumulate",
        family="dma",
        title="Sums made by DMA engines",
        about="Does a DMA engine that adds while it copies keep the rate of a copy?",
        axes=(
            word_axis(
                "added_by",
                "who adds: the DMA engines on the way, or the vector engine once both have arrived",
                "dma",
                "vector",
            ),
            word_axis("dtype", "of the arrays", "bf16", choices=("bf16", "fp32")),
            Axis(name="size", unit="B", values=(16 * MIB,), least=1 << 14, about="bytes of one array"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"),
        work=_accumulate_work,
        footprint=lambda point, _: {"hbm": 3.0 * float(point["size"])},
        requires=asks("dma_copy", "dma_compute", "tensor_tensor"),
        tags=("memory", "dma", "bandwidth"),
        implementations={"nki": "trnbench_trn3.nki.accumulate:accumulate"},
        tests=(
            Statement(
                source="nki-arch-v4",
                locator="DMA engines",
                says="accumulating into SBUF goes at the rate of a copy, on earlier cores at half of it",
            ),
        ),
    )


KIB = 1 << 10
RACKS = 2  # halves of an UltraServer


def within_servers(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """The devices of each server."""
    servers: dict[int, list[int]] = {}
    for device in topology.devices:
        servers.setdefault(device.host, []).append(device.id)
    return tuple(map(tuple, servers.values()))


def within_racks(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Devices of one place in each server of a rack: coordinates are (rack, server, place)."""
    racks: dict[tuple[int, int], list[int]] = {}
    for device in topology.devices:
        racks.setdefault((device.coord[0], device.coord[-1]), []).append(device.id)
    return tuple(map(tuple, racks.values()))


class Level(msgspec.Struct, frozen=True):
    """One level: who gathers, how many of them, their groups, and the document's figure of its links."""

    where: str
    who: str
    ranks: Callable[[Extent], int]
    groups: str
    figure: str


_LEVELS = (
    Level(
        "server",
        "a server",
        lambda extent: extent.devices // extent.hosts,
        "within_servers",
        "256 GB/s",
    ),
    Level(
        "rack",
        "one place in the servers of a rack",
        lambda extent: extent.hosts // RACKS,
        "within_racks",
        "320 GB/s",
    ),
)


def _gather_work(level: Level) -> Callable[[Point, Extent], Work]:
    def work(point: Point, extent: Extent) -> Work:
        size, ranks = float(point["size"]), max(level.ranks(extent), 1)  # of a lone host no group is left
        return Work(
            bytes={"payload": size},
            link_bytes=size * (ranks - 1) / ranks,
            formula=f"link_bytes = (n−1)/n·size, n = {ranks} devices of {level.who}",
        )

    return work


def switch_gathers() -> Iterator[Kernel]:
    """all_gather_server, all_gather_rack."""
    for level in _LEVELS:
        yield Kernel(
            name=f"all_gather_{level.where}",
            family="collective",
            title=f"All-gather of {level.who}",
            about=f"What of its links' rate does a switch give when the devices of {level.who} gather?",
            axes=(
                word_axis("dtype", "of each", "bf16", choices=("bf16", "fp32")),
                Axis(
                    name="size",
                    unit="B",
                    values=(64 * KIB, 4 * MIB, 256 * MIB),
                    about="what a group gathers; a device brings its part",
                ),
            ),
            scopes=(Scope.INSTANCE,),
            spread=Spread.TOGETHER,
            # Held against nothing: the page calls a level's figure both directions' and gives links whose
            # rates in one direction add up to it.
            primary=PrimaryMetric(
                name="busbw_bytes_per_s", unit="B/s", count="link_bytes", direction=Direction.ONE_WAY
            ),
            work=_gather_work(level),
            footprint=lambda point, _: {"hbm": 2.0 * float(point["size"])},
            requires=lambda point: ("devices:2", "hosts:2", "link:neuronswitch", f"dtype:{point['dtype']}"),
            tags=("fabric", "collective", "groups"),
            implementations={"collective": "all_gather"},
            groups=f"trnbench_trn3.kernels:{level.groups}",
            tests=(
                Statement(
                    source="trn3-arch",
                    locator="section Connectivity, bandwidth per device",
                    says=f"{level.figure} of each device on the links of this level",
                ),
            ),
        )


def kernels() -> Iterator[Kernel | Variant]:
    """In the order in which reports show them."""
    for family in (microscaled_variants, quantizers, exponentials, accumulations, switch_gathers):
        yield from family()
