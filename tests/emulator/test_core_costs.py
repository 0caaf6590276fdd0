"""What transfers, modes and access patterns cost, each by the sentence of the document it is from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_program import program_of

from trnbench.registry import Registry
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.scheduler import NOTHING_REMOVED, Schedule, schedule
from trnbench_emulator.nki import Machine, TensorSpec
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.op import Op

TRN1, TRN2, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"

KERNELS = (Path(__file__).parent / "kernels" / "costs.txt").read_text()


@pytest.fixture(scope="module")
def run(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Schedule]:
    file = tmp_path_factory.mktemp("kernels") / "kernels.py"
    file.write_text(KERNELS)

    def made(name: str, where: str, *rest: Any, without: Without = NOTHING_REMOVED) -> Schedule:
        system = registry.system(where)
        program = program_of(f"{file}::{name}", (TensorSpec((128, 512), "float32"), *rest), system)
        return schedule(program, Pace(CostTable(system)), without=without)

    return made


def table(registry: Registry, where: str) -> CostTable:
    return CostTable(registry.system(where))


def variables(**fields: Any) -> dict[str, Any]:
    return {"bytes": 128 * 4096, "descriptors": 128, "P": 128, "src": "hbm", "dst": "sbuf", **fields}


# Transfers ------------------------------------------------------------------------------------


def test_a_stream_keeps_to_the_planning_figure_of_its_core(registry: Registry) -> None:
    for where, rate in ((TRN1, 272e9), (TRN2, 368e9), (TRN3, 528e9)):
        costs = table(registry, where).transfers
        one = variables(bytes=128 * 32768)
        assert one["bytes"] / costs.seconds(one) == pytest.approx(rate)
        assert one["bytes"] / (costs.engine_s(one, 16) * rate) > 1  # the engines alone would be faster


def test_what_goes_from_device_memory_to_device_memory_passes_twice(registry: Registry) -> None:
    costs = table(registry, TRN1).transfers
    assert costs.path_s(variables(dst="hbm")) == 2 * costs.path_s(variables())
    assert costs.path_s(variables(src="sbuf")) == costs.path_s(variables())


def test_a_transfer_alone_takes_its_latency_however_many_descriptors_it_has(registry: Registry) -> None:
    costs = table(registry, TRN2).transfers
    small, many = variables(bytes=128 * 32), variables(bytes=128 * 2048, descriptors=16384)
    assert costs.floor_s(small) == costs.floor_s(many) == pytest.approx(864e-9)
    assert costs.engine_s(small, 16) == pytest.approx(8 * (32 / 27.2 + 7.6) * 1e-9 + 106e-9)
    assert costs.engine_s(many, 16) > 1024 * 7.6e-9


@pytest.mark.parametrize(
    ("where", "fields", "times"),
    [
        (TRN2, {"transpose": True}, 1 / 0.9),
        (TRN2, {"transpose": True, "src": "sbuf"}, 2.0),
        (TRN2, {"compute": True}, 2.0),
        (TRN3, {"compute": True}, 1.0),
        (TRN1, {"compute": True}, 2.0),
    ],
)
def test_transfers_that_do_more_than_copy_reach_a_share_of_the_rate(
    registry: Registry, where: str, fields: dict[str, Any], times: float
) -> None:
    costs = table(registry, where).transfers
    assert costs.path_s(variables(**fields)) == pytest.approx(times * costs.path_s(variables()))


def test_gpsimd_moves_data_by_itself(registry: Registry) -> None:
    costs = table(registry, TRN2).transfers
    own = variables(src="sbuf", via="gpsimd_dma")
    assert costs.engine_s(own, costs.spread(own)) == pytest.approx(own["bytes"] / 153e9)
    assert costs.path_s(own) == costs.floor_s(own) == 0.0


def test_a_trigger_keeps_its_queue_until_the_descriptors_are_there(run: Callable[..., Schedule]) -> None:
    for mode, hold, made in (
        ("unknown", 53_000, 0), ("none", 53_000, 0), ("hwdge", 600_000, 600_000), ("swdge", 600_000, 600_000),
    ):  # fmt: skip
        found = run("loads", TRN2, mode, 3)
        assert [found.start[at] for at in range(3)] == [0, hold, 2 * hold]
        assert found.busy["gpsimd" if mode == "swdge" else "sync"] == 3 * hold
        # Nothing was waited for: of the documented start, what is left without a semaphore.
        assert found.end[0] >= made + 1_300_000 - 53_000
    free = run("loads", TRN2, "hwdge", 3, without=Without(start=True))
    assert list(free.start) == [0, 0, 0]


def test_addresses_known_at_run_time_cost_their_reading(registry: Registry) -> None:
    """600 cycles of 1.2 GHz; a gather has a descriptor written for each of its addresses instead."""
    costs = table(registry, TRN2).transfers
    assert costs.generation_s(variables()) == 0.0
    assert costs.generation_s(variables(dge="swdge")) == pytest.approx(600e-9)
    assert costs.generation_s(variables(indirect="scalar")) == pytest.approx(1100e-9)
    assert costs.generation_s(variables(indirect="scalar", dge="hwdge")) == pytest.approx(1100e-9)
    gathered = variables(indirect="vector", descriptors=1000)
    assert costs.generation_s(gathered) == pytest.approx(600e-9 + 1000 * 40e-9)


@pytest.mark.parametrize(("number", "made"), [(0, 0), (1, 600_000), (2, 600_000), (3, 0)])
def test_a_number_given_as_dge_mode_is_its_member(run: Any, number: int, made: int) -> None:
    found = run("numbered", TRN2, number)
    assert found.busy["gpsimd" if number == 1 else "sync"] == (made or 53_000)


@given(size=st.integers(1, 1 << 16), more=st.integers(1, 1 << 12), rows=st.integers(1, 128))
def test_more_bytes_and_more_descriptors_never_take_less(
    registry: Registry, size: int, more: int, rows: int
) -> None:
    costs = table(registry, TRN2).transfers
    one = variables(bytes=rows * size, descriptors=rows, P=rows)
    for other in ({**one, "bytes": one["bytes"] + more}, {**one, "descriptors": rows + more}):
        assert costs.seconds(other) >= costs.seconds(one)
        assert costs.engine_s(other, 4) >= costs.engine_s(one, 4)


# Instructions ---------------------------------------------------------------------------------


def alone(system: Any, op: Op) -> Schedule:
    builder = Builder(Machine.of(system))
    for _ in range(2):
        builder.take(Instruction(op, (), (), "", 0))
    return schedule(builder.program, Pace(CostTable(system)))


def test_the_least_interval_is_no_part_of_a_short_instruction(registry: Registry) -> None:
    system = registry.system(TRN2)
    made = alone(system, Op("vector", "tensor_copy", "fp32", {"N": 4, "P": 128}, {}))
    assert made.start[1] - made.start[0] == pytest.approx(64 / 0.96e9 * 1e12, abs=1)
    assert made.end[0] - made.start[0] == pytest.approx(4 / 0.96e9 * 1e12 + 153_000, abs=2)


def test_trainium1_takes_what_its_guide_prints(registry: Registry) -> None:
    costs = table(registry, TRN1)
    op = Op("scalar", "activation", "fp32", {"N": 1, "P": 1}, {})
    assert costs.duration(op) == pytest.approx(264 / 1.4e9)  # dependent ones, one element each
    assert costs.latency("vector") == pytest.approx(100 / 1.12e9)
    assert costs.latency("gpsimd") == 0.0


@pytest.mark.parametrize(("where", "step", "cycles"), [(TRN1, 4, 512), (TRN1, 5, 1024), (TRN2, 5, 512)])
def test_far_apart_elements_come_at_half_the_rate(
    run: Callable[..., Schedule], registry: Registry, where: str, step: int, cycles: int
) -> None:
    made = run("strided", where, step)
    clock = table(registry, where).clock("vector")
    assert made.issued[0] - made.start[0] == pytest.approx(cycles / clock * 1e12, abs=1)


@pytest.mark.parametrize(
    ("where", "op", "wide", "waits"),
    [
        (TRN1, "copy", True, True),  # never together on SBUF
        (TRN2, "copy", False, True),  # performance mode shares a bus with GpSimd
        (TRN2, "maximum", True, False),  # the plain mode does not
        (TRN3, "copy", False, True),
    ],
)
def test_vector_and_gpsimd_on_one_memory(run: Any, where: str, op: str, wide: bool, waits: bool) -> None:
    made = run("shared", where, op, wide)
    gpsimd, vector = 0, 1
    assert (made.start[vector] >= made.issued[gpsimd]) is waits
    assert run("shared", where, op, wide, without=Without(exclusions=True)).start[vector] == 0


def test_a_mode_is_that_of_the_row_that_prices_an_instruction(registry: Registry) -> None:
    costs = table(registry, TRN2)
    fields = {"N": 512, "P": 128, "all_16bit": True, "all_sbuf": True, "contiguous": True}
    assert costs.mode(Op("vector", "tensor_copy", "bf16", fields, {})) == "performance"
    assert costs.mode(Op("scalar", "tensor_copy", "bf16", fields, {})) == ""


def test_a_transfer_alone_waits_for_its_descriptors(registry: Registry) -> None:
    system = registry.system(TRN2)
    costs = CostTable(system)
    builder = Builder(Machine.of(system))
    builder.take(Instruction(Op("dma", "dma_copy", "uint8", variables(bytes=128), {}), (), (), "", 0))
    pace = Pace(costs)
    made = schedule(builder.program, pace)
    assert made.total == pytest.approx(pace.dma_start + 8 * 108_000, abs=2)
    other = msgspec.structs.replace(system, costs={**system.costs, "fits": ()})
    assert schedule(builder.program, Pace(CostTable(other))).total < made.total
