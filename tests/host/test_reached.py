"""Peaks that no table knows: measured by compiled kernels, or not there, with the reason."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measured_machine as machine
import msgspec
import numpy as np
import pytest
import tiny_machine as tiny
from fact_rows import fact
from measured_machine import Busy, Quiet

import trnbench
from trnbench import Calibration, FactBook, Provenance, Scope, Source, Status
from trnbench.facts.fact import Direction, Peak, PeakChoice, PeakPolicy
from trnbench.peaks import choose_peak
from trnbench.registry import Registry
from trnbench.results.measurement import Grade, Metric
from trnbench.results.run import Run
from trnbench.run.execute import execute
from trnbench.run.guard import Circumstances, weigh
from trnbench.run.judge import _in_cache
from trnbench.run.plan import plan
from trnbench.run.resumption import Earlier
from trnbench.run.selection import RunSettings, Selection
from trnbench.store.store import Store
from trnbench_host import probe as module
from trnbench_host.book import book, measured, unknowns
from trnbench_host.compiler import compiler, multiply_adds
from trnbench_host.cpu import Cpu
from trnbench_host.probe import REACHED, reached
from trnbench_host.threads import processors_for


def cpu(**changes: Any) -> Cpu:
    fields: dict[str, Any] = {
        "name": "Zen 3",
        "vendor": "AuthenticAMD",
        "family": 25,
        "model": 1,
        "flags": frozenset({"fma", "avx2"}),
        "sockets": 1,
        "cores": 1,
        "threads": 1,
        "nominal_hz": 2.4e9,
        "clock_from": "its name",
        "caches": {"L3": 1 << 20},
    }
    return Cpu(**{**fields, **changes})


needs_compiler = pytest.mark.skipif(not compiler(), reason="no C compiler")


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few and short passes on a machine that is said to be quiet: what they reach is the machine's."""
    monkeypatch.setattr(module, "Watch", Quiet)
    for name, value in (("PASS_S", 1e-5), ("PASSES", 2), ("STREAMS", 2), ("OF_CACHE", 1)):
        monkeypatch.setattr(module, name, value)


@needs_compiler
@pytest.mark.usefixtures("_quick")
def test_the_triad_in_c_gives_what_numpy_gives() -> None:
    a, b, c = np.random.default_rng(1).uniform(1, 2, (3, 1 << 12))
    assert module._triad(processors_for(1), (a, b, c)) > 0.0
    assert np.allclose(a, b + 3.0 * c, rtol=1e-15, atol=0.0)  # it may round once and not twice


@needs_compiler
@pytest.mark.usefixtures("_quick")
def test_what_is_unknown_is_measured_and_says_how() -> None:
    found = reached(cpu(), flops=True, memory=True)
    assert found.notes == ()
    assert {(fact.metric, fact.dtypes, fact.scope) for fact in found.book.facts} == {
        ("peak_flops", ("fp32",), Scope.CORE),
        ("peak_flops", ("fp64",), Scope.CORE),
        ("host_memory_bandwidth", (), Scope.CORE),
        ("host_memory_bandwidth", (), Scope.INSTANCE),
    }
    for each in found.book.facts:
        assert each.provenance is Provenance.MEASURED
        assert each.source == REACHED
        assert each.value > 1e6
        assert each.locator.startswith(("fma.c, fma_", "chase.c, triad: 3 arrays of 1 MiB"))


@needs_compiler
def test_the_multiply_adds_are_those_that_are_counted() -> None:
    native = multiply_adds()
    for name in ("fma_fp32", "fma_fp64"):
        each = getattr(native, f"{name}_per_round")()
        # 12 chains from 1 to 12; one round of x·1 + 1 makes them 2 to 13, in every lane.
        assert getattr(native, name)(1, 1.0, 1.0) == (each / 12) * sum(range(2, 14))
        assert getattr(native, name)(10, 1.0, 1.0) == (each / 12) * sum(range(11, 23))


@needs_compiler
@pytest.mark.usefixtures("_quick")
def test_what_is_known_is_not_measured() -> None:
    known = book(cpu())
    assert {fact.metric for fact in measured(known, cpu()).book.facts} == {"host_memory_bandwidth"}
    assert reached(cpu(), flops=False, memory=False) == Calibration()


def test_without_a_compiler_there_is_no_percentage_and_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found = reached(cpu(), flops=True, memory=True)
    assert found.book.facts == ()
    assert found.notes == (
        "no per cent of a peak of FLOP/s and memory: measuring one needs a C compiler (cc, gcc or clang), "
        "and none is on the PATH",
    )


@needs_compiler
@pytest.mark.usefixtures("_quick")
def test_a_busy_machine_has_no_peak_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Watch", Busy)
    found = reached(cpu(), flops=True, memory=False)
    assert found.book.facts == ()
    assert found.notes == ("no per cent of a peak of FLOP/s: measuring one was disturbed",)


def test_what_no_document_has_says_that_a_run_measures_it() -> None:
    told = unknowns(cpu(vendor="NobodyKnows", nominal_hz=0.0))
    assert len(told) == 3
    assert all("(a run on this backend measures one)" in each for each in told)


# ---- judged by a measured peak


def test_above_a_measured_peak_is_no_blame() -> None:
    peak = Peak(metric="peak_flops", value=100e9, scope=Scope.CORE, dtype="fp32", evidence="measured")
    around = Circumstances(
        unit="FLOP/s", scope=Scope.CORE, direction=Direction.NONE, grade=Grade.MEASURED, clock="host"
    )
    metric = Metric(name="flops_per_s", value=104e9, unit="FLOP/s", better="higher", scope=Scope.CORE)
    status, _, judged = weigh(metric, PeakChoice(policy=PeakPolicy.SEED, chosen=peak), around)
    assert status is Status.OK
    assert judged.comment == "104.0 % of what small kernels reached on this machine: that is no bound"


def test_a_peak_of_all_cores_is_still_measured() -> None:
    system = trnbench.load_registry().system("host")
    measured = {"source": REACHED, "provenance": Provenance.MEASURED}
    peak = fact("host-core", "peak_flops", 100e9, dtypes=("fp32",), **measured)
    counts = tuple(each for each in system.book.facts if each.metric != "peak_flops")
    bare = FactBook(sources=system.book.sources, facts=counts)
    own = FactBook(sources={REACHED: Source(id=REACHED, document="here")}, facts=(peak,))
    system = msgspec.structs.replace(system, book=bare.merged(own))
    choice = choose_peak(system, metric="peak_flops", scope=Scope.INSTANCE, dtype="fp32")
    assert (choice.chosen.evidence, choice.chosen.value) == ("measured", 100e9 * system.cores_per_device)


class Calibrated(machine.Backend):
    """The stand-in that measures the peak of a type that no document of the tiny machine has."""

    def __init__(self, folder: Path, answer: Callable[[], Any]) -> None:
        super().__init__(folder)
        self._answer = answer

    def calibrated(self, system: Any) -> Any:
        (self.folder / f"asked-{len(list(self.folder.glob('asked-*')))}").touch()
        return self._answer()

    def __reduce__(self) -> Any:
        return machine.Backend, (self.folder,)


def peak() -> Calibration:
    clock = fact("tiny-core", "clock", 1e9, provenance=Provenance.MEASURED)
    return Calibration(book=FactBook(sources={"here": Source(id="here", document="here")}, facts=(clock,)))


def carried_out(folder: Path, answer: Callable[[], Any], **more: Any) -> tuple[Registry, Any, Run]:
    registry = machine.registry("well", "well", folder=folder)
    backend = Calibrated(folder, answer)
    return registry, backend, execute(plan(registry), backend, registry, RunSettings(processes=1), **more)


def test_it_is_asked_once_and_kept_with_the_run(tmp_path: Path) -> None:
    _, _, run = carried_out(tmp_path, peak)
    kept = [fact for fact in run.books[tiny.GENERATION.name].facts if fact.provenance is Provenance.MEASURED]
    assert kept == list(peak().book.facts)
    assert len(list(tmp_path.glob("asked-*"))) == 1


def test_a_resumed_run_keeps_the_peaks_it_began_with(tmp_path: Path) -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with Store(tmp_path / "r.db") as store:
        registry, backend, run = carried_out(tmp_path, peak, store=store, on_progress=stop)
        assert run.interrupted
        with Earlier(store, run.id) as earlier:
            planned = earlier.planned(registry)
            going_on = earlier.taken_up(planned, backend, registry, anyway=False)
            whole = execute(planned, backend, registry, earlier.settings, store=store, resumed=going_on)
    assert whole.books == run.books
    assert len(list(tmp_path.glob("asked-*"))) == 1


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (lambda: 1 / 0, "backend stand-in could not measure peaks: ZeroDivisionError: division by zero"),
        (
            dict,
            "backend stand-in could not measure peaks: TypeError: calibrated() returned dict, not a "
            "Calibration",
        ),
    ],
)
def test_what_goes_wrong_there_costs_the_per_cents_alone(
    tmp_path: Path, answer: Callable[[], Any], note: str
) -> None:
    _, _, run = carried_out(tmp_path, answer)
    assert note in run.notes
    assert len(run.measurements) == 2


@pytest.mark.parametrize(("size", "judged"), [("8KiB", False), ("512MiB", True)])
def test_data_that_fit_into_a_cache_say_nothing_of_memory(size: str, judged: bool) -> None:
    registry = trnbench.load_registry()
    chosen = Selection(
        kernels=("stream_triad",), instances=("host",), axes=(f"size={size}",), kinds=("numpy",)
    )
    planned = plan(registry, chosen)
    caches = list(planned.systems["host"].book.select("host-core", "cache_capacity"))
    if not caches:
        pytest.skip("this machine does not tell its caches")
    assert {_in_cache(case, planned.systems["host"]) for case in planned.cases} == {not judged}
