"""The problem of a kernel at one point: its source, its arguments as files of bytes, and its results."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trnbench.case_key import Value
from trnbench.generation import System
from trnbench.kernels.kernel import Case, Kernel, Point
from trnbench.record import Record
from trnbench_emulator import nki_sources
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, provide, record
from trnbench_emulator.nki.dtype import Sizes, dtype_of, random_values
from trnbench_emulator.nki.load import from_package
from trnbench_emulator.nki.source import inputs_of


class Source(Record, kw_only=True):
    """Where a kernel's source lies, and the shapes and types of its arguments for one point.

    `plain`: what comes after the tensors, known when the kernel is compiled.
    """

    ref: str
    module: str
    file: str
    function: str
    inputs: tuple[tuple[Sizes, str], ...]
    plain: tuple[Value, ...] = ()


def source_of(case: Case, kind: str = "nki", point: Point | None = None) -> Source | None:
    """The implementation of `kind`; None where there is none, or it does not take this point.

    Raises `KernelError` when the kernel's module cannot be found or says nothing of its arguments.
    """
    own = case.kernel.implementations.get(kind)
    refs = nki_sources(case.kernel) if kind == "nki" else (own,) if isinstance(own, str) else ()
    at = case.key.point if point is None else point
    return next(filter(None, (_taking(ref, kind, at) for ref in refs)), None)


def _taking(ref: str, kind: str, point: Point) -> Source | None:
    name, _, function = ref.replace("::", ":", 1).partition(":")
    module = beside(name, kind)
    inputs = inputs_of(module, ref, point)
    if inputs is None:
        return None
    tensors = [argument for argument in inputs if isinstance(argument, tuple)]
    return Source(
        ref=ref,
        module=name,
        file=module.__file__,
        function=function,
        inputs=tuple((tuple(int(size) for size in shape), str(dtype)) for shape, dtype in tensors),
        plain=tuple(inputs[len(tensors) :]),
    )


@cache
def beside(name: str, kind: str) -> Any:
    """The module with what stands beside the kernel, its `nki` ours. A module of Beta 1 can be imported
    where neuronxcc is not."""
    ours = kind == "nki"
    with provide("trnbench") if ours else nullcontext():
        return from_package(name, ours=ours)


def seed_of(case: Case) -> int:
    """Of a case's random arguments: the same on every machine."""
    return zlib.crc32(f"0:{case.id}".encode())


def outputs_of(source: Source, system: System) -> tuple[tuple[Sizes, str], ...]:
    """Shapes and types of the results: what the kernel's source says when it is executed by shapes."""
    kernel, _, _ = load_kernel(source.ref.replace("::", ":", 1), nki="trnbench")
    # Types of results do not depend on sizes; one tile of each argument keeps this quick.
    small = [TensorSpec(tuple(min(size, 512) for size in shape), dtype) for shape, dtype in source.inputs]
    with provide("trnbench"):
        trace = record(
            kernel,
            [*small, *source.plain],
            machine=Machine.of(system),
        )
    return tuple((spec.shape, spec.dtype) for spec in trace.output_specs)


def smaller(kernel: Kernel, point: Point) -> dict[str, Value] | None:
    """The point with its numbers halved where that is still a case; None where it is not."""
    halved: dict[str, Value] = dict(point)
    for axis in kernel.axes:
        value = point.get(axis.name)
        if axis.kind == "int" and isinstance(value, int) and value // 2 >= max(axis.least, 64):
            halved[axis.name] = value // 2
    if halved == dict(point) or kernel.valid(halved):
        return None
    return halved


def amount(case: Case, point: Point) -> float:
    """The work a point asks for, in whatever the kernel counts."""
    counts = case.kernel.work(point, case.extent).as_counts()
    return counts.get(case.primary.count) or next(iter(counts.values()), 0.0)


def operations(case: Case) -> float:
    """FLOP, engine operations and bytes of a case together: how long its source would be executed here."""
    work = case.work
    return work.flops + sum(work.engine_flops.values()) + sum(work.bytes.values())


_BOUNDS = {
    # Steps are positive and rates negative: a state that grows with every token has no finite result.
    ("selective_scan", 0): (0.001, 0.1),
    ("selective_scan", 2): (-1.0, 0.0),
}
"""(kernel, position of the argument) → between which numbers it is drawn; any will do for the others."""


class Array(Record, kw_only=True):
    """An argument, kept in a file as its bytes."""

    name: str
    file: str
    dtype: str
    shape: Sizes
    bytes: int


def fill(source: Source, seed: int) -> list[npt.NDArray[Any]]:
    """Standard normal numbers: constants draw less power and clock higher (predictable data). Uniform ones
    where a kernel has no result for others."""
    generator = np.random.default_rng(seed)
    filled = []
    for position, (shape, dtype) in enumerate(source.inputs):
        kind = dtype_of(dtype)
        if (bounds := _BOUNDS.get((source.function, position))) is not None:
            filled.append(kind.cast(generator.uniform(*bounds, shape).astype(np.float32)))
        else:
            filled.append(random_values(kind, shape, generator, 100))
    return filled


def write(
    source: Source, arrays: Sequence[npt.NDArray[Any]], folder: Path, names: Sequence[str] = ()
) -> list[Array]:
    """Each array's bytes in a file of `folder`."""
    written = []
    for index, ((shape, dtype), values) in enumerate(zip(source.inputs, arrays, strict=True)):
        path = folder / f"input_{index}.bin"
        path.write_bytes(values.tobytes())
        name = names[index] if index < len(names) else ""
        written.append(Array(name=name, file=str(path), dtype=dtype, shape=shape, bytes=values.nbytes))
    return written


def read(kept: Mapping[str, Any], dtype: str) -> npt.NDArray[Any]:
    """An output as the type it is: the runtime may call it void, or an integer of its size."""
    kind = dtype_of(dtype).numpy
    data = Path(str(kept["file"])).read_bytes()
    shape = tuple(int(size) for size in kept["shape"])
    values = np.frombuffer(data, dtype=kind)
    return values.reshape(shape) if values.size == int(np.prod(shape)) else values
