"""Stands in for nrtpy 2.32: loads what the nki stand-in left, computes with NumPy, and takes the time
that a device of 10 GFLOP/s would. Output types are void, as documented. STANDIN_NRTPY makes it fail."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np

MODE = os.environ.get("STANDIN_NRTPY", "")
RATE = 1e10
CORE = [0]

print("[NRT] 2026-Nov-20 10:00:00.0001 INFO NRT:nrt_init version 2.35")


class NrtError(RuntimeError):
    pass


class NrtpyError(RuntimeError):
    pass


def configure(visible_cores=None):
    if isinstance(visible_cores, int):
        raise TypeError("visible_cores is an int")
    CORE[:] = list(visible_cores)


def reset():
    CORE[:] = [0]


class NrtpyTensor:
    def __init__(self, array, name):
        self._array, self.name = array, name
        self.shape, self.dtype = array.shape, array.dtype

    @classmethod
    def from_numpy(cls, array, name=None, core_id=0):
        if MODE == "oom":
            raise NrtError("NRT Error NRT_RESOURCE(4): Failed to allocate tensor")
        return cls(np.ascontiguousarray(array), name)

    def numpy(self):
        return self._array


class NrtpyModel:
    def __init__(self, neff):
        self.neff = neff
        self.input_tensors_info = {
            f"{each['name']}_input": SimpleNamespace(shape=each["shape"], size=each["size"])
            for each in neff["inputs"]
        }
        self.output_tensors_info = {"output_0": SimpleNamespace(shape=[], size=0)}

    @classmethod
    def load_from_neff(cls, path, name=None, core_id=0, cc_enabled=False, rank_id=0, world_size=1):
        neff = json.loads(Path(path).read_text())
        if neff["target"] != os.environ.get("STANDIN_TARGET", "gen3"):
            raise NrtError("NRT Error NRT_FAILURE(6): Failed to load model")
        return cls(neff)

    def __call__(self, inputs, outputs=None, save_trace=False, ntff_name=None):
        if set(inputs) != set(self.input_tensors_info):
            raise NrtError("NRT Error NRT_INVALID(2): unknown input")
        if MODE == "segfault":
            print("TDRV:exec_core0 NEURON_HW_ERROR", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGSEGV)
        _count(1)
        arrays = []
        for each in self.neff["inputs"]:
            kind = np.dtype(getattr(ml_dtypes, each["dtype"], None) or each["dtype"])
            raw = np.ascontiguousarray(inputs[f"{each['name']}_input"].numpy()).tobytes()
            arrays.append(np.frombuffer(raw, kind).reshape(each["shape"]))
        if "outputs" in self.neff:
            found = [np.load(path) for path in self.neff["outputs"]]
            if MODE == "wrong":
                found[0] = np.frombuffer(bytes(found[0].nbytes), found[0].dtype).reshape(found[0].shape)
            return {f"output_{i}": NrtpyTensor(each, f"output_{i}") for i, each in enumerate(found)}
        if self.neff["kernel"] == "idle":
            result = arrays[0]
        else:
            result = (arrays[0].astype(np.float32).T @ arrays[1].astype(np.float32)).astype(arrays[0].dtype)
        if MODE == "wrong":
            result = result.copy()
            result[:, : max(1, result.shape[1] // 8)] = 0
        if MODE == "nan":
            result = np.full_like(result, np.nan)
        void = np.frombuffer(result.tobytes(), dtype=f"V{result.dtype.itemsize}").reshape(result.shape)
        return {"output_0": NrtpyTensor(void, "output_0")}

    def _seconds(self):
        if self.neff["kernel"] == "idle":
            return 5e-6
        if "seconds" in self.neff:
            return self.neff["seconds"]
        (k, m), (_, n) = (each["shape"] for each in self.neff["inputs"])
        if MODE == "flat":
            return 1e-3
        return 5e-6 + 2 * m * n * k / RATE

    def benchmark(self, inputs, outputs=None, warmup_iter=5, benchmark_iter=5, mode="device"):
        if mode not in ("device", "host") or benchmark_iter < 1:
            raise ValueError("mode")
        if MODE == "hang":
            time.sleep(600)
        if MODE == "no-events" and mode == "device":
            raise RuntimeError("no device execution events were captured")
        each = self._seconds()
        if MODE == "uncounted":
            time.sleep(each * (warmup_iter + benchmark_iter))
        elif MODE != "not-awaited":
            time.sleep(each * (warmup_iter + benchmark_iter))
            _count(warmup_iter + benchmark_iter)
        taken = each + (2e-5 if mode == "host" else 0.0)
        if MODE == "host-too-fast" and mode == "host":
            taken = each / 100
        if MODE == "host-too-fast" or MODE != "zero":
            durations = [taken * 1e3] * benchmark_iter
        else:
            durations = [0.0] * benchmark_iter
        return SimpleNamespace(
            mean_ms=taken * 1e3,
            min_ms=taken * 1e3,
            max_ms=taken * 1e3,
            std_dev_ms=0.0,
            iterations=benchmark_iter,
            warmup_iterations=warmup_iter,
            durations_ms=durations,
        )


if MODE == "old":
    del NrtpyModel.benchmark


def _count(executions):
    """What the driver would do: count on the core that is used."""
    root = os.environ.get("STANDIN_SYSFS", "")
    if not root or MODE == "uncounted":
        return
    core = Path(root) / f"neuron{CORE[0] // 8}" / f"neuron_core{CORE[0] % 8}" / "stats" / "status"
    total = core / "success" / "total"
    total.write_text(str(int(total.read_text()) + executions))


__version__ = "2.35.30"
