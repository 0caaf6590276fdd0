"""Runs and times a kernel of NKI Beta 1 (`neuronxcc.nki`, SDK 2.26 and before): nki.benchmark."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

from reply import arrays, keep_all, serve

PERCENTILES = (0, 1, 10, 25, 50, 90, 99, 100)


def measured(
    file: str, function: str, inputs: list[dict[str, Any]], folder: str, warmups: int, iterations: int
) -> dict[str, Any]:
    from neuronxcc import nki

    for needed in ("benchmark", "baremetal"):
        if not hasattr(nki, needed):
            raise ImportError(f"this neuronxcc.nki has no {needed}")
    spec = importlib.util.spec_from_file_location("_kernel", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, function)
    operands = arrays(inputs)
    outputs = keep_all(nki.baremetal(kernel)(*operands), f"{folder}/output")
    timed = nki.benchmark(warmup=warmups, iters=iterations)(kernel)
    began = time.monotonic()
    timed(*operands)
    wall_s = time.monotonic() - began
    latency = timed.benchmark_result.nc_latency
    found = {str(p): float(latency.get_latency_percentile(p)) * 1e-6 for p in PERCENTILES}
    return {"outputs": outputs, "percentiles_s": found, "wall_s": wall_s}


if __name__ == "__main__":
    serve({"measure": measured})
