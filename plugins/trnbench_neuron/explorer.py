"""`neuron-explorer`: counters of one execution, from its summary.

The summary has no versioned format (Neuron Explorer troubleshooting, SDK 2.32: "the output schema may
change"), so everything in it is optional. Fields: Profile Schema Reference 7.4.0 (SDK 2.31).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trnbench_neuron.tool import Toolbox, json_of, number

NAME = "neuron-explorer"
LIMIT_S = 120.0

FIELDS = (
    "total_time",
    "neuroncore_cycle_count",
    "model_flops",
    "hardware_flops",
    "transpose_flops",
    "hbm_read_bytes",
    "hbm_write_bytes",
    "sbuf_read_bytes",
    "sbuf_write_bytes",
    "psum_read_bytes",
    "psum_write_bytes",
    "spill_save_bytes",
    "spill_reload_bytes",
    "dma_transfer_count",
    "dma_transfer_total_bytes",
    "tensor_engine_active_time_percent",
    "vector_engine_active_time_percent",
    "scalar_engine_active_time_percent",
    "gpsimd_engine_active_time_percent",
    "mfu_estimated_percent",
    "mbu_estimated_percent",
)
"""Taken where they are numbers; the key in `Observation.counters` is the same with profile_ before."""


def profile(tools: Toolbox, neff: Path, *, env: Mapping[str, str], folder: Path) -> dict[str, float]:
    """Counters of one profiled execution of `neff`. Raises `ToolError`.

    The program is executed again, under the profiler: times from here are never the result.
    """
    trace = folder / "profile.ntff"
    capture = ["capture", "-n", str(neff), "-s", str(trace), "--profile-nth-exec=2"]
    tools.run(NAME, capture, limit_s=LIMIT_S, env=env, folder=folder)
    # --profile-nth-exec puts the number of the execution into the file's name.
    written = sorted(folder.glob("profile*.ntff")) or [trace]
    view = ["view", "-n", str(neff), "-s", str(written[-1]), "--output-format", "summary-json"]
    return read_summary(tools.run(NAME, view, limit_s=LIMIT_S, env=env, folder=folder).stdout)


def read_summary(text: str) -> dict[str, float]:
    """Known fields that are numbers. Raises `ToolError` (unreadable) for no JSON object at all."""
    fields: dict[str, float] = {}
    summary = _innermost(json_of(NAME, text, dict))
    for field in FIELDS:
        value = number(summary.get(field))
        if value is not None:
            fields[f"profile_{field}"] = value
    return fields


ENGINES = ("tensor", "vector", "scalar", "gpsimd")


def engines(counters: Mapping[str, float]) -> dict[str, float]:
    """Engine → seconds it was active in the profiled execution, of the counters of `profile`.

    The fields are called percentages; the reference's own example has 0.99 for all of the time. What is above
    one is taken for per cent.
    """
    total = counters.get("profile_total_time", 0.0)
    shares = {}
    for engine in ENGINES:
        active = counters.get(f"profile_{engine}_engine_active_time_percent")
        if active is not None and total > 0.0:
            shares[engine] = total * (active / 100.0 if active > 1.0 else active)
    return shares


def _innermost(document: Any, depth: int = 4) -> Mapping[str, Any]:
    """The object that has fields of a summary: the document, or one inside it, by core or in a list."""
    if isinstance(document, dict):
        if any(field in document for field in FIELDS):
            return document
        inside = list(document.values())
    elif isinstance(document, list):
        inside = document
    else:
        return {}
    if depth:
        for inner in inside:
            if found := _innermost(inner, depth - 1):
                return found
    return {}
