"""Loops do fold: few of their rounds are executed, few of their instructions scheduled one by one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drawn_kernels import START
from folded import TRN1, TRN2, Both

from trnbench.errors import KernelError
from trnbench_emulator.core.core import Core
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.scheduler import schedule
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel

CARRIED = tomllib.loads(Path(__file__).with_name("loops.toml").read_text())["carried"]


def test_a_plain_loop_is_executed_a_few_times(both: Callable[..., Both]) -> None:
    body = (
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(100):\n    nisa.dma_copy(dst=out[0:128, 0:64], src=fetch(x, i * 64))"
    )
    found = both(body)
    found.check()
    assert len(found.folded) == 200
    assert 0 < found.executed < 20


def test_two_tiles_in_turn_have_a_period_of_two(both: Callable[..., Both]) -> None:
    body = (
        "pair = [tile(), tile()]\nfor i in nl.affine_range(200):\n"
        "    nisa.tensor_copy(dst=pair[i % 2], src=pair[(i + 1) % 2])\n    fetch(x, i * 8)"
    )
    found = both(body)
    found.check()
    assert 0 < found.executed < 30


@pytest.mark.parametrize("where", [TRN1, TRN2])
@pytest.mark.parametrize("name", CARRIED)
def test_what_a_round_leaves_to_the_next_is_followed(both: Any, name: str, where: str) -> None:
    found = both(START + CARRIED[name], where)
    found.check()
    assert len(found.folded) > 200
    assert 0 < found.executed < max(45, len(found.folded) // 10)


def test_the_scheduler_carries_out_a_part(registry: Any, both: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(1000):\n    a = fetch(x, i * 8)\n"
        "    nisa.activation(dst=a, op=nl.exp, data=a)\n    nisa.dma_copy(dst=out[0:128, 0:64], src=a)"
    )
    found, carried = both(body), []
    found.check()
    advance = Core.advance

    def counted(self: Core, begin: int, stop: int) -> None:
        carried.append(stop - begin)
        advance(self, begin, stop)

    monkeypatch.setattr(Core, "advance", counted)
    pace = Pace(CostTable(registry.system(TRN2)))
    schedule(found.folded, pace)
    assert sum(carried) < len(found.folded) / 2
    carried.clear()
    schedule(found.folded, pace, fold=False)
    assert sum(carried) == len(found.folded)


def test_rounds_that_are_left_out_count_less_against_the_limit(registry: Any) -> None:
    system, specs = registry.system(TRN2), (TensorSpec((4096, 4096), "bf16"),) * 2
    kernel, _, _ = load_kernel("trnbench_kernels.nki.gemm:gemm_blocked", nki="trnbench")
    model, machine = KernelModel(), Machine.of(system)
    (program,) = model.recorder.of(kernel, specs, machine, Launch(limit=8000)).programs
    assert len(program) > 9000
    with pytest.raises(KernelError, match="issued more than 8,000 instructions"):
        model.recorder.of(kernel, specs, machine, Launch(limit=8000, fold=False))
