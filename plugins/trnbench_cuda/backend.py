"""The `cuda` backend: the GPUs of this machine by torch, and nothing where they cannot prove themselves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from trnbench import (
    Case,
    Detection,
    Observation,
    Scope,
    System,
    TrnbenchError,
    torch_missing,
    torch_version,
)
from trnbench_cuda import smi
from trnbench_cuda.identify import Match, identify

if TYPE_CHECKING:
    from trnbench import Timing


WITH_CUDA = "a build of torch with CUDA: https://pytorch.org/get-started/locally  (several GB)"

DRIVER = "install NVIDIA's driver, or run it on a machine with a GPU of theirs"


class CudaBackend:
    """Kernels on one GPU, on each of a board's at once, and collectives by NCCL."""

    name = "cuda"

    def __init__(self, timing: Timing | None = None) -> None:
        self.timing = timing  # else as `Timing` says, which is imported where something is measured
        self._match: Match | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A worker process looks again: a GPU may be gone.
        return {**vars(self), "_match": None}

    def tuned(self, sample_s: float) -> CudaBackend:
        """The same backend that samples each case for `sample_s` at most."""
        from trnbench import Timing

        return CudaBackend(Timing(sample_s=sample_s))

    def detect(self) -> Detection:
        """Costs a look into PATH where there is no driver; torch is not imported."""
        try:
            return self._detected()
        except TrnbenchError as error:
            why = f"{error.what}: {error.cause}" if error.cause else error.what
            return _absent(why, error.try_)

    def environment(self) -> dict[str, Any]:
        match = self._found() if smi.present() else Match()
        return {
            "torch_version": torch_version(),
            "gpu_name": match.gpus[0].name if match.gpus else "none",
            "gpu_count": len(match.gpus),
            "gpu_driver": match.gpus[0].driver if match.gpus else "none",
            "gpu_notes": "; ".join(match.notes),
            "tf32_override": os.environ.get("NVIDIA_TF32_OVERRIDE", "not set"),
        }

    def unsupported(self, case: Case, system: System) -> str:
        from trnbench import torch_refuses

        found = self._found()
        if system.instance.name != found.instance:
            here = found.instance or "no GPU"
            return f"this machine is {here}; a measured run is of the machine in front of you"
        if why := torch_refuses(case):
            return why
        if case.key.dtype in ("cfp8", "mxfp8", "mxfp4"):
            return f"Hopper's matrix units do not take {case.key.dtype}"
        if case.kernel.spread.linked and case.key.dtype == "fp8":
            return "sums of 8-bit floating-point numbers are left to NCCL's own tests"
        return ""

    def observe(self, case: Case, system: System) -> Observation:
        from trnbench import (
            CudaCarrier,
            CudaDevice,
            Timing,
            observe_torch_case,
            observe_torch_collective,
            set_cuda_precision,
        )

        torch = _torch()
        match = self._found()
        device, cache = named(torch, match)
        evidence: dict[str, Any] = {
            "device": device,
            "named_by": "torch.cuda.get_device_name and the number of its multiprocessors",
            "timing": self.timing or Timing(),
        }
        if case.kernel.spread.linked:
            return observe_torch_collective(case, device_kind="cuda", backend="nccl", **evidence)
        precision = set_cuda_precision(torch, case.key.dtype, dict(os.environ))
        count = 1 if case.key.scope.rank <= Scope.DEVICE.rank else len(match.gpus)
        devices = [CudaDevice(index) for index in range(count)]
        sampler = smi.Sampler([each.index for each in match.gpus[:count]])
        try:
            carrier = CudaCarrier(
                devices,
                torch=torch,
                cache_bytes=cache,
                settings={"float32_precision": precision},
                witness=lambda: _witness(sampler),
            )
            return observe_torch_case(
                case, devices, carrier, detail={"gpu_notes": list(match.notes)}, **evidence
            )
        finally:
            sampler.stop()

    def _detected(self) -> Detection:
        if not smi.present():
            return _absent("nvidia-smi is not on the PATH: no driver of NVIDIA's, so no GPU", DRIVER)
        match = self._found()
        if match.why:
            return _absent(match.why, match.try_)
        if lacking := torch_missing():
            return _absent(lacking.why, lacking.try_)
        if torch_version().endswith("+cpu"):
            return _absent(f"torch {torch_version()} is built without CUDA", WITH_CUDA)
        kinds = ("torch", "torch-distributed") if len(match.gpus) > 1 else ("torch",)
        return Detection(available=True, instance=match.instance, kinds=kinds, unverified=UNVERIFIED)

    def _found(self) -> Match:
        if self._match is None:
            self._match = identify(smi.gpus(), os.environ)
        return self._match


def named(torch: Any, found: Match) -> tuple[str, float]:
    """The name that the GPU gives itself through torch, and its L2 in bytes (0: torch does not tell).

    Raises `TrnbenchError` where it is another one than nvidia-smi listed, or only a part of it.
    """
    properties = torch.cuda.get_device_properties(0)
    name = str(torch.cuda.get_device_name(0))
    listed = found.gpus[0].name
    if name != listed:
        raise TrnbenchError(
            f"torch calls the GPU {name!r}, nvidia-smi {listed!r}",
            cause="they count GPUs in another order",
            try_="CUDA_DEVICE_ORDER=PCI_BUS_ID trnbench run --backend cuda",
        )
    units = int(properties.multi_processor_count)
    if found.known is not None and units != found.known.multiprocessors:
        raise TrnbenchError(
            f"{name} has {units} multiprocessors here, not {found.known.multiprocessors}",
            cause="a slice of a GPU (MIG), which documents give no figures for",
            try_="nvidia-smi -L",
        )
    return name, float(getattr(properties, "L2_cache_size", 0))


def _torch() -> Any:
    import torch

    if not torch.cuda.is_available():
        raise TrnbenchError(
            "torch finds no CUDA GPU, and no other device is measured in its place",
            cause=f"torch {torch.__version__}, CUDA {torch.version.cuda or 'not built in'}",
            try_="trnbench doctor",
        )
    return torch


def _witness(sampler: smi.Sampler) -> Any:
    from trnbench_cuda.witness import witness

    return witness(sampler.stop())


def _absent(why: str, try_: str) -> Detection:
    return Detection(available=False, why=why, try_=try_ or "trnbench doctor", unverified=UNVERIFIED)


UNVERIFIED = (
    "times by events, their agreement with the host's clock, and the emptying of the L2",
    "graphs of short calls, and the kernel that spins while calls are queued (torch.cuda._sleep)",
    "FP8 and integer products (torch._scaled_mm, torch._int_mm) on matrix units",
    "collectives by NCCL, and one problem on each of several GPUs at once",
    "nvidia-smi's columns, the name of the H200, and the reasons for lowered clocks",
    "documented peaks as a percentage of anything measured",
)
