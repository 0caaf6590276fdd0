"""docs/emulator.md states the limits that the code has; docs/nki.md has a test of its own."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from trnbench import Measurement, bench
from trnbench_emulator.core.cases import CALL_LIMIT, CaseModel
from trnbench_emulator.core.pace import NOTHING_REMOVED, Pace
from trnbench_emulator.core.program import KINDS, Dep
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.timing import KernelModel, Timing
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT

TEXT = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text()


def test_limits_are_the_ones_in_the_code() -> None:
    assert f"more than {CALL_LIMIT:,} calls" in TEXT
    assert f"after {DEFAULT_LIMIT:,} instructions" in TEXT


def test_the_one_way_is_called_as_written() -> None:
    assert "KernelModel().time(kernel, arguments, system, Launch(programs=1, cores=1))" in TEXT
    inspect.signature(KernelModel.time).bind(
        KernelModel(), "kernel", (), "system", Launch(programs=1, cores=1)
    )


# .github/FOLLOWING_A_NUMBER.md: its files are there, and its numbers are those of the case it follows ---

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / ".github" / "FOLLOWING_A_NUMBER.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## One `nc_matmul`")[2].partition("\n## ")[0]
FOLLOWED = 8


@pytest.fixture(scope="module")
def measured(registry: Any) -> Measurement:
    (command,) = re.findall(
        r"^\$ trnbench run (\S+) -i (\S+) --scope (\S+) --dtype (\S+) -a (\S+)$", TABLE, re.M
    )
    kernel, instance, scope, dtype, axis = command
    run = bench(
        [kernel], instances=[instance], scopes=[scope], dtypes=[dtype], axes=[axis], registry=registry
    )
    (case,) = run.measurements
    return case


@pytest.fixture(scope="module")
def timing(registry: Any, make_case: Any, measured: Measurement) -> Timing:
    case, system = make_case(measured.case.kernel, measured.case.instance, **measured.case.point)
    model = CaseModel()
    source = model.source(case)
    return model.time(case, source, system)


def test_every_file_is_there() -> None:
    named = set(re.findall(r"`([\w/-]+\.(?:py|toml))`", PAGE))
    assert len(named) > 20
    for name in named:
        beside = ROOT / "plugins" / "trnbench_emulator" / "core" / name
        places = (ROOT / name, ROOT / "harness" / "trnbench" / name, ROOT / "plugins" / name, beside)
        assert any(each.is_file() for each in places), name


def test_the_instruction_is_as_the_page_says(registry: Any, measured: Measurement, timing: Timing) -> None:
    (program,), schedule = timing.recording.programs, timing.schedule
    op = program.ops[program.op[FOLLOWED]]
    table = CaseModel().kernels.table(registry.system(measured.case.instance))
    step = Pace(table).step(op, NOTHING_REMOVED)
    (dep,) = (Dep.of(each) for each in program.deps[program.first[FOLLOWED] : program.first[FOLLOWED + 1]])
    assert op.opcode == "nc_matmul"
    assert KINDS[dep.kind] == "waits for its input"
    for said in (
        f"instruction {FOLLOWED} of {len(program)}",
        f"in {sum(program.ops[each].opcode == op.opcode for each in program.op)} products",
        f"{op.flops:,} FLOP",
        f"from instruction {dep.source}, a load",
        f"{table.cycles(op.opcode, op.engine, op.variables):g} cycles",
        f"{table.seconds(op) * 1e9:.1f} ns",
        f"{table.latency(op.engine) * 1e9:g} ns later",
        f"{step.issue:,} ticks",
        f"{step.latency:,} more",
        f"starts at {schedule.start[FOLLOWED]:,}",
        f"queue go at {schedule.issued[FOLLOWED]:,}",
        f"ends at {schedule.end[FOLLOWED]:,}",
    ):
        assert said in TABLE


def test_the_case_is_as_the_page_says(measured: Measurement, timing: Timing) -> None:
    terms = dict(timing.waterfall)
    rate, share = measured.metrics["flops_per_s"].value, measured.judgement.fraction
    for said in (
        f"{terms['tensor at its peak'] * 1e6:.3f} µs of *tensor at its peak*",
        f"*tensor engine warming up*, {terms['tensor engine warming up'] * 1e6:.3f} µs",
        f"ends at {timing.total:,}, after {timing.launch:,} ticks",
        f"`Observation` of {measured.time_s * 1e6:.6f} µs",
        f"{measured.work['flops']:,.0f} FLOP",
        f"{rate / 1e12:.2f} TFLOP/s",
        f"the {measured.judgement.peaks.chosen.value / 1e12:.3f} TFLOPS",
        f"limited by `{measured.bound}`",
        f"{rate / 1e12:.1f} TFLOPS, {share:.1%}".replace("%", " %"),
        f"{measured.time_s * 1e6:.1f} µs",
    ):
        assert said in TABLE
