"""Launches of several programs: a core for each, shared memory, meetings; no better than what bounds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.errors import KernelError
from trnbench_emulator import ticks
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.launch import WAITING, schedule_launch
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.recording import Launch, record_launch, rendezvous_of
from trnbench_emulator.core.timing import SIGNAL, KernelModel, Timing
from trnbench_emulator.core.waterfall import UNEVEN
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel
from trnbench_emulator.nki.jit import Kernel

QUIET = settings(max_examples=30)
TRN2 = "trn2-16.48xlarge"
KERNELS = (Path(__file__).parent / "kernels" / "programs.txt").read_text()
HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    file = tmp_path / "split.py"
    file.write_text(KERNELS)
    found: Kernel = load_kernel(f"{file}::kernel", nki="trnbench")[0]
    return found[2]


def launched(
    registry: Any, kernel: Kernel, rows: int, cut: int, extra: int, meets: int, exchange: bool, **options: Any
) -> Timing:
    args = (TensorSpec((rows, 128, 256), "fp32"), cut, extra, meets, exchange)
    return KernelModel().time(kernel, args, registry.system(TRN2), Launch(programs=2, **options))


@given(size=st.sampled_from([256, 512, 1024]), where=st.sampled_from([TRN2, "trn3-gen2-ultraserver"]))
@QUIET
def test_an_even_split_takes_the_time_of_one_part(registry: Any, size: int, where: str) -> None:
    """Rows of the product are halved; the half alone, on a device where two cores are busy, takes as long."""
    system = registry.system(where)
    best, _, _ = load_kernel("trnbench_kernels.nki.gemm_best:gemm_best", nki="trnbench")
    right = TensorSpec((size, size), "bf16")
    whole = KernelModel().time(best[2], (right, right), system, Launch(programs=2))
    left = TensorSpec((size, size // 2), "bf16")
    part = KernelModel().time(best, (left, right), system, Launch(cores=2))
    assert whole.latency_s == part.latency_s
    assert whole.imbalance == 0
    assert [each.waited_s for each in whole.programs] == [0, 0]
    assert whole.bytes["hbm_read"] == 2 * part.bytes["hbm_read"]
    assert UNEVEN not in dict(whole.waterfall)
    assert dict(whole.waterfall)["tensor at its peak"] == pytest.approx(
        dict(part.waterfall)["tensor at its peak"], rel=1e-9
    )


@given(
    rows=st.integers(2, 20),
    cut=st.integers(0, 20),
    extra=st.integers(0, 12),
    meets=st.integers(0, 3),
    exchange=st.booleans(),
)
@QUIET
def test_what_holds_for_every_launch(
    registry: Any, kernel: Kernel, rows: int, cut: int, extra: int, meets: int, exchange: bool
) -> None:
    cut = min(cut, rows)
    seen = launched(registry, kernel, rows, cut, extra, meets, exchange)
    again = launched(registry, kernel, rows, cut, extra, meets, exchange)
    # The same every time.
    for one, other in zip(seen.scheduled.schedules, again.scheduled.schedules, strict=True):
        for name in ("start", "issued", "end", "total", "busy"):
            assert getattr(one, name) == getattr(other, name)
    assert seen.scheduled.waits == again.scheduled.waits
    assert seen.programs == again.programs
    # Sums are whole.
    assert sum(seconds for _, seconds in seen.waterfall) == pytest.approx(seen.latency_s, rel=1e-12)
    assert sum(seconds for _, seconds in seen.path) == pytest.approx(seen.latency_s, rel=1e-12)
    assert all(seconds >= 0 for _, seconds in seen.waterfall)
    # The last program ends it, no program goes on before the others have come.
    assert seen.latency_s == max(each.latency_s for each in seen.programs)
    system = registry.system(TRN2)
    signal = ticks(system.book.assumptions[SIGNAL].value)
    one, other = seen.scheduled.schedules
    ours, theirs = rendezvous_of(one.program), rendezvous_of(other.program)
    assert len(ours) == len(theirs) == meets
    for here, there in zip(ours, theirs, strict=True):
        waits = seen.scheduled.waits[0][here], seen.scheduled.waits[1][there]
        assert all(each.start >= each.ready for each in waits)
        if exchange:
            assert min(each.start for each in waits) >= min(each.ready for each in waits) + signal
            assert one.end[here] == other.end[there]
        else:
            assert one.issued[here] >= other.start[there]
            assert other.issued[there] >= one.start[here]
    # Two cores of a device never draw more than its memory gives.
    moved = seen.bytes["hbm_read"] + seen.bytes["hbm_write"]
    assert seen.latency_s >= moved / CostTable(system).hbm_rate
    # Nor is it faster than each program alone on the device.
    apart = launched(registry, kernel, rows, cut, extra, 0, exchange)
    assert seen.latency_s >= apart.latency_s - apart.launch_s * 1e-9


def test_a_program_waits_for_the_other_and_the_waterfall_says_so(registry: Any, kernel: Kernel) -> None:
    even = launched(registry, kernel, 8, 4, 0, 1, False)
    uneven = launched(registry, kernel, 8, 4, 30, 1, False)
    signal = registry.system(TRN2).book.assumptions[SIGNAL].value
    assert [each.waited_s for each in even.programs] == pytest.approx([signal, signal])
    assert uneven.programs[0].waited_s > 10 * signal
    assert uneven.programs[1].waited_s == 0
    assert uneven.last == 1
    assert dict(even.waterfall)[WAITING] == pytest.approx(signal)
    assert f"assumed {SIGNAL}: 0.5 µs" in even.notes


def test_a_slower_memory_is_shared_by_all_that_use_it(registry: Any, kernel: Kernel) -> None:
    """With all but two of the device's cores idle the memory is far from full; with all busy it is shared."""
    few = launched(registry, kernel, 16, 8, 0, 0, False)
    many = launched(registry, kernel, 16, 8, 0, 0, False, cores=64)
    assert many.latency_s > few.latency_s
    alone = launched(registry, kernel, 16, 16, 0, 0, False, cores=64)  # program 1 moves nothing
    assert alone.programs[1].instructions == 0
    assert alone.latency_s < 2 * many.latency_s
    rate = CostTable(registry.system(TRN2)).hbm_rate
    for seen, sharing in ((many, 64), (alone, 32)):
        moved = seen.bytes["hbm_read"] + seen.bytes["hbm_write"]
        share = moved / (2 if seen is many else 1)
        assert seen.busy_s["hbm"] == pytest.approx(share * sharing / rate, rel=1e-6)


@pytest.mark.parametrize("engine", ["gpsimd", "vector", "scalar", "tensor"])
@pytest.mark.parametrize("dma_engine", ["dma", "gpsimd_dma"])
def test_who_is_late_makes_no_difference_to_the_time(
    registry: Any, tmp_path: Path, dma_engine: str, engine: str
) -> None:
    file = tmp_path / "swap.py"
    file.write_text(KERNELS)
    found = load_kernel(f"{file}::swap", nki="trnbench")[0]

    def run(late: int) -> Timing:
        args = (TensorSpec((128, 64), "fp32"), late, dma_engine, engine)
        return KernelModel().time(found[2], args, registry.system(TRN2), Launch(programs=2))

    first, second, nobody = run(0), run(1), run(2)
    assert first.latency_s == second.latency_s > nobody.latency_s
    assert [each.waited_s for each in first.programs] == [each.waited_s for each in second.programs][::-1]
    assert dict(first.path) == dict(second.path)
    assert first.waterfall == second.waterfall
    # Whoever is early waits as long as the other works, the path leads through the late one's work.
    assert first.programs[1].waited_s > dict(first.path)["activation on scalar"] / 2
    assert "activation on scalar" not in dict(nobody.path)


ORDER = "programs that meet in different orders wait for each other without end"
ALL = "nisa.core_barrier and nisa.sendrecv are calls that all programs have to make"
FIRST = "meeting 1 of the launch is nisa.sendrecv, pipe 0 (broken.py:11) in program 0 and nisa."
SECOND = " (broken.py:11) in program 1"
BARRIER = "nisa.core_barrier(out, (0, 1))"
WAITS = "waits at nisa.core_barrier (broken.py:11) for program"


@pytest.mark.parametrize(
    ("call", "what", "cause"),
    [
        ("nisa.sendrecv(t, u, 1 - me, 1 - me, pipe_id=me)", f"{FIRST}sendrecv, pipe 1{SECOND}", ORDER),
        (
            f"{BARRIER} if me else nisa.sendrecv(t, u, 1 - me, 1 - me, pipe_id=0)",
            f"{FIRST}core_barrier{SECOND}",
            ORDER,
        ),
        (f"me or {BARRIER}", f"program 0 {WAITS} 1, which has ended", ALL),
        (f"me and {BARRIER}", f"program 1 {WAITS} 0, which has ended", ALL),
    ],
)
def test_programs_that_do_not_meet_are_told(
    registry: Any, tmp_path: Path, call: str, what: str, cause: str
) -> None:
    file = tmp_path / "broken.py"
    body = f"""@nki.jit
def kernel():
    me, out = nl.program_id(0), nl.ndarray((1, 1), nl.float32, buffer=nl.shared_hbm)
    t, u = nl.full((32, 8), 1.0, nl.float32), nl.full((32, 8), 1.0, nl.float32)
    if True:
        {call}
    return out
"""
    file.write_text(HEAD + body)
    found = load_kernel(f"{file}::kernel", nki="trnbench")[0]
    with pytest.raises(KernelError) as caught:
        KernelModel().time(found[2], (), registry.system(TRN2), Launch(programs=2))
    assert (caught.value.what, caught.value.cause) == (what, cause)


def test_programs_that_are_alike_are_scheduled_once(registry: Any, kernel: Kernel, monkeypatch: Any) -> None:
    from trnbench_emulator.core import launch

    made: list[object] = []
    real: Callable[..., Any] = launch.Core

    def counted(*args: Any) -> Any:
        made.append(args)
        return real(*args)

    monkeypatch.setattr(launch, "Core", counted)
    system = registry.system(TRN2)
    pace = Pace(CostTable(system), sharing=2)
    for cut, cores in ((4, 1), (3, 2)):
        args = (TensorSpec((8, 128, 256), "fp32"), cut, 0, 2, False)
        recording = record_launch(kernel, args, Machine.of(system), Launch(programs=2))
        made.clear()
        schedule_launch(recording, pace, signal=500_000)
        assert len(made) == cores
