"""CUDA GPUs: documented facts of the H100 and the H200, measured by the `cuda` backend. Never emulated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trnbench
from trnbench import Generation, Instance, Scope

if TYPE_CHECKING:
    from trnbench import Backend

HERE = Path(__file__).parent
FACTS = ("sources", "gpus", "boards", "assumptions")

ONE = ("torch",)
BOARD = ("torch", "torch-distributed")


def _instance(name: str, title: str, gpu: str, **more: Any) -> Instance:
    """One that a default run leaves out: there is nothing to emulate it with."""
    return Instance(
        name=name,
        title=title,
        scope=Scope.INSTANCE,
        device=f"{gpu}-gpu",
        core=f"{gpu}-gpu-core",
        default=False,
        **{"topology": "trnbench_cuda.topology:single", "stack": ONE, **more},
    )


@trnbench.hookimpl
def trnbench_generations() -> Iterator[Generation]:
    """Hopper, and whatever GPU is in front of us that no file here knows."""
    board: dict[str, Any] = {"topology": "trnbench_cuda.topology:board", "stack": BOARD}
    yield Generation(
        name="hopper",
        title="NVIDIA Hopper",
        order=800,
        facts=tuple(HERE / "facts" / f"{name}.toml" for name in FACTS),
        instances=(
            _instance("h100-sxm", "NVIDIA H100 SXM, one GPU", "h100-sxm"),
            _instance("h100-pcie", "NVIDIA H100 PCIe, one GPU", "h100-pcie"),
            _instance("h200-sxm", "NVIDIA H200 SXM, one GPU", "h200-sxm"),
            _instance("hgx-h100", "NVIDIA HGX H100, 8 GPUs", "h100-sxm", aliases=("dgx-h100",), **board),
            _instance("hgx-h200", "NVIDIA HGX H200, 8 GPUs", "h200-sxm", aliases=("dgx-h200",), **board),
        ),
    )
    yield Generation(
        name="cuda",
        title="Other CUDA GPUs",
        order=810,
        facts=(HERE / "facts" / "unknown.toml",),
        instances=(_instance("cuda-device", "A CUDA GPU without documented figures here", "unknown"),),
    )


@trnbench.hookimpl
def trnbench_backends() -> Iterator[Backend]:
    """Measures on CUDA GPUs, with torch."""
    from trnbench_cuda.backend import CudaBackend

    yield CudaBackend()
