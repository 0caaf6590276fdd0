"""The scheduled core: sums that must be exact, and what slows it down."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_program import program_of

from trnbench import bench
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.recording import Launch, Recording
from trnbench_emulator.core.scheduler import STRIP_ROWS, STRIP_SPANS, schedule
from trnbench_emulator.core.timing import KernelModel, Timing
from trnbench_emulator.nki import TensorSpec, load_kernel

QUIET = settings(max_examples=8)
SYSTEMS = st.sampled_from(["trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"])
NAMES = st.sampled_from(["gemm_naive", "gemm_blocked"])
SIZES = st.sampled_from([128, 200, 512, 640])


def program(system: Any, name: str, m: int, n: int, k: int, **limits: int) -> Program:
    specs = (TensorSpec((k, m), "bf16"), TensorSpec((k, n), "bf16"))
    return program_of(f"trnbench_kernels.nki.gemm:{name}", specs, system, **limits)


def emulated(system: Any, name: str, size: int) -> Timing:
    kernel, _, _ = load_kernel(f"trnbench_kernels.nki.gemm:{name}", nki="trnbench")
    specs = (TensorSpec((size, size), "bf16"),) * 2
    return KernelModel().time(kernel, specs, system, Launch())


@given(where=SYSTEMS, name=NAMES, size=SIZES)
@QUIET
def test_waterfall_and_path_add_up_and_no_term_gains(registry: Any, where: str, name: str, size: int) -> None:
    seen = emulated(registry.system(where), name, size)
    assert sum(seconds for _, seconds in seen.waterfall) == pytest.approx(seen.latency_s, rel=1e-12)
    assert sum(seconds for _, seconds in seen.path) == pytest.approx(seen.latency_s, rel=1e-12)
    assert all(seconds > 0 for _, seconds in seen.waterfall)
    names = [label for label, _ in seen.waterfall]
    assert names[0] == "tensor at its peak"
    assert names[-1] == "launch"
    assert len(set(names)) == len(names)


def test_a_tile_that_does_not_fit_waits_for_one_that_was_dropped(registry: Any) -> None:
    system = registry.system("trn1.32xlarge")
    totals = []
    for limits in ({}, {"sbuf_partition_bytes": 4096}):
        found, pace = program(system, "gemm_naive", 512, 512, 512, **limits), Pace(CostTable(system))
        totals.append(schedule(found, pace).total)
        assert schedule(found, pace, without=Without(buffers=True)).total == totals[0]
    assert totals[1] > totals[0]


def test_a_starved_tensor_engine_runs_slower(registry: Any) -> None:
    system = registry.system("trn2-16.48xlarge")
    found = program(system, "gemm_naive", 512, 512, 512)
    pace = Pace(CostTable(system))
    assert pace.throttle is not None
    busy = schedule(found, pace).busy["tensor"]
    cool = schedule(found, pace, without=Without(throttle=True)).busy["tensor"]
    assert 1.5 * cool < busy <= 2 * cool
    assert Pace(CostTable(registry.system("trn1.32xlarge"))).throttle is None


def test_nothing_to_do_takes_the_launch(registry: Any) -> None:
    seen = KernelModel().timing(Recording((Program(),)), registry.system("trn2-16.48xlarge"))
    assert seen.latency_s == seen.launch_s > 0
    assert seen.bound == "launch"


STARTS = (
    ("layer_norm", "hbm"),
    ("vector_throughput", "vector"),
    ("selective_scan", "vector"),
    ("dma_sweep", "dma"),
)


def test_a_waterfall_starts_at_what_the_figure_speaks_of(registry: Any) -> None:
    """A norm multiplies a little on the tensor engine; it is judged by device memory all the same."""
    found = {}
    for name, starts in STARTS:
        run = bench([f"{name}"], instances=["trn2-16.48xlarge"], scopes=["core"], registry=registry)
        terms = [each.detail["waterfall"] for each in run.measurements if each.time_s]
        found[name] = {each[0][0] for each in terms}
        assert found[name] == {f"{starts} at its peak"}


def test_the_smallest_scope_of_a_run_is_explained(registry: Any) -> None:
    def told(*scopes: str) -> dict[str, bool]:
        run = bench(
            ["gemm"],
            instances=["trn2-16.48xlarge"],
            dtypes=["bf16"],
            axes=["size=1024"],
            scopes=scopes,
            registry=registry,
        )
        return {str(each.case.scope): "waterfall" in each.detail for each in run.measurements if each.time_s}

    assert told() == {"core": True, "device": True, "instance": False}  # the device shares one problem
    assert told("device") == {"device": True}
    assert told("instance", "logical-core") == {"logical-core": True, "instance": False}


@given(where=SYSTEMS, name=NAMES, m=SIZES, n=SIZES, k=SIZES)
@QUIET
def test_a_strip_counts_every_tick_of_each_span(
    registry: Any, where: str, name: str, m: int, n: int, k: int
) -> None:
    system = registry.system(where)
    made = schedule(program(system, name, m, n, k), Pace(CostTable(system)))
    width = max(-(-made.total // STRIP_SPANS), 1)
    spent: dict[str, list[int]] = defaultdict(lambda: [0] * STRIP_SPANS)
    for op, start, issued in zip(made.program.op, made.start, made.issued, strict=True):
        row = next(name for name, queues in STRIP_ROWS.items() if made.program.queues[op] in queues)
        for span in range(STRIP_SPANS):
            spent[row][span] += max(min(issued, (span + 1) * width) - max(start, span * width), 0)
    assert made.strip() == {
        row: "".join(str(min(9 * ticks // width, 9)) for ticks in spent[row])
        for row in STRIP_ROWS
        if any(spent[row])
    }
