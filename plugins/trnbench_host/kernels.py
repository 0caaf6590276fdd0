"""The kernels of a processor: what they ask for, and who carries it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trnbench import Axis, Extent, Kernel, Point, PrimaryMetric, Scope, Work, word_axis

KIB, MIB = 1 << 10, 1 << 20
BOTH = (Scope.CORE, Scope.INSTANCE)
ITEM = {"fp16": 2, "fp32": 4, "fp64": 8}
LINE = 64  # bytes of a cache line

_BYTES = PrimaryMetric(name="host_bytes_per_s", unit="B/s", count="host_bytes", peak="host_memory_bandwidth")
_DTYPE = word_axis("dtype", "of every array", "fp32", "fp64", choices=tuple(ITEM))


def _each(formula: str, extent: Extent) -> str:
    return f"{formula}; × {extent.cores} cores" if extent.cores > 1 else formula


def _nothing(_: Point) -> tuple[str, ...]:
    return ()


def kernels() -> Iterator[Kernel]:
    """host_matmul, stream_*, transcendental, process_copy, pointer_chase."""
    yield _gemm()
    for name, arrays, flops, formula in (
        ("copy", 2, 0, "c = a"),
        ("scale", 2, 1, "b = s·c"),
        ("add", 3, 1, "c = a + b"),
        ("triad", 3, 2, "a = b + s·c"),
    ):
        yield _stream(name, arrays, flops, formula)
    yield _transcendental()
    yield _process_copy()
    yield _pointer_chase()


def _gemm() -> Kernel:
    def work(point: Point, _: Extent) -> Work:
        n, item = int(point["size"]), ITEM[str(point["dtype"])]
        return Work(
            flops=2.0 * n**3,
            bytes={"host": 3.0 * n * n * item},
            formula=f"flops = 2·N³, one product by all cores together; host_bytes = 3·N²·{item} B",
        )

    return Kernel(
        name="host_matmul",
        family="gemm",
        title="Square matrix product on the processor",
        about="How close the BLAS behind NumPy comes to what the vector units allow.",
        axes=(_DTYPE, Axis(name="size", values=(128, 512, 2048), about="M = N = K")),
        scopes=BOTH,
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=work,
        footprint=lambda point, _: {"host": 3.0 * int(point["size"]) ** 2 * ITEM[str(point["dtype"])]},
        requires=_nothing,
        tags=("compute", "dense", "host"),
        implementations={"numpy": "trnbench_host.gemm:prepare"},
    )


def _stream(name: str, arrays: int, flops: int, formula: str) -> Kernel:
    def work(point: Point, extent: Extent) -> Work:
        size = float(point["size"]) * extent.cores
        return Work(
            engine_flops={"vector": flops * size / 8} if flops else {},
            bytes={"host": arrays * size},
            formula=_each(f"host_bytes = {arrays}·size, as STREAM counts {formula}", extent),
        )

    def footprint(arrays: int) -> Callable[[Point, Extent], Mapping[str, float]]:
        return lambda point, extent: {"host": arrays * float(point["size"]) * extent.cores}

    return Kernel(
        name=f"stream_{name}",
        family="stream",
        title=f"STREAM {name}: {formula}",
        about="Bandwidth of each level of the memory hierarchy, as arrays outgrow the caches.",
        axes=(
            Axis(
                name="size",
                unit="B",
                values=(16 * KIB, 256 * KIB, 4 * MIB, 64 * MIB, 256 * MIB),
                wide=(256 * KIB, 64 * MIB),
                least=4 * KIB,
                about="bytes of one array of doubles, for each core",
            ),
        ),
        scopes=BOTH,
        primary=_BYTES,
        work=work,
        footprint=footprint(3),
        requires=_nothing,
        tags=("memory", "bandwidth", "stream", "host"),
        implementations={"numpy": f"trnbench_host.stream:{name}"},
    )


def _transcendental() -> Kernel:
    operations = ("sqrt", "exp", "log", "sin", "tanh")

    def work(point: Point, extent: Extent) -> Work:
        count = float(int(point["elements"]) * extent.cores)
        return Work(
            engine_flops={"vector": count},
            bytes={"host": 2 * count * ITEM[str(point["dtype"])]},
            formula=_each("vector_flops = elements, one operation for each", extent),
        )

    return Kernel(
        name="transcendental",
        family="elementwise",
        title="Functions of arrays that stay in a cache",
        about="What exp, log, sin and tanh cost against a square root.",
        axes=(
            word_axis("op", "function", *operations),
            _DTYPE,
            Axis(name="elements", values=(16384,), about="of the array"),
        ),
        scopes=BOTH,
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="vector_flops_per_s", unit="FLOP/s", count="vector_flops"),
        work=work,
        footprint=lambda point, extent: {
            "host": 2.0 * int(point["elements"]) * ITEM[str(point["dtype"])] * extent.cores
        },
        requires=_nothing,
        tags=("compute", "elementwise", "host"),
        implementations={"numpy": "trnbench_host.transcendental:prepare"},
    )


def _process_copy() -> Kernel:
    def work(point: Point, _: Extent) -> Work:
        return Work(
            bytes={"host": 2.0 * float(point["size"])},
            formula="host_bytes = 2·size: copied into shared memory by one process, out of it by the other",
        )

    return Kernel(
        name="process_copy",
        family="copy",
        title="Copy between two processes",
        about="What handing data to another process costs: the signal, then the memory.",
        axes=(
            Axis(
                name="size",
                unit="B",
                values=(4 * KIB, 256 * KIB, 16 * MIB, 128 * MIB),
                about="bytes handed over",
            ),
        ),
        scopes=(Scope.INSTANCE,),
        primary=PrimaryMetric(name="host_bytes_per_s", unit="B/s", count="host_bytes"),
        work=work,
        footprint=lambda point, _: {"host": 3.0 * float(point["size"])},
        requires=_nothing,
        tags=("memory", "copy", "process", "host"),
        implementations={"numpy": "trnbench_host.process_copy:prepare"},
    )


def _pointer_chase() -> Kernel:
    return Kernel(
        name="pointer_chase",
        family="latency",
        title="Latency of one load",
        about="Each load needs the one before: the latency of every level of the memory hierarchy.",
        axes=(
            Axis(
                name="size",
                unit="B",
                values=(16 * KIB, 256 * KIB, 2 * MIB, 16 * MIB, 256 * MIB),
                least=4 * KIB,
                about="bytes that the loads are spread over, one to a cache line, in random order",
            ),
        ),
        scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="latency_s", unit="s", better="lower"),
        work=lambda _, __: Work(bytes={"host": float(LINE)}, formula=f"host_bytes = one line of {LINE} B"),
        footprint=lambda point, _: {"host": float(point["size"])},
        requires=_nothing,
        tags=("memory", "latency", "host"),
        implementations={"c": "trnbench_host.chase:prepare"},
    )
