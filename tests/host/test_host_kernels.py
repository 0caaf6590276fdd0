"""Kernels of the host, what they measure in a run, and its memory."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import trnbench
from trnbench import Extent, Grade, Kernel, Program, Run, Scope, Status, resolve
from trnbench.backend import Detection
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench_host import threads, trnbench_kernels
from trnbench_host.backend import HostBackend
from trnbench_host.book import book, unknowns
from trnbench_host.compiler import lacking
from trnbench_host.cpu import Cpu, Memory, read_memory
from trnbench_host.threads import Blas, Crew, Place, limit_blas, pinned, processors_for

KERNELS = {each.name: each for each in trnbench_kernels()}
SMALL: dict[str, dict[str, Any]] = {
    "host_matmul": {"dtype": "fp32", "size": 96},
    "stream_copy": {"size": 8192},
    "stream_scale": {"size": 8192},
    "stream_add": {"size": 8192},
    "stream_triad": {"size": 8192},
    "transcendental": {"op": "sin", "dtype": "fp64", "elements": 500},
    "process_copy": {"size": 5000},
    "pointer_chase": {"size": 16384},
}


def prepared(kernel: Kernel, point: dict[str, Any], cores: int = 1) -> Program:
    if "c" in kernel.implementations and lacking():
        pytest.skip(lacking())
    place = Place(
        processors=(sorted(os.sched_getaffinity(0)) * cores)[:cores],
        blas=Blas(library="any", asked=cores, threads=cores),
    )
    (reference,) = kernel.implementations.values()
    made = resolve(reference)(point, place, np.random.default_rng(7))
    assert isinstance(made, Program)
    return made


def closed(program: Program) -> None:
    if program.close is not None:
        program.close()


def test_every_kernel_is_tried_here() -> None:
    assert set(SMALL) == set(KERNELS)


@pytest.mark.parametrize("name", SMALL)
def test_it_runs_checks_itself_and_can_do_less(name: str) -> None:
    program = prepared(KERNELS[name], SMALL[name])
    assert program.check(program.run()) == ""
    assert program.check(program.run()) == ""
    assert program.awaited
    assert program.checked
    smaller = program.smaller()
    assert smaller.check(smaller.run()) == ""
    assert 1.9 < program.amount / smaller.amount < 9.0
    closed(smaller)
    closed(program)


@pytest.mark.parametrize("name", ["stream_copy", "stream_triad", "transcendental"])
def test_each_core_has_a_problem_of_its_own(name: str) -> None:
    kernel = KERNELS[name]
    program = prepared(kernel, SMALL[name], cores=2)
    assert program.check(program.run()) == ""
    program.idle()
    closed(program)
    one = kernel.work(SMALL[name], Extent(scope=Scope.CORE)).as_counts()
    two = kernel.work(SMALL[name], Extent(scope=Scope.INSTANCE, cores=2)).as_counts()
    assert two == {key: 2 * count for key, count in one.items()}


def test_a_product_of_all_cores_is_one_product() -> None:
    point = SMALL["host_matmul"]
    one, all_ = Extent(scope=Scope.CORE), Extent(scope=Scope.INSTANCE, cores=8)
    work = KERNELS["host_matmul"].work
    assert work(point, one).flops == work(point, all_).flops == 2 * 96**3


def test_a_wrong_product_is_found() -> None:
    program = prepared(KERNELS["host_matmul"], SMALL["host_matmul"])
    out = program.run()
    out[0, 5] += 0.5
    assert program.check(out).startswith("rows 0, 13, 27, ")


def test_a_stream_that_did_not_run_is_found() -> None:
    for name in ("stream_copy", "stream_scale", "stream_add", "stream_triad"):
        program = prepared(KERNELS[name], SMALL[name])
        assert program.check(None).endswith("of core 0 is not what the formula gives"), name


def test_a_function_that_did_not_run_is_found() -> None:
    program = prepared(KERNELS["transcendental"], SMALL["transcendental"])
    assert program.check(None).startswith("sin(")


def test_data_that_did_not_arrive_is_found() -> None:
    program = prepared(KERNELS["process_copy"], SMALL["process_copy"])
    try:
        assert program.check(None).endswith("did not arrive as it was sent")
        program.run()
        assert program.check(None) == ""
    finally:
        closed(program)


def test_a_chain_that_ends_elsewhere_is_found() -> None:
    program = prepared(KERNELS["pointer_chase"], SMALL["pointer_chase"])
    assert "they should end at" in program.check(program.run() + 8)


def test_data_are_random_and_follow_the_seed() -> None:
    first = prepared(KERNELS["host_matmul"], SMALL["host_matmul"]).run().copy()
    again = prepared(KERNELS["host_matmul"], SMALL["host_matmul"]).run()
    assert np.array_equal(first, again)
    assert len(np.unique(first)) > 9000


def test_the_blas_is_asked_how_many_threads_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in threads.VARIABLES:
        monkeypatch.setenv(name, os.environ.get(name, ""))
    before = limit_blas(2)
    one = limit_blas(1)
    if one.library == "unknown":
        pytest.skip("the BLAS of this NumPy tells nobody its threads")
    assert (one.asked, one.threads, one.pinned) == (1, 1, True)
    assert before.asked == 2
    monkeypatch.setattr(threads, "loaded_libraries", tuple)
    assert threads.limit_blas(1) == Blas(library="unknown", asked=1, threads=0)
    assert not Blas(library="unknown", asked=1, threads=0).pinned


def test_processors_are_kept_and_given_back() -> None:
    before = os.sched_getaffinity(0)
    with pinned(processors_for(1)) as kept:
        assert len(kept) == 1
        assert os.sched_getaffinity(0) == set(kept)
    assert os.sched_getaffinity(0) == before


def test_a_crew_works_at_once_and_tells_what_went_wrong() -> None:
    here = sorted(os.sched_getaffinity(0))
    crew = Crew([here[0], here[-1]])
    meeting = threading.Barrier(2, timeout=30)
    crew.run([meeting.wait, meeting.wait])  # would never end one after the other
    with pytest.raises(ZeroDivisionError):
        crew.run([lambda: 1 / 0, lambda: None])
    crew.run([lambda: None, lambda: None])
    crew.close()


# `trnbench run --backend host`: into the store, into a report, beside an emulated run.


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trnbench.bench(
        ["host_matmul", "stream_triad"],
        backend="host",
        axes=("host_matmul.size=96", "stream_triad.size=8KiB", "dtype=fp32"),
        scopes=("core",),
        sample_s=0.1,
        seed=3,
        store=tmp_path_factory.mktemp("store") / "r.db",
    )


def test_it_measures_this_machine_without_being_told_which(run: Run) -> None:
    assert run.grade is Grade.MEASURED
    assert set(run.systems) == {"host"}
    assert run.backend == "host"


def test_every_number_has_its_evidence(run: Run) -> None:
    assert run.measurements
    for each in run.measurements:
        # A busy machine may leave nothing known of a number; it may not leave one without its evidence.
        assert each.status in (Status.OK, Status.INCONCLUSIVE, Status.SUSPECT), each.reason_text
        assert len(each.processes) in (3, 6, 9)  # those that disagree get as many more
        assert each.evidence.grade is Grade.MEASURED
        assert each.evidence.by == run.environment["cpu_model"]
        assert each.clock == "host"
        assert each.samples
        assert each.stop_reason
        assert set(each.detail["proof"]) == {"device", "completion", "output", "growth"}
        assert each.detail["data"]["kind"] == "uniform random"
        assert each.detail["settings"]["threads"] == 1
        assert each.detail["settings"]["blas"]
        assert "cold" in each.detail["timing"]["series"]


def test_the_run_tells_what_is_unknown(run: Run) -> None:
    assert "memory channels: the system does not tell them" in run.environment["unknown"]
    assert run.environment["clock_source"]


@pytest.mark.parts
def test_measured_and_emulated_are_graded_apart_in_one_report(run: Run, tmp_path: Path) -> None:
    emulated = trnbench.bench(["gemm_int8"], instances=["trn1.2xlarge"])
    path = trnbench.render([run, emulated], tmp_path / "both.html")
    page = path.read_text()
    assert "host_matmul" in page
    assert "gemm_int8" in page
    words = re.sub(r"<[^>]+>", " ", page).lower()
    assert "measured" in words
    assert "emulated" in words


def test_the_default_run_is_emulated_and_has_nothing_of_the_host() -> None:
    planned = plan(trnbench.load_registry())
    assert "host" not in planned.systems
    assert not {"host_matmul", "stream_triad", "pointer_chase"} & {each.key.kernel for each in planned.cases}


def test_a_kernel_of_the_host_is_planned_there_alone() -> None:
    registry = trnbench.load_registry()
    assert set(plan(registry, Selection(kernels=("stream_add",))).systems) == {"host"}
    on_host = plan(registry, Selection(instances=("host",), kinds=("numpy", "c")))
    assert all({"numpy", "c"} & set(each.kernel.implementations) for each in on_host.cases)


def test_without_a_compiler_the_case_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    registry = trnbench.load_registry()
    planned = plan(registry, Selection(kernels=("pointer_chase",), instances=("host",)))
    why = registry.backends["host"].unsupported(planned.cases[0], planned.systems["host"])
    assert why == "needs a C compiler (cc, gcc or clang), and none is on the PATH"


def test_another_system_than_linux_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    found = trnbench.load_registry().backends["host"].detect()
    assert found == Detection(
        available=False,
        why="darwin has no /proc/cpuinfo, so the processor cannot be identified",
        try_="run it on Linux",
    )


@pytest.mark.parts
def test_the_emulator_refuses_the_host_and_says_why() -> None:
    run = trnbench.bench(["stream_add"], instances=["host"], axes=["size=4KiB"])
    assert {each.status for each in run.measurements} == {Status.SKIPPED}
    assert run.measurements[0].reason_text == "host has no cost table, so no time follows for a core"


# The memory's rate: by controllers and firmware together, or not at all.


def cpu(flags: frozenset[str] = frozenset()) -> Cpu:
    return Cpu(name="a processor", vendor="", family=0, model=0, flags=flags, sockets=1, cores=2, threads=2)


def module(*, size: int = 32768, width: int = 64, speed: int = 4800, configured: int = 4400) -> bytes:
    """A record of SMBIOS type 17 with 0x28 bytes, as DSP0134 lays it out."""
    raw = bytearray(0x28)
    raw[0], raw[1] = 17, 0x28
    for at, value in ((0x0A, width), (0x0C, size), (0x15, speed), (0x20, configured)):
        raw[at : at + 2] = value.to_bytes(2, "little")
    return bytes(raw)


def folders(at: Path, modules: list[bytes], channels: list[tuple[int, int]]) -> tuple[Path, Path]:
    """(edac, dmi); `channels` are (controller, channel) of each module that is there."""
    for number, raw in enumerate(modules):
        (at / "dmi" / f"17-{number}").mkdir(parents=True)
        (at / "dmi" / f"17-{number}" / "raw").write_bytes(raw)
    for number, (controller, channel) in enumerate(channels):
        place = at / "edac" / f"mc{controller}" / f"dimm{number}"
        place.mkdir(parents=True)
        (place / "size").write_text("32768\n")
        (place / "dimm_location").write_text(f"channel {channel} slot 0 \n")
    return at / "edac", at / "dmi"


def test_channels_and_rate_together_give_the_peak(tmp_path: Path) -> None:
    # Two modules on one channel, one on another; the fourth slot is empty.
    found = read_memory(
        *folders(tmp_path, [*[module()] * 3, module(size=0, configured=0)], [(0, 0), (0, 0), (0, 1)])
    )
    assert found == Memory(channels=2, bits=64, transfers_per_s=4.4e9)
    facts = {each.metric: each for each in book(cpu(), found).facts}
    peak = facts["host_memory_bandwidth"]
    assert peak.value == 2 * 8 * 4.4e9
    assert peak.formula == "2 channels × 8 B × 4400 MT/s"
    assert not any("memory channels" in each for each in unknowns(cpu(), found))


@pytest.mark.parametrize(
    ("modules", "channels"),
    [
        ([], [(0, 0)]),  # firmware is not readable
        ([module()], []),  # no driver of the controllers
        ([module(), module(configured=3200)], [(0, 0), (0, 1)]),  # two rates
        ([module(width=0xFFFF)], [(0, 0)]),  # "unknown", in SMBIOS
    ],
)
def test_half_of_it_is_nothing(modules: list[bytes], channels: list[tuple[int, int]], tmp_path: Path) -> None:
    found = read_memory(*folders(tmp_path, modules, channels))
    assert found.bytes_per_s == 0.0
    assert "host_memory_bandwidth" not in {each.metric for each in book(cpu(), found).facts}
    assert any("memory channels" in each for each in unknowns(cpu(), found))


def test_what_firmware_says_in_a_virtual_machine_is_made_up() -> None:
    virtual = cpu(flags=frozenset({"hypervisor"}))
    memory = Memory(channels=8, bits=64, transfers_per_s=3.2e9)
    assert "host_memory_bandwidth" not in {each.metric for each in book(virtual, memory).facts}


def nothing(*_: Any) -> None:
    """An implementation whose author forgot `return`."""


@pytest.mark.parts
def test_an_implementation_that_returns_no_program_is_named() -> None:
    registry = trnbench.load_registry(block=["trn1"])
    planned = plan(registry, Selection(kernels=("stream_copy",), instances=("host",), scopes=(Scope.CORE,)))
    case = planned.cases[0]
    forgetful = replace(case.kernel, implementations={"numpy": f"{__name__}:nothing"})
    with pytest.raises(trnbench.KernelError, match=r":nothing returns NoneType, no Program"):
        HostBackend().observe(replace(case, kernel=forgetful), planned.systems["host"])
