"""The kernels of the package: folded and executed round by round they are the same program and schedule."""

from __future__ import annotations

from typing import Any

import pytest
from campaigns import sweep
from folded import CAUSES, TRN1, TRN2, TRN3, same_program, same_schedule

from trnbench.errors import KernelError
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.kinds import nki_sources
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.provide import provide

LARGEST = 4_000  # instructions of one that is compared


def points(kernel: Any) -> list[dict[str, Any]]:
    """The default points of a kernel, and those with one axis at its largest."""
    first = {axis.name: axis.values[0] for axis in kernel.axes}
    return [first, *({**first, axis.name: axis.values[-1]} for axis in kernel.axes if len(axis.values) > 1)]


@pytest.mark.parametrize("where", sweep([TRN1, TRN3], TRN3.__eq__))
def test_every_kernel_of_the_package(registry: Any, where: str) -> None:
    system = registry.system(where)
    machine, pace = Machine.of(system), Pace(CostTable(system))
    compared: set[str] = set()
    sources = [(kernel, ref) for kernel in registry.kernels.values() for ref in nki_sources(kernel)]
    for kernel, ref in sources:
        function, module, _ = load_kernel(ref, nki="trnbench")
        inputs = getattr(module, f"{ref.rpartition(':')[2]}_inputs")
        for point in points(kernel):
            given = inputs(point)
            if given is None:
                continue
            args = [TensorSpec(tuple(e[0]), e[1]) if isinstance(e, tuple) else e for e in given]
            programs = []
            with provide("trnbench"):
                for fold in (False, True):
                    builder = Builder(machine)
                    try:
                        record(function, args, machine=machine, sink=builder, fold=fold, limit=LARGEST)
                    except KernelError:  # too large call by call, or not for this generation
                        programs.append(None)
                        continue
                    programs.append(builder.program)
            plain, folded = programs
            assert plain is None or folded is not None, (ref, point)
            if plain is None or folded is None:
                continue
            same_program(plain, folded)
            for without in CAUSES:
                same_schedule(plain, folded, pace, without)
            compared.add(ref)
    assert len(compared) >= 10


@pytest.mark.parametrize("where", sweep([TRN1, TRN2], TRN2.__eq__))
@pytest.mark.parametrize(("m", "n", "k"), [(1024, 1024, 2048), (640, 2048, 4096), (3000, 1100, 1025)])
@pytest.mark.parametrize("name", ["gemm_naive", "gemm_blocked"])
def test_products(registry: Any, where: str, name: str, m: int, n: int, k: int) -> None:
    system = registry.system(where)
    kernel, _, _ = load_kernel(f"trnbench_kernels.nki.gemm:{name}", nki="trnbench")
    specs = (TensorSpec((k, m), "bf16"), TensorSpec((k, n), "bf16"))
    one, other = (KernelModel().time(kernel, specs, system, Launch(fold=fold)) for fold in (True, False))
    same_program(other.schedule.program, one.schedule.program)
    for name in ("latency_s", "bound", "busy_s", "bytes", "waterfall", "path", "lines"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.schedule.end == other.schedule.end
