"""The `cuda` backend: the GPUs of this machine by torch, and nothing where they cannot prove themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import trnbench
from trnbench import Case, Detection, Observation, Record, Scope, System, TrnbenchError
from trnbench_cuda import smi
from trnbench_cuda.smi import Gpu

if TYPE_CHECKING:
    from trnbench import Timing


TABLE = Path(__file__).with_name("names.toml")
UNKNOWN = "cuda-device"
BOARD_SIZE = 8


class Known(Record, kw_only=True, forbid_unknown_fields=True):
    """One row of names.toml."""

    name: str
    single: str
    multiprocessors: int
    board: str = ""


class Match(Record, kw_only=True):
    """`gpus` take part, in the order in which programs count them; `why` where there is none."""

    instance: str = ""
    gpus: tuple[Gpu, ...] = ()
    known: Known | None = None
    notes: tuple[str, ...] = ()
    why: str = ""
    try_: str = ""


@cache
def table() -> dict[str, Known]:
    import tomllib

    read = tomllib.loads(TABLE.read_text())
    rows = (msgspec.convert(row, Known) for row in read["gpu"])
    return {row.name: row for row in rows}


def identify(found: Sequence[Gpu], variables: Mapping[str, str]) -> Match:
    """`found` is every GPU of the machine, `variables` may hide some: CUDA_VISIBLE_DEVICES."""
    gpus = visible(found, variables.get("CUDA_VISIBLE_DEVICES"))
    if not gpus:
        hidden = len(found) > 0
        return Match(
            why="CUDA_VISIBLE_DEVICES hides every GPU" if hidden else "the driver lists no GPU",
            try_="unset CUDA_VISIBLE_DEVICES" if hidden else "nvidia-smi",
        )
    first = gpus[0]
    row = table().get(first.name)
    if row is None:
        note = f"unknown GPU {first.name!r}: measured, no peak"
        return Match(instance=UNKNOWN, gpus=gpus[:1], notes=(note,))
    if first.sliced:
        note = f"{first.name} with MIG on: a slice of it is no documented system: measured, no peak"
        return Match(instance=UNKNOWN, gpus=gpus[:1], notes=(note,))
    alike = all(gpu.name == first.name and not gpu.sliced for gpu in gpus)
    if alike and len(gpus) == BOARD_SIZE and row.board:
        return Match(instance=row.board, gpus=tuple(gpus), known=row)
    notes: tuple[str, ...] = ()
    if len(gpus) > 1:
        notes = (f"{len(gpus)} GPUs here make no documented system: the first one is measured",)
    return Match(instance=row.single, gpus=gpus[:1], known=row, notes=notes)


def visible(found: Sequence[Gpu], asked: str | None) -> tuple[Gpu, ...]:
    """As CUDA reads the variable: indices or beginnings of UUIDs, in that order, up to the first unknown."""
    if asked is None:
        return tuple(found)
    chosen: list[Gpu] = []
    for word in (each.strip() for each in asked.split(",")):
        match = next((gpu for gpu in found if _named(gpu, word)), None)
        if match is None:
            break
        chosen.append(match)
    return tuple(chosen)


def _named(gpu: Gpu, word: str) -> bool:
    return word == str(gpu.index) or (word.startswith("GPU-") and gpu.uuid.startswith(word))


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
            "torch_version": trnbench.torch_version(),
            "gpu_name": match.gpus[0].name if match.gpus else "none",
            "gpu_count": len(match.gpus),
            "gpu_driver": match.gpus[0].driver if match.gpus else "none",
            "gpu_notes": "; ".join(match.notes),
            "tf32_override": os.environ.get("NVIDIA_TF32_OVERRIDE", "not set"),
        }

    def unsupported(self, case: Case, system: System) -> str:
        from trnbench import torch_refuses

        match = self._found()
        if system.instance.name != match.instance:
            here = match.instance or "no GPU"
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
        sampler = smi.Sampler([gpu.index for gpu in match.gpus[:count]])
        try:
            carrier = CudaCarrier(
                devices,
                torch=torch,
                cache_bytes=cache,
                settings={"float32_precision": precision},
                witness=lambda: smi.witness(sampler.stop()),
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
        if lacking := trnbench.torch_missing():
            return _absent(lacking.why, lacking.try_)
        if trnbench.torch_version().endswith("+cpu"):
            return _absent(f"torch {trnbench.torch_version()} is built without CUDA", WITH_CUDA)
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
