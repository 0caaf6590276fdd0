"""The arguments of a kernel, filled with random numbers, and a second opinion on its result."""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.errors import KernelError
from trnbench.kernels.case import Case
from trnbench.kernels.kernel import Kernel, Point
from trnbench.measure.neuron import sample
from trnbench.measure.neuron.agreement import UNIT, disagreement
from trnbench.results.measurement import Value

if TYPE_CHECKING:
    import numpy.typing as npt

    from trnbench.generation import System

EMULATED_LIMIT = 5e8
"""Operations up to which the result is recomputed by executing the kernel's source on this CPU."""

ROWS = 64
"""Rows of a matrix product that are recomputed in full."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a kernel's source lies, and the shapes and types of its arguments for one point.

    `plain`: what comes after the tensors, known when the kernel is compiled.
    """

    ref: str
    module: str
    file: str
    function: str
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    plain: tuple[Value, ...] = ()


class Array(msgspec.Struct, frozen=True, kw_only=True):
    """An argument, kept in a file as its bytes."""

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


def source_of(case: Case, kind: str = "nki", point: Point | None = None) -> Source | None:
    """The implementation of `kind`; None where there is none, or it does not take this point.

    Raises `KernelError` when the kernel's module cannot be found or says nothing of its arguments.
    """
    own = case.kernel.implementations.get(kind)
    refs = case.kernel.nki_sources if kind == "nki" else (own,) if isinstance(own, str) else ()
    at = case.key.point if point is None else point
    return next(filter(None, (_taking(ref, kind, at) for ref in refs)), None)


def _taking(ref: str, kind: str, point: Point) -> Source | None:
    name, _, function = ref.replace("::", ":", 1).partition(":")
    module = _beside(name, kind)
    describe = getattr(module, f"{function}_inputs", None)
    if describe is None:
        raise KernelError(
            f"{ref} cannot be given arguments: its module has no {function}_inputs",
            try_=f"def {function}_inputs(point): return ((shape, dtype), …)",
        )
    found = describe(point)
    if found is None:
        return None
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise KernelError(f"the source of {ref} is no file")
    tensors = [each for each in found if isinstance(each, tuple)]
    return Source(
        ref=ref,
        module=name,
        file=spec.origin,
        function=function,
        inputs=tuple((tuple(int(each) for each in shape), str(dtype)) for shape, dtype in tensors),
        plain=tuple(found[len(tensors) :]),
    )


@cache
def _beside(name: str, kind: str) -> Any:
    """The module with what stands beside the kernel, its `nki` ours. A module of Beta 1 can be imported
    where neuronxcc is not."""
    if kind != "nki":
        return importlib.import_module(name)
    from trnbench.nki import provide

    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise KernelError(f"no module {name!r}", cause="the package that names it is only partly installed")
    with provide("trnbench"):
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def seed_of(case: Case, seed: int = 0) -> int:
    """The same for the same case and seed, on every machine."""
    return zlib.crc32(f"{seed}:{case.id}".encode())


def fill(source: Source, seed: int) -> list[npt.NDArray[Any]]:
    """Standard normal numbers: constants draw less power and clock higher (predictable data). Uniform ones
    where a kernel has no result for others."""
    import numpy as np

    from trnbench.nki.dtype import dtype_of
    from trnbench.nki.words import drawn

    generator = np.random.default_rng(seed)
    filled = []
    for position, (shape, dtype) in enumerate(source.inputs):
        kind = dtype_of(dtype)
        if (bounds := sample.bounds(source.ref, position)) is not None:
            filled.append(kind.cast(generator.uniform(*bounds, shape).astype(np.float32)))
        else:
            filled.append(drawn(kind, shape, generator, 100))
    return filled


def write(
    source: Source, arrays: Sequence[npt.NDArray[Any]], folder: Path, names: Sequence[str] = ()
) -> list[Array]:
    """Each array's bytes in a file of `folder`."""
    kept = []
    for index, ((shape, dtype), values) in enumerate(zip(source.inputs, arrays, strict=True)):
        path = folder / f"input_{index}.bin"
        path.write_bytes(values.tobytes())
        name = names[index] if index < len(names) else ""
        kept.append(Array(name=name, file=str(path), dtype=dtype, shape=shape, bytes=values.nbytes))
    return kept


def read(kept: Mapping[str, Any], dtype: str) -> npt.NDArray[Any]:
    """An output as the type it is: the runtime may call it void, or an integer of its size."""
    import numpy as np

    from trnbench.nki.dtype import dtype_of

    kind = dtype_of(dtype).numpy
    data = Path(str(kept["file"])).read_bytes()
    shape = tuple(int(each) for each in kept["shape"])
    values = np.frombuffer(data, dtype=kind)
    return values.reshape(shape) if values.size == int(np.prod(shape)) else values


def outputs_of(source: Source, system: System) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Shapes and types of the results: what the kernel's source says when it is executed by shapes."""
    from trnbench.nki import Machine, TensorSpec, load_kernel, provide, record

    kernel, _, _ = load_kernel(source.ref.replace("::", ":", 1), nki="trnbench")
    with provide("trnbench"):
        trace = record(
            kernel,
            [*(TensorSpec(shape, dtype) for shape, dtype in _small(source.inputs)), *source.plain],
            machine=Machine.of(system),
        )
    return tuple((each.shape, each.dtype) for each in trace.output_specs)


def _small(inputs: tuple[tuple[tuple[int, ...], str], ...]) -> tuple[tuple[tuple[int, ...], str], ...]:
    # Types of results do not depend on sizes; one tile of each argument keeps this quick.
    return tuple((tuple(min(each, 512) for each in shape), dtype) for shape, dtype in inputs)


def wrong(
    source: Source,
    case: Case,
    system: System,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    kind: str = "nki",
) -> tuple[str, str]:
    """(what is wrong with the result, how that was found out); the second is "" where nothing could be.

    By `<kernel>_wrong(inputs, outputs)` beside the kernel, by the mathematics of a matrix product, or
    by executing the kernel's source here.
    """
    own = getattr(_beside(source.module, kind), f"{source.function}_wrong", None)
    if own is not None:
        return str(own(inputs, outputs)), f"{source.function}_wrong, beside the kernel"
    if case.kernel.family == "gemm" and len(inputs) in (2, 4) and len(outputs) == 1:
        left, right = inputs if len(inputs) == 2 else _unscaled(*inputs)
        return product_wrong(left, right, outputs[0]), "a random vector and full rows in double precision"
    found = sample.wrong(source.ref, (*inputs, *source.plain), outputs) if kind == "nki" else None
    if found is not None:
        return found, "elements drawn all over it, computed in double precision from the inputs"
    if kind == "nki" and _operations(case) <= EMULATED_LIMIT:
        return _emulated_wrong(source, system, inputs, outputs), "its own source, executed on the host"
    return "", ""


def _unscaled(left: Any, right: Any, left_scale: Any, right_scale: Any) -> tuple[Any, Any]:
    from trnbench.kernels.nki.references import unscaled

    return unscaled(left, left_scale), unscaled(right, right_scale)


def product_wrong(left: Any, right: Any, result: Any) -> str:
    """Is `result` leftᵀ·right? By Freivalds' check (a random vector), and some rows in full."""
    import numpy as np

    k, m = left.shape
    n = right.shape[1]
    if result.shape != (m, n):
        return f"the result has shape {result.shape}, not {(m, n)}"
    got = result.astype(np.float64)
    if not np.isfinite(got).all():
        return f"{int((~np.isfinite(got)).sum())} elements of the result are no finite numbers"
    epsilon = UNIT.get(result.dtype.name, 2.0**-8)
    scale = np.sqrt(k) * float(np.std(left.astype(np.float32))) * float(np.std(right.astype(np.float32)))
    generator = np.random.default_rng(0)
    signs = generator.choice([-1.0, 1.0], size=n)
    a, b = left.astype(np.float64), right.astype(np.float64)
    off = np.abs(got @ signs - a.T @ (b @ signs)).max() / (scale * np.sqrt(n))
    if off > 32 * epsilon:
        return f"times a random vector it is {off:.3g} of its size off; rounding explains {32 * epsilon:.3g}"
    rows = np.sort(generator.choice(m, size=min(ROWS, m), replace=False))
    off = np.abs(got[rows] - a[:, rows].T @ b).max() / scale
    if off > 16 * epsilon:
        return f"an element is {off:.3g} of its size off; rounding explains {16 * epsilon:.3g}"
    return ""


def _emulated_wrong(source: Source, system: System, inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
    import numpy as np

    from trnbench.nki import Machine, load_kernel, provide, record

    kernel, _, _ = load_kernel(source.ref.replace("::", ":", 1), nki="trnbench")
    with provide("trnbench"):
        trace = record(kernel, [*inputs, *source.plain], machine=Machine.of(system), functional=True)
    if len(trace.outputs) != len(outputs):
        return f"{len(outputs)} results, its source returns {len(trace.outputs)}"
    for index, (expected, got) in enumerate(zip(trace.outputs, outputs, strict=True)):
        want, have = expected.astype(np.float64), np.asarray(got).astype(np.float64)
        if differs := disagreement(want, have, expected.dtype.name):
            return f"result {index}: {differs}"
    return ""


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


def _operations(case: Case) -> float:
    work = case.kernel.work(case.key.point, case.extent)
    return work.flops + sum(work.engine_flops.values()) + sum(work.bytes.values())
