"""Who starts a transfer, in which queue its trigger stands, and the semaphores between queues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from drawn_kernels import kernels, source
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_program import path_of, program_of

from trnbench.registry import Registry
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.launch import LaunchSchedule
from trnbench_emulator.core.pace import NOTHING_REMOVED, SEMAPHORE, TRIGGER, Pace, Without
from trnbench_emulator.core.program import QUEUES, Program, queue_of
from trnbench_emulator.core.scheduler import Schedule, schedule
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.core.transfers import descriptors_by, triggered_by
from trnbench_emulator.core.waterfall import absent_causes
from trnbench_emulator.nki import TensorSpec, load_kernel
from trnbench_emulator.trace.launch import timeline_of
from trnbench_emulator.trace.perfetto import Timeline

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"
SEMAPHORE_TICKS = TRIGGER_TICKS = 53_000  # of Trainium2
START = 1_300_000
HARDWARE = 600_000

KERNELS = (Path(__file__).parent / "kernels" / "triggers.txt").read_text()


@pytest.fixture(scope="module")
def run(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Schedule]:
    file = tmp_path_factory.mktemp("triggers") / "kernels.py"
    file.write_text(KERNELS)

    def made(name: str, *rest: Any, without: Without = NOTHING_REMOVED) -> Schedule:
        system, args = registry.system(TRN2), (TensorSpec((128, 512), "float32"), *rest)
        program = program_of(f"{file}::{name}", args, system)
        return schedule(program, Pace(CostTable(system)), without=without)

    return made


@pytest.fixture(scope="module")
def drawn_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Any], Program]:
    file = tmp_path_factory.mktemp("drawn") / "kernel.py"

    def made(body: str, system: Any) -> Program:
        file.write_text(source(body))
        return program_of(f"{file}::kernel", (TensorSpec((128, 8192), "float32"),), system)

    return made


# Who triggers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "engine", "by", "queue"),
    [
        ({}, "sync", "none", "load ring"),
        ({"dst": "hbm"}, "sync", "none", "store ring"),
        ({"dge": "unknown", "trigger": "sync"}, "sync", "none", "load ring"),
        ({"dge": "hwdge"}, "sync", "hwdge", "load ring"),
        ({"dge": "hwdge", "trigger": "scalar"}, "scalar", "hwdge", "scalar ring"),
        ({"dst": "hbm", "trigger": "scalar"}, "scalar", "none", "scalar ring"),
        ({"dge": "swdge"}, "gpsimd", "swdge", "gpsimd ring"),
        ({"dge": "unknown", "indirect": "vector"}, "gpsimd", "swdge", "gpsimd ring"),
        ({"dge": "hwdge", "indirect": "scalar"}, "sync", "hwdge", "load ring"),
        ({"dge": "unknown", "indirect": "scalar"}, "gpsimd", "swdge", "gpsimd ring"),
        ({"dge": "none", "indirect": "scalar"}, "gpsimd", "swdge", "gpsimd ring"),
        ({"dge": "none", "via": "gpsimd_dma"}, "gpsimd", "none", "gpsimd ring"),
    ],
)
def test_the_engine_that_starts_a_transfer(variables: Any, engine: str, by: str, queue: str) -> None:
    from trnbench_emulator.nki.op import DMA, Op

    assert triggered_by(variables) == engine
    assert descriptors_by(variables) == by
    assert QUEUES[queue_of(Op(DMA, "dma_copy", "fp32", variables, {}))] == queue


def test_the_scalar_engine_makes_descriptors_behind_the_work_before(run: Callable[..., Schedule]) -> None:
    long = run("hidden", 4096)
    assert long.start[1] == long.start[0] == 0  # its own hardware: beside the instruction before
    assert long.start[2] == long.issued[0] > HARDWARE
    short = run("hidden", 16)
    assert short.issued[0] < HARDWARE
    assert short.start[2] == short.issued[1] == HARDWARE  # what comes after waits in the queue
    assert short.busy["scalar triggers"] == HARDWARE
    assert short.busy["scalar"] < HARDWARE
    assert path_of(short)["dma_copy on dma"] > 0


def test_gpsimd_makes_descriptors_itself(run: Callable[..., Schedule]) -> None:
    made = run("software")
    assert made.start[1] == made.issued[0]
    assert made.issued[1] - made.start[1] == 600_000
    assert made.busy["gpsimd"] == made.issued[1]
    assert "sync" not in made.busy


def test_triggers_of_loads_and_stores_share_the_sync_engine(run: Callable[..., Schedule]) -> None:
    made = run("both", without=Without(order=True))
    # Each takes the other queue's time, and neither waits for what the other waits for.
    assert list(made.start) == [at * TRIGGER_TICKS for at in range(8)]
    assert made.busy["sync"] == 8 * TRIGGER_TICKS
    assert set(made.strip()) == {"sync"}


# Semaphores -------------------------------------------------------------------------------------


def test_one_queue_sees_another_a_semaphore_later(run: Callable[..., Schedule]) -> None:
    made = run("chain")
    load, first, second, third, store = range(5)
    assert made.end[load] >= START - SEMAPHORE_TICKS
    assert made.start[first] == made.end[load] + SEMAPHORE_TICKS
    assert made.start[second] == made.end[first]  # an engine sees its own results at once
    assert made.start[third] == made.end[second] + SEMAPHORE_TICKS
    assert made.start[store] == made.end[third] + SEMAPHORE_TICKS
    path = path_of(made)
    assert path["semaphores"] == 3 * SEMAPHORE_TICKS
    without = run("chain", without=Without(semaphores=True))
    assert without.total == made.total - 3 * SEMAPHORE_TICKS


def test_the_documented_start_counts_from_the_semaphore(registry: Registry) -> None:
    for where in (TRN1, TRN2, "trn3-gen2-ultraserver"):
        pace = Pace(CostTable(registry.system(where)))
        assert pace.semaphore + pace.dma_start == START
        assert 0 < pace.semaphore < START
        assert pace.assumed.notes() == tuple(
            f"assumed {name}: {pace.table.system.book.assumptions[name].printed} ns"
            for name in (SEMAPHORE, TRIGGER)
        )


def test_results_say_what_they_assume_and_what_semaphores_cost(registry: Registry, tmp_path: Any) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    kernel, _, _ = load_kernel(f"{file}::chain", nki="trnbench")
    made = KernelModel().time(kernel, (TensorSpec((128, 512), "float32"),), registry.system(TRN2))
    assert {f"assumed {SEMAPHORE}: 53 ns", f"assumed {TRIGGER}: 53 ns"} <= set(made.notes)
    terms = dict(made.waterfall)
    assert terms["semaphores"] == pytest.approx(3 * SEMAPHORE_TICKS * 1e-12)
    assert sum(terms.values()) == pytest.approx(made.latency_s)
    assert made.busy_s["sync"] == pytest.approx(2 * TRIGGER_TICKS * 1e-12)


@given(body=kernels(), more=st.integers(1, 2_000_000))
@settings(max_examples=12)
def test_a_later_semaphore_never_ends_earlier(
    registry: Registry, drawn_program: Any, body: str, more: int
) -> None:
    """Where the start of a transfer that waits for nobody stays: the documented one holds a semaphore, so
    that a later semaphore leaves less of it. On a core whose tensor engine does not cool down while it waits.
    """
    system = registry.system(TRN1)
    program = drawn_program(body, system)
    pace, later = Pace(CostTable(system)), Pace(CostTable(system))
    later.semaphore += more
    soon, late = schedule(program, pace), schedule(program, later)
    assert late.total >= soon.total
    assert all(b >= a for a, b in zip(soon.end, late.end, strict=True))


@given(body=kernels(), where=st.sampled_from([TRN1, TRN2]))
@settings(max_examples=12)
def test_causes_that_cannot_delay_anything_are_left_out_of_a_waterfall_rightly(
    registry: Registry, drawn_program: Any, body: str, where: str
) -> None:
    system = registry.system(where)
    program, pace = drawn_program(body, system), Pace(CostTable(system))
    total = schedule(program, pace).total
    absent = absent_causes(program, pace)
    assert ("throttle" in absent) == (where == TRN1 or not any(op.flops for op in program.ops))
    for name in absent:
        assert schedule(program, pace, without=Without(**{name: True})).total == total, name


# The timeline -----------------------------------------------------------------------------------


def drawn(made: Schedule) -> Timeline:
    return timeline_of(LaunchSchedule(schedules=(made,), waits=({},), whole=()), "core")


def test_the_timeline_shows_triggers_and_what_they_start(run: Callable[..., Schedule]) -> None:
    made = run("chain")
    shown = drawn(made)
    assert shown.tracks[:6] == ("host", "tensor", "vector", "scalar", "gpsimd", "sync")
    triggers = [at for at, each in enumerate(shown.slices) if each.track == "sync"]
    assert [shown.slices[at].name for at in triggers] == ["trigger dma_copy"] * 2
    assert [shown.slices[at].duration for at in triggers] == [TRIGGER_TICKS] * 2
    flows = {(each.source, each.target): each.why for each in shown.flows}
    load, third, store = 0, 3, 4
    assert flows[triggers[0], load] == flows[triggers[1], store] == "trigger"
    assert flows[third, triggers[1]] == "waits for its input"  # what a transfer waits for, its trigger does
    for source_at, target in flows:
        assert shown.slices[source_at].start <= shown.slices[target].start
    assert shown.slices[store].start == made.issued[store]
    assert shown.slices[triggers[1]].args["descriptors by"] == "none"
    own = drawn(run("hidden", 16))
    assert [each.name for each in own.slices if each.track == "scalar"] == [
        "activation",
        "activation",
        "trigger dma_copy",
    ]


def test_without_a_time_for_triggers_there_is_nothing_to_show(registry: Registry, tmp_path: Any) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    system = registry.system(TRN2)
    book = msgspec.structs.replace(
        system.book,
        assumptions={name: each for name, each in system.book.assumptions.items() if name != TRIGGER},
    )
    bare = msgspec.structs.replace(system, book=book)
    kernel, _, _ = load_kernel(f"{file}::chain", nki="trnbench")
    made = KernelModel().time(kernel, (TensorSpec((128, 512), "float32"),), bare)
    assert f"no figure for {TRIGGER}: taken as 0" in made.notes
    assert "sync" not in made.busy_s
    assert len(timeline_of(made.scheduled, "core").slices) == len(made.schedule.program)
