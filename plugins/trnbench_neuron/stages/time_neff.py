"""Loads a NEFF with nrtpy on one core, executes it and times it by the device's clock."""

from __future__ import annotations

import time
from typing import Any

from reply import arrays, keep_all, serve

_held: dict[str, Any] = {}


def load(neff: str, inputs: list[dict[str, Any]], core: int) -> dict[str, Any]:
    import nrtpy
    from nrtpy import NrtpyModel, NrtpyTensor

    for needed in ("load_from_neff", "benchmark"):
        if not hasattr(NrtpyModel, needed):
            raise ImportError(f"this nrtpy has no NrtpyModel.{needed}")
    nrtpy.configure(visible_cores=[core])
    model = NrtpyModel.load_from_neff(neff, core_id=0)
    tensors = {
        name: NrtpyTensor.from_numpy(operand, name=name, core_id=0)
        for name, operand in zip(_names(model, inputs), arrays(inputs, raw=True), strict=True)
    }
    _held.update(model=model, inputs=tensors)
    return {}


def _names(model: Any, inputs: list[dict[str, Any]]) -> list[str]:
    """The NEFF's name of each argument: the same word, the word in it, or the only one of its size."""
    info = dict(model.input_tensors_info)
    names: list[str] = []
    for each in inputs:
        left = {name: meta for name, meta in info.items() if name not in names}
        word = each["name"]
        size = each["bytes"]
        fits = [name for name, meta in left.items() if int(meta.size) == size]
        named = [name for name in fits if name == word] or [name for name in fits if word and word in name]
        chosen = named or (fits if len(fits) == 1 or not word else [])
        if len(chosen) != 1:
            known = ", ".join(f"{name} ({int(meta.size)} B)" for name, meta in info.items())
            raise LookupError(f"no input of the NEFF is {word} of {size} B; it has {known or 'none'}")
        names.append(chosen[0])
    return names


def executed(folder: str) -> dict[str, Any]:
    outputs = _held["model"](inputs=_held["inputs"])
    return {"outputs": keep_all([tensor.numpy() for tensor in (outputs or {}).values()], f"{folder}/output")}


def timed(iterations: int, warmups: int, mode: str) -> dict[str, Any]:
    began = time.monotonic()
    report = _held["model"].benchmark(
        inputs=_held["inputs"], warmup_iter=warmups, benchmark_iter=iterations, mode=mode
    )
    ended = time.monotonic()
    return {
        "durations_s": [float(each) * 1e-3 for each in report.durations_ms],
        "mean_s": float(report.mean_ms) * 1e-3,
        "began": began,
        "ended": ended,
    }


if __name__ == "__main__":
    serve({"load": load, "execute": executed, "time": timed})
