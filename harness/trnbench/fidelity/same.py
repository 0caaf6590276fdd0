"""Our own kernel of the same operation and shape beside a published one.

Two programs, so never counted as fidelity: it shows whether the published number is in reach of the
model at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.facts.scope import Scope
from trnbench.fidelity.point import PublishedPoint, Quantity
from trnbench.fidelity.prediction import NotEmulated, Prediction
from trnbench.kernels.extent import Extent

if TYPE_CHECKING:
    from trnbench.fidelity.bench import Bench

_FLOATS = ("bf16", "fp16", "fp32")


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """Raises `NotEmulated` where we have no kernel of that operation, shape and quantity."""
    kernel, axes = _kernel(point)
    if point.dtype not in _FLOATS:
        raise NotEmulated(f"no kernel of ours takes {point.dtype_printed or point.dtype!r}")
    if point.number("cores") not in (1, None) or point.number("lnc") == 2:
        raise NotEmulated("more than one physical core took part")
    seen, work = bench.observe(
        kernel, point.system, {"dtype": point.dtype, **axes}, Scope.CORE, Extent(scope=Scope.CORE)
    )
    assert seen.time_s is not None
    launch = sum(part.seconds for part in seen.parts if part.name == "launch")
    time_s = seen.time_s - launch
    how = f"our {kernel} without launch: {seen.implementation}"
    if point.quantity is Quantity.LATENCY:
        return Prediction(value=time_s, how=how)
    rate = work.get("flops", 0.0) / time_s
    if point.quantity is Quantity.FLOPS:
        return Prediction(value=rate, how=how)
    peak = bench.system(point.system).fact(Scope.CORE, "peak_flops", dtype=point.dtype)
    if point.quantity is Quantity.SHARE and "MFU" in point.metric and peak:
        return Prediction(value=rate / peak, how=how)
    raise NotEmulated(f"no kernel of ours gives {point.quantity}")


def _kernel(point: PublishedPoint) -> tuple[str, dict[str, int | str]]:
    """Kernel and axes, the data type aside."""
    if point.operation == "gemm":
        m, n, k = (point.number(name) for name in ("M", "N", "K"))
        if m and n and k:
            return "gemm_ragged", {"m": m, "n": n, "k": k}
    if point.operation == "attention":
        seq, depth, heads = (point.number(name) for name in ("seq", "d_head", "heads"))
        if seq and depth and heads:
            return "attention", {"seq": seq, "head_dim": depth, "mask": "none", "heads": heads}
    if point.operation == "transpose":
        rows, columns = point.number("rows"), point.number("columns")
        if rows and rows == columns:
            return "transpose", {"size": rows}
    if point.operation == "layer_norm":
        rows, columns = point.number("rows"), point.number("columns")
        if rows and columns:
            return "layer_norm", {"rows": rows, "columns": columns}
    raise NotEmulated("no kernel of ours does the same")
