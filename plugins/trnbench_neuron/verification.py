"""A second opinion on a kernel's result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trnbench.kernels.case import Case
from trnbench.lazy import resolve
from trnbench_emulator.nki.problem import Source, beside
from trnbench_neuron import sample
from trnbench_neuron.agreement import UNIT, disagreement

if TYPE_CHECKING:
    from trnbench.generation import System

EMULATED_LIMIT = 5e8
"""Operations up to which the result is recomputed by executing the kernel's source on this CPU."""

REFERENCE_LIMIT = 1 << 22
"""Elements of arguments and results up to which a kernel's reference is computed whole."""

ROWS = 64
"""Rows of a matrix product that are recomputed in full."""


def wrong(
    source: Source,
    case: Case,
    system: System,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    kind: str = "nki",
) -> tuple[str, str]:
    """(what is wrong with the result, how that was found out); the second is "" where nothing could be.

    By `<kernel>_wrong(inputs, outputs)` beside the kernel, by the mathematics of a matrix product, by
    its reference, or by executing the kernel's source here.
    """
    own = getattr(beside(source.module, kind), f"{source.function}_wrong", None)
    if own is not None:
        return str(own(inputs, outputs)), f"{source.function}_wrong, beside the kernel"
    if case.kernel.family == "gemm" and len(inputs) in (2, 4) and len(outputs) == 1:
        left, right = inputs if len(inputs) == 2 else _unscaled(*inputs)
        return product_wrong(left, right, outputs[0]), "a random vector and full rows in double precision"
    found = sample.wrong(source.ref, (*inputs, *source.plain), outputs) if kind == "nki" else None
    if found is not None:
        return found, "elements drawn all over it, computed in double precision from the inputs"
    found = _by_reference(source, inputs, outputs) if kind == "nki" else None
    if found is not None:
        return found, f"{source.function}_reference, beside the kernel, in double precision"
    if kind == "nki" and operations(case) <= EMULATED_LIMIT:
        return _emulated_wrong(source, system, inputs, outputs), "its own source, executed on the host"
    return "", ""


def _by_reference(source: Source, inputs: Sequence[Any], outputs: Sequence[Any]) -> str | None:
    """ "" or what is wrong; None where the kernel has no reference, or one that would take long."""
    import numpy as np

    if sum(each.size for each in (*inputs, *outputs)) > REFERENCE_LIMIT:
        return None
    reference = resolve(getattr(beside(source.module, "nki"), f"{source.function}_reference", None))
    if reference is None:
        return None
    made = reference(*map(sample.wide, inputs), *source.plain)
    wanted = made if isinstance(made, tuple) else (made,)
    if len(wanted) != len(outputs):
        return f"{len(outputs)} results, its reference returns {len(wanted)}"
    for index, (want, got) in enumerate(zip(wanted, outputs, strict=True)):
        exact, have = np.asarray(want).astype(np.float64), np.asarray(got).astype(np.float64)
        if differs := disagreement(exact, have, np.asarray(got).dtype.name):
            return f"result {index}: {differs}"
    return ""


def _unscaled(left: Any, right: Any, left_scale: Any, right_scale: Any) -> tuple[Any, Any]:
    from trnbench_kernels.nki.references import unscaled

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

    from trnbench_emulator.nki import Machine, load_kernel, provide, record

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


def operations(case: Case) -> float:
    """FLOP, engine operations and bytes of a case together: how long its source would be executed here."""
    work = case.kernel.work(case.key.point, case.extent)
    return work.flops + sum(work.engine_flops.values()) + sum(work.bytes.values())
