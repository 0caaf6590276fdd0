"""The machine in front of us: its processor as one more system, measured by the `host` backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import trnbench
from trnbench import Generation, Instance, Kernel, Scope, Variant

if TYPE_CHECKING:
    from trnbench import Backend


@trnbench.hookimpl
def trnbench_generations() -> Iterator[Generation]:
    """One generation with one instance; its figures are read off the machine when they are asked for."""
    yield Generation(
        name="host",
        title="This machine",
        order=900,
        facts=(),
        identify="trnbench_host.book:identified",
        instances=(
            Instance(
                name="host",
                title="This machine's processors",
                scope=Scope.INSTANCE,
                device="host-cpu",
                core="host-core",
                topology="trnbench_host.topology:host",
                default=False,
                stack=("numpy", "c", "torch"),
            ),
            Instance(
                name="host-ranks",
                title="This machine's processors as two ranks",
                scope=Scope.INSTANCE,
                device="host-rank",
                core="host-core",
                topology="trnbench_host.topology:ranks",
                default=False,
                stack=("torch-distributed",),
            ),
        ),
    )


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Variant]:
    """GEMM, STREAM, transcendental functions, copies between processes, load latency."""
    yield from trnbench.read_kernels(Path(__file__).with_name("kernels.toml"), __name__)


@trnbench.hookimpl
def trnbench_backends() -> Iterator[Backend]:
    """Measures on this machine's processor: with NumPy and C, and with torch."""
    from trnbench_host.backend import HostBackend

    yield HostBackend()
    if "torch_missing" in dir(trnbench):  # the part that knows torch may be left out
        from trnbench_host.torch_backend import TorchBackend

        yield TorchBackend()
