"""Published products whose kernel is not to be had, or matters little: our own product of that shape."""

from __future__ import annotations

from math import prod

from trnbench_fidelity.bench import Bench
from trnbench_fidelity.own_products import product_cores, product_shape, product_time
from trnbench_fidelity.point import NotEmulated, Prediction, PublishedPoint, Quantity


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """Its time without a launch, or the FLOP/s that follow from it; cores that share it take rows each."""
    shape, cores = product_shape(point), product_cores(point)
    if shape is None or cores not in (1, 2) or shape[0] % cores:
        raise NotEmulated("the shape of the product, or the cores that share it, is not stated")
    m, n, k = shape
    time_s = product_time(bench, point.system, (m // cores, n, k), point.dtype, cores)
    how = f"our own product, {m // cores} rows of it on each of {cores} cores"
    if point.quantity is Quantity.LATENCY:
        return Prediction(value=time_s, how=how)
    if point.quantity is Quantity.FLOPS:
        return Prediction(value=2 * prod(shape) / time_s, how=how)
    raise NotEmulated(f"a product has a time, not {point.metric or point.quantity}")
