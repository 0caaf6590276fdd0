"""Device memory: read, write, copy and triad, in the counting of STREAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import PLAIN, item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, renamed
from trnbench.kernels.sweep import CORE_AND_SYSTEM, CORE_TO_SYSTEM, EVERY_SCOPE, GIB, KIB, MIB, per_core
from trnbench.kernels.work import Work

_PRIMARY = PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth")
_NKI = "trnbench_kernels.nki.streams"
_SIZE = Axis(
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


def _streams(_: Point) -> tuple[str, ...]:
    return ("instruction:dma_copy",)


def _published(name: str) -> PublishedAs:
    """A published stream says what each core moves; who wrote the loop makes no difference to it."""
    return PublishedAs(
        group="hbm", operation=always(name), program=always(name), sizes=renamed({"bytes": "size"})
    )


def kernels() -> Iterator[Kernel]:
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
            axes=(_SIZE,),
            scopes=CORE_TO_SYSTEM,
            default_scopes=EVERY_SCOPE if name == "copy" else CORE_AND_SYSTEM,
            primary=_PRIMARY,
            work=_moves(passes, formula),
            footprint=_arrays(arrays),
            requires=_streams,
            tags=("memory", "bandwidth", name),
            implementations={"nki": f"{_NKI}:hbm_{name}"},
            published=_published(f"hbm_{name}"),
        )
    yield Kernel(
        name="hbm_triad",
        family="hbm",
        title="Triad a = b + s·c",
        about="STREAM's triad: device memory with the least arithmetic a program does.",
        axes=(
            Axis(name="dtype", kind="str", values=("fp32",), choices=PLAIN, about="of a, b and c"),
            _SIZE,
        ),
        scopes=CORE_TO_SYSTEM,
        default_scopes=CORE_AND_SYSTEM,
        primary=_PRIMARY,
        work=_triad,
        footprint=_arrays(3),
        requires=lambda point: (*needs(point["dtype"], "dma_copy", "scalar_tensor_tensor"),),
        tags=("memory", "bandwidth", "triad"),
        implementations={"nki": f"{_NKI}:hbm_triad"},
        published=_published("hbm_triad"),
    )
