"""Our own kernel of the same operation and shape beside a published one.

Two programs, so never counted as fidelity: it shows whether the published number is in reach of the
model at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from trnbench import Extent, Observation, Scope
from trnbench.results.fidelity import OwnProduct
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import Clock, Kind, NotEmulated, Prediction, PublishedPoint, Quantity, Usable
from trnbench_fidelity.published_points import published_points

if TYPE_CHECKING:
    from trnbench.registry import Registry

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
    time_s = _without_launch(seen)
    how = f"our {kernel} without launch: {seen.implementation}"
    if point.quantity is Quantity.LATENCY:
        return Prediction(value=time_s, how=how)
    rate = work.get("flops", 0.0) / time_s
    if point.quantity is Quantity.FLOPS:
        return Prediction(value=rate, how=how)
    if peak := bench.peak(point):
        return Prediction(value=rate / peak, how=how)
    raise NotEmulated(f"no kernel of ours gives {point.quantity}")


def products(
    registry: Registry, generation: str, rates: Mapping[str, float] | None = None
) -> tuple[OwnProduct, ...]:
    """One row for each published shape of a product that we have a kernel for, the least work first.

    A product that the two cores of a logical core share is timed as what `gemm_shared` makes of it: half the
    rows of C on each core, both at work. Only measured points count whose scale is not disputed; a generation
    without points has no row. `rates`: the model's FLOP/s by point; only points among them count, and nothing
    is timed. Raises what `published_points` raises.
    """
    bench = Bench(registry)
    shapes: dict[tuple[int, int, int, str, int], list[tuple[float, PublishedPoint]]] = {}
    for point in published_points(registry, (generation,)).get(generation, ()):
        shape, cores = product_shape(point), product_cores(point)
        rate = _published_rate(point, bench, shape) if shape else None
        if shape and rate and cores in (1, 2) and not shape[0] % cores and point.dtype in _FLOATS:
            shapes.setdefault((*shape, point.dtype, cores), []).append((rate, point))
    products = []
    for (m, n, k, dtype, cores), rows in shapes.items():
        (rate, best), *slower = sorted(rows, key=lambda row: (-row[0], row[1].id))
        if rates is not None:
            if best.id not in rates:
                continue
            model = rates[best.id]
        else:
            try:
                time_s = product_time(bench, best.system, (m // cores, n, k), dtype, cores)
            except NotEmulated:  # it has no e, and the point none of a program of ours
                continue
            model = 2 * m * n * k / time_s
        products.append(
            OwnProduct(
                id=best.id, generation=generation, m=m, n=n, k=k, dtype=dtype, cores=cores,
                kernel="gemm" if cores == 1 else "gemm_shared",
                model_flops_per_s=model, published_flops_per_s=rate, e=math.log(rate / model),
                source=best.source, others=tuple(point.id for _, point in slower),
            )
        )  # fmt: skip
    return tuple(sorted(products, key=lambda each: (each.m * each.n * each.k, each.id)))


def product_shape(point: PublishedPoint) -> tuple[int, int, int] | None:
    """M, N and K of a measured product; None where a call of the host is in its time."""
    if point.operation != "gemm" or point.kind is not Kind.MEASURED or point.usable is Usable.NO:
        return None
    if point.clock is Clock.HOST:
        return None
    m, n, k = (point.number(name) for name in ("M", "N", "K"))
    return (m, n, k) if m and n and k and point.number("B") in (1, None) else None


def product_cores(point: PublishedPoint) -> int:
    """Physical cores that share the problem; 0 where that is not one launch."""
    logical = point.number("lnc") or 1
    return logical if point.number("cores") in (1, logical, None) else 0


def _published_rate(point: PublishedPoint, bench: Bench, shape: tuple[int, int, int]) -> float | None:
    """FLOP/s, from a time or from a share of the peak that the source means; None from anything else."""
    if not point.value:
        return None
    if point.quantity is Quantity.FLOPS:
        return point.value
    if point.quantity is Quantity.LATENCY:
        return 2.0 * math.prod(shape) / point.value
    peak = bench.peak(point) if product_cores(point) == 1 else None
    return point.value * peak if peak else None


def product_time(bench: Bench, system: str, rows: tuple[int, int, int], dtype: str, cores: int) -> float:
    """Seconds without the launch; each of `cores` has so many rows of C. `gemm_ragged` is the source of
    `gemm` with three sizes."""
    scope = Scope.CORE if cores == 1 else Scope.LOGICAL_CORE
    m, n, k = rows
    axes = {"dtype": dtype, "m": m, "n": n, "k": k}
    seen, _ = bench.observe("gemm_ragged", system, axes, scope, Extent(scope=scope, cores=cores))
    return _without_launch(seen)


def _without_launch(seen: Observation) -> float:
    assert seen.time_s is not None
    return seen.time_s - sum(part.seconds for part in seen.parts if part.name == "launch")


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
