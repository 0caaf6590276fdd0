"""Times of single instructions, from the cost table."""

from __future__ import annotations

from trnbench.errors import FactError
from trnbench.fidelity.bench import Bench
from trnbench.fidelity.point import PublishedPoint, Quantity
from trnbench.fidelity.prediction import NotEmulated, Prediction

# Operation of a point → (engine, instruction, where its operands are).
_INSTRUCTIONS = {
    "nc_matmul": ("tensor", "nc_matmul", "sbuf"),
    "nc_matmul interval": ("tensor", "nc_matmul", "sbuf"),
    "load_stationary": ("tensor", "load_stationary", "sbuf"),
    "scalar copy psum": ("scalar", "tensor_copy", "psum"),
    "scalar activation sbuf": ("scalar", "activation", "sbuf"),
    "vector copy psum": ("vector", "tensor_copy", "psum"),
    "vector tensor_scalar sbuf": ("vector", "tensor_scalar", "sbuf"),
    "vector reciprocal sbuf": ("vector", "reciprocal", "sbuf"),
}
_BITS = {"fp32": 32, "bf16": 16, "fp16": 16}
_FIXED = {"tensor": "tensor.latency_ns", "vector": "vector.fixed_ns", "scalar": "scalar.fixed_ns"}


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """From start to end: the cycles of the formula, and the fixed time that was fitted for its engine.

    An interval (from one start to the next) is the formula alone.
    """
    found = _INSTRUCTIONS.get(point.operation)
    if found is None or point.quantity is not Quantity.LATENCY:
        raise NotEmulated(f"no instruction is known as {point.operation or point.op!r}")
    engine, opcode, memory = found
    table = bench.table(point.system)
    try:
        cycles = table.cycles(opcode, engine, _variables(point, memory))
        issue = cycles / table.clock(engine)
    except FactError as error:
        raise NotEmulated(error.what) from None
    fit = None if point.operation.endswith("interval") else table.fits.get(_FIXED[engine])
    fixed = float(fit["value"]) * 1e-9 if fit else 0.0
    how = f"{opcode} on {engine}: {cycles:g} cycles"
    return Prediction(value=issue + fixed, how=f"{how} + {fixed * 1e9:g} ns fixed" if fixed else how)


def _variables(point: PublishedPoint, memory: str) -> dict[str, object]:
    elements = point.number("N") or point.number("columns")
    if elements is None:
        raise NotEmulated("the elements per partition are not stated")
    bits = _BITS.get(point.dtype)
    if bits is None:
        raise NotEmulated(f"no instruction takes {point.dtype_printed or point.dtype!r}")
    psum = int(memory == "psum")
    return {
        "N": elements,
        "P": 128,
        "K": 128,
        "N_stationary": point.number("columns") or 128,
        "N_moving": elements,
        "rows": 1,
        "fp32": bits == 32,
        "transpose": False,
        "perf_mode": "",
        "psum_inputs": psum,
        "psum_operands": psum,
        "all_sbuf": not psum,
        "contiguous": True,
        "all_bf16": point.dtype == "bf16",
        "all_16bit": bits == 16,
        "bits": bits,
        "dtype_bytes": bits // 8,
        "op": "multiply",
        "zero": False,
    }
