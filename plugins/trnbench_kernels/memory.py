"""Memory: streams in the counting of STREAM, DMA transfers by size, copies between host and device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import (
    Axis,
    Kernel,
    Point,
    PrimaryMetric,
    PublishedAs,
    always,
    asks,
    renamed,
    word_axis,
)
from trnbench.kernels.work import (
    CORE_AND_SYSTEM,
    CORE_TO_SYSTEM,
    EVERY_SCOPE,
    GIB,
    KIB,
    MIB,
    PLAIN,
    Extent,
    Spread,
    Work,
    item_bytes,
    per_core,
)

_STREAM_RATE = PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth")
_STREAM_SOURCES = "trnbench_kernels.nki.streams"
_STREAM_SIZE = Axis(
    name="size",
    unit="B",
    values=(64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB),
    wide=(16 * MIB, GIB),
    about="bytes of one array, for each core",
)


def _moves(passes: int, formula: str) -> Callable[[Point, Extent], Work]:
    def work(point: Point, extent: Extent) -> Work:
        size = float(point["size"]) * extent.cores
        # One pass has SBUF at its other end; a copy goes from device memory to device memory.
        return Work(
            bytes={"hbm": passes * size} | ({"sbuf": size} if passes == 1 else {}),
            formula=per_core(f"hbm_bytes = {formula}", extent),
        )

    return work


def _triad(point: Point, extent: Extent) -> Work:
    size = float(point["size"]) * extent.cores
    item = item_bytes(point["dtype"])
    return Work(
        engine_flops={"vector": 2 * size / item},
        bytes={"hbm": 3 * size, "sbuf": 3 * size},
        formula=per_core(
            f"hbm_bytes = 3·size (two read, one written); vector_flops = 2·size/{item:g} B", extent
        ),
    )


def _arrays(count: int) -> Callable[[Point, Extent], Mapping[str, float]]:
    return lambda point, _: {"hbm": count * float(point["size"])}


def _needs_dma(_: Point) -> tuple[str, ...]:
    return ("instruction:dma_copy",)


def _stream_published(name: str) -> PublishedAs:
    """A published stream says what each core moves; who wrote the loop makes no difference to it."""
    return PublishedAs(
        group="hbm", operation=always(name), program=always(name), sizes=renamed({"bytes": "size"})
    )


def streams() -> Iterator[Kernel]:
    """hbm_read, hbm_write, hbm_copy, hbm_triad."""
    plain = (
        ("read", 1, "size", 1, "Read device memory", "How fast device memory can be read into SBUF."),
        ("write", 1, "size", 1, "Write device memory", "How fast SBUF can be written to device memory."),
        (
            "copy",
            2,
            "2·size (read and written)",
            2,
            "Copy within device memory",
            "Reads and writes at once: what the two together reach.",
        ),
    )
    for name, passes, formula, arrays, title, about in plain:
        yield Kernel(
            name=f"hbm_{name}",
            family="hbm",
            title=title,
            about=about,
            axes=(_STREAM_SIZE,),
            scopes=CORE_TO_SYSTEM,
            default_scopes=EVERY_SCOPE if name == "copy" else CORE_AND_SYSTEM,
            primary=_STREAM_RATE,
            work=_moves(passes, formula),
            footprint=_arrays(arrays),
            requires=_needs_dma,
            tags=("memory", "bandwidth", name),
            implementations={"nki": f"{_STREAM_SOURCES}:hbm_{name}"},
            published=_stream_published(f"hbm_{name}"),
        )
    yield Kernel(
        name="hbm_triad",
        family="hbm",
        title="Triad a = b + s·c",
        about="STREAM's triad: device memory with the least arithmetic a program does.",
        axes=(
            word_axis("dtype", "of a, b and c", "fp32", choices=PLAIN),
            _STREAM_SIZE,
        ),
        scopes=CORE_TO_SYSTEM,
        default_scopes=CORE_AND_SYSTEM,
        primary=_STREAM_RATE,
        work=_triad,
        footprint=_arrays(3),
        requires=asks("dma_copy", "scalar_tensor_tensor"),
        tags=("memory", "bandwidth", "triad"),
        implementations={"nki": f"{_STREAM_SOURCES}:hbm_triad"},
        published=_stream_published("hbm_triad"),
    )


def transfer_bytes(point: Point) -> int:
    """Bytes of one transfer: so many on each of so many partitions."""
    return int(point["bytes_per_partition"]) * int(point["partitions"])


def _transfer_work(point: Point, extent: Extent) -> Work:
    moved = float(transfer_bytes(point)) * int(point["transfers"]) * extent.cores
    return Work(
        bytes={"hbm": moved, "sbuf": moved},
        formula=per_core("hbm_bytes = bytes_per_partition·partitions·transfers, read into SBUF", extent),
    )


def _transfer_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    # Transfers land on the same tile: what is measured is the engines, not the space.
    return {"hbm": float(transfer_bytes(point)), "sbuf": float(transfer_bytes(point))}


def _partitions(point: Point) -> str:
    return "" if int(point["partitions"]) <= 128 else "SBUF has 128 partitions"


def transfers() -> Iterator[Kernel]:
    """dma_sweep."""
    yield Kernel(
        name="dma_sweep",
        family="dma",
        title="DMA transfer size",
        about="Where the fixed cost of a transfer ends and the engines' bandwidth begins.",
        axes=(
            Axis(
                name="bytes_per_partition",
                unit="B",
                values=(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768),
                wide=(512, 4096, 32768),
                about="contiguous bytes on each partition",
            ),
            Axis(name="partitions", values=(128,), about="partitions a transfer covers; 8 per engine"),
            Axis(name="transfers", values=(64,), about="transfers in flight one behind the other"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=CORE_AND_SYSTEM,
        primary=PrimaryMetric(name="dma_bytes_per_s", unit="B/s", count="hbm_bytes", peak="dma_bandwidth"),
        work=_transfer_work,
        footprint=_transfer_footprint,
        requires=lambda _: ("instruction:dma_copy",),
        valid=_partitions,
        tags=("memory", "dma", "latency"),
        implementations={"nki": "trnbench_kernels.nki.streams:dma_sweep"},
        published=PublishedAs(
            group="dma",
            operation=always("transfer"),
            program=always("transfer"),
            sizes=renamed({"bytes_per_partition": "bytes_per_partition", "partitions": "partitions"}),
        ),
    )


def _copy_work(point: Point, extent: Extent) -> Work:
    moved = float(point["size"]) * extent.devices
    formula = "host_bytes = size, once over the host link"
    if extent.devices > 1:
        formula += f"; × {extent.devices:,} devices"
    return Work(bytes={"host": moved, "hbm": moved}, formula=formula)


def _copy_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": float(point["size"]), "host": float(point["size"])}


def host_copies() -> Iterator[Kernel]:
    """host_to_device, device_to_host."""
    for name, title, about in (
        ("host_to_device", "Host to device", "What feeding a device costs, alone and all at once."),
        ("device_to_host", "Device to host", "What bringing results back costs, alone and all at once."),
    ):
        yield Kernel(
            name=name,
            family="copy",
            title=title,
            about=about,
            axes=(
                Axis(
                    name="size",
                    unit="B",
                    values=(64 * KIB, 4 * MIB, 64 * MIB, GIB),
                    about="bytes, for each device",
                ),
            ),
            scopes=(Scope.DEVICE, Scope.INSTANCE),
            spread=Spread.DEVICES,
            # No document gives a rate of the host link.
            primary=PrimaryMetric(name="host_bytes_per_s", unit="B/s", count="host_bytes"),
            work=_copy_work,
            footprint=_copy_footprint,
            requires=lambda _: (),
            tags=("memory", "host", "copy"),
            implementations={"model": "roofline"},
            published=PublishedAs(
                group="host-copy",
                operation=always(name),
                program=always(name),
                sizes=renamed({"bytes": "size"}),
            ),
        )
