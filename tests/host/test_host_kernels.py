"""Each kernel of the host: right outputs pass, wrong ones are found, threads are what was asked for."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from trnbench import Extent, Kernel, Program, Scope, resolve
from trnbench_host.compiler import lacking
from trnbench_host.kernels import kernels
from trnbench_host.threads import Blas, Crew, Place, limit_blas, pinned, processors_for

KERNELS = {each.name: each for each in kernels()}
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
    assert program.smaller is not None
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
    assert program.idle is not None
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
    from trnbench_host import threads

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
    import threading

    here = sorted(os.sched_getaffinity(0))
    crew = Crew([here[0], here[-1]])
    meeting = threading.Barrier(2, timeout=30)
    crew.run([meeting.wait, meeting.wait])  # would never end one after the other
    with pytest.raises(ZeroDivisionError):
        crew.run([lambda: 1 / 0, lambda: None])
    crew.run([lambda: None, lambda: None])
    crew.close()
