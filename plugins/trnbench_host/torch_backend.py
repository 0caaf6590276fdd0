"""The `torch` backend: this machine's processor by torch, collectives by gloo between processes."""

from __future__ import annotations

import sys
from typing import Any

from trnbench import (
    Case,
    Detection,
    Observation,
    Scope,
    System,
    show,
    torch_missing,
    torch_version,
)
from trnbench_host.backend import COLD_UP_TO, HostBackend
from trnbench_host.book import HOST, RANKS
from trnbench_host.cpu import PROC, Cpu, meminfo, read_cpu

MOST_FLOPS = 1.5e11
"""Of one call on one core: some seconds, and a case takes some ten calls. 4096³ is the largest round cube."""

MEMORY_SHARE = 0.5
"""Of the memory that is free, what the operands of a case may take; checking needs some, too."""

NEEDS: dict[str, tuple[frozenset[str], str]] = {
    "fp16": (frozenset({"avx512_fp16", "amx_fp16", "asimdhp"}), "half-precision"),
    "bf16": (frozenset({"avx512_bf16", "amx_bf16", "bf16"}), "bfloat16"),
    "int8": (frozenset({"avx512_vnni", "avx_vnni", "amx_int8", "asimddp"}), "8-bit integer"),
}
"""Flags of /proc/cpuinfo, one of which a processor has that multiplies the type itself."""


class TorchBackend(HostBackend):
    """Kernels at core scope on one processor; above it the same on one processor of every core at once."""

    name = "torch"

    def detect(self) -> Detection:
        if not sys.platform.startswith("linux"):
            return super().detect()
        return torch_missing() or Detection(
            available=True, instance=HOST, also=(RANKS,), kinds=("torch", "torch-distributed")
        )

    def environment(self) -> dict[str, Any]:
        return {**super().environment(), "torch_version": torch_version()}

    def unsupported(self, case: Case, system: System) -> str:
        from trnbench import torch_refuses

        if system.instance.name not in (HOST, RANKS):
            return f"the torch backend measures this machine, which is no {system.name}"
        if why := torch_refuses(case):
            return why
        if case.kernel.name in ("host_to_device", "device_to_host"):
            return "a processor's memory is the host's: there is nothing to copy to"
        return lacks(read_cpu(), case) or too_much(case, meminfo(PROC / "meminfo", "MemAvailable"))

    def observe(self, case: Case, system: System) -> Observation:
        """In a process of the case's own; processors are picked for it and recorded."""
        from trnbench import CpuDevice, host_flush, observe_torch_case, observe_torch_collective
        from trnbench_host.threads import at_once, pinned, processors_for

        cpu = read_cpu()
        named: dict[str, Any] = {
            "device": cpu.name,
            "named_by": "the processor's own name, /proc/cpuinfo",
            "timing": self.timing,
        }
        if case.kernel.spread.linked:
            shares = shared(processors_for(cpu.cores), case.extent.ranks)
            return observe_torch_collective(
                case, device_kind="cpu", backend="gloo", processors=shares, **named
            )
        cores = 1 if case.key.scope.rank <= Scope.CORE.rank else case.extent.cores
        with pinned(processors_for(cores)) as processors:
            device = CpuDevice(
                lambda calls: at_once(processors, calls),
                {"processors": ",".join(map(str, processors)), "threads": len(processors)},
            )
            device.prepare()
            size = sum(case.footprint.values()) * cores
            warm = size <= COLD_UP_TO * cpu.last_cache_bytes and self.timing.cold_samples
            flush = host_flush(cpu.last_cache_bytes) if warm else None
            return observe_torch_case(case, [device] * len(processors), device, flush=flush, **named)


def lacks(cpu: Cpu, case: Case) -> str:
    """Empty, or which data type this processor cannot multiply: torch would convert it to another."""
    dtype = case.key.dtype
    linked = case.kernel.spread.linked
    if linked:
        return "gloo does not carry 8-bit floating-point types" if dtype == "fp8" else ""
    if dtype in ("tf32", "fp8", "cfp8", "mxfp8", "mxfp4"):
        return f"no processor multiplies {dtype}: torch would compute in another type"
    if case.kernel.family not in ("gemm", "attention") or dtype not in NEEDS:
        return ""
    flags, word = NEEDS[dtype]
    if cpu.flags & flags:
        return ""
    return f"this processor has no {word} products ({', '.join(sorted(flags))}): torch would convert {dtype}"


def too_much(case: Case, free_bytes: float) -> str:
    """Empty, or why one call would take minutes, or more memory than there is."""
    work = case.work
    per_core_flops = work.flops / max(case.extent.cores, 1)
    if per_core_flops > MOST_FLOPS:
        return (
            f"{per_core_flops / 1e9:,.0f} GFLOP a call are more than a core does in some seconds "
            f"({MOST_FLOPS / 1e9:,.0f} GFLOP): choose smaller ones with -a"
        )
    parts = case.extent.ranks if case.kernel.spread.linked else case.extent.cores
    needed = sum(case.footprint.values()) * max(parts, 1)
    if free_bytes and needed > MEMORY_SHARE * free_bytes:
        return f"needs {show(needed, 'B')} of the {show(free_bytes, 'B')} of memory that are free"
    return ""


def shared(processors: tuple[int, ...], ranks: int) -> tuple[tuple[int, ...], ...]:
    """An equal share of the processors for each rank; ranks take turns where there are too few."""
    if len(processors) < ranks:
        return tuple((processors[rank % len(processors)],) for rank in range(ranks))
    share = len(processors) // ranks
    return tuple(processors[rank * share : (rank + 1) * share] for rank in range(ranks))
