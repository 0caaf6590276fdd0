"""Evidence, executors, traces, checks and templates that plugins bring: found, asked, and told when
missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from plugin_parts import generation, kernel, plugin

import trnbench
from trnbench import Check, ExecutorEntry, Expectation, Template, Trace
from trnbench.errors import NothingSelected, UnknownName, UsageError
from trnbench.extension import check_drawn
from trnbench.registry import Registry
from trnbench.results.measurement import Band, Nearest, Nearness
from trnbench.run.executor import executor
from trnbench.run.expectation import UNKNOWN, expectations, fidelity_of
from trnbench.run.selection import Selection, choose_kernels
from trnbench.testing.conformance import checks_of

BAND = Band(low=0.9, high=1.1, votes=3, points=3)


class Source:
    """Knows questions that are texts, and every case."""

    def __init__(self, nearest: Nearest) -> None:
        self._nearest = nearest

    def measurement(self, measurement: Any, case: Any, system: Any) -> Any:
        evidence = msgspec.structs.replace(measurement.evidence, nearest=self._nearest)
        return msgspec.structs.replace(measurement, evidence=evidence)

    def nearest(self, question: object, system: Any, *, version: str, metric: Any = None) -> Nearest | None:
        return self._nearest if isinstance(question, str) else None


def far(*_: Any) -> Source:
    return Source(Nearest(kind=Nearness.FAMILY, points=("far",)))


def near(*_: Any) -> Source:
    return Source(Nearest(kind=Nearness.SAME, points=("near",), band=BAND))


def fidelity(_: Any, backend: str, *__: Any, **___: Any) -> Any:
    return "the error of ours" if backend == "ours" else None


def of_evidence(*names: str) -> Registry:
    found = [Expectation(name=name, beside=f"{__name__}:{name}") for name in names]
    return Registry.of(evidence=plugin(trnbench_expectations=lambda: found))


def test_the_first_evidence_with_a_band_counts(system: trnbench.System) -> None:
    several = expectations(of_evidence("far", "near"), {})
    assert several.nearest("a question", system, version="1").points == ("near",)
    assert expectations(of_evidence("far"), {}).nearest("a question", system, version="1").points == ("far",)


def test_without_evidence_a_number_says_that_nobody_knows(system: trnbench.System) -> None:
    for registry in (Registry.of(), of_evidence("near")):
        nearest = expectations(registry, {}).nearest(7, system, version="1")
        assert (nearest.kind, nearest.note) == (Nearness.NONE, UNKNOWN)


def test_evidence_stands_beside_what_is_emulated_in_a_run() -> None:
    registry = tiny.registry()
    run = trnbench.bench(["act"], axes=["mode=half"], registry=registry)
    (case,) = run.measurements
    assert (case.evidence.nearest.kind, case.evidence.nearest.note) == (Nearness.NONE, UNKNOWN)


def test_the_error_is_told_by_whoever_knows_the_model() -> None:
    entry = Expectation(name="near", beside=f"{__name__}:near", fidelity=f"{__name__}:fidelity")
    registry = Registry.of(evidence=plugin(trnbench_expectations=lambda: [entry]))
    assert fidelity_of(registry, "ours", [], []) == "the error of ours"  # type: ignore[comparison-overlap]
    assert fidelity_of(registry, "another", [], []) is None


@contextlib.contextmanager
def opened(jobs: int) -> Iterator[str]:
    yield f"opened for {jobs}"


def test_an_executor_is_opened_by_its_name() -> None:
    entry = ExecutorEntry(name="batch", title="a queue", open=f"{__name__}:opened")
    registry = Registry.of(queue=plugin(trnbench_executors=lambda: [entry]))
    with executor(registry, "batch", 3) as found:
        assert found == "opened for 3"  # type: ignore[comparison-overlap]
    with executor(registry, "process") as found:
        assert found is None
    with pytest.raises(UnknownName) as caught:
        executor(registry, "bacth")
    assert (caught.value.cause, caught.value.try_) == ("did you mean batch?", "--executor batch")


def test_a_trace_is_that_of_the_backend() -> None:
    entry = Trace(name="ours", timeline="acme.timeline:draw")
    registry = Registry.of(drawing=plugin(trnbench_traces=lambda: [entry]))
    assert check_drawn(registry.traces.get("ours"), "timeline", "ours", "case 1") == "acme.timeline:draw"
    for name, part in (("theirs", "timeline"), ("ours", "assumptions")):
        with pytest.raises(UsageError) as caught:
            check_drawn(registry.traces.get(name), part, name, "case 1")
        assert caught.value.what == f"case 1 has no {part}"
        assert f"backend {name!r}" in caught.value.cause


def checked(subject: Any) -> Iterator[str]:
    yield str(subject)


def test_a_check_stands_at_its_place_among_those_of_the_core() -> None:
    found = [Check(name="power", check=f"{__name__}:checked", order=45)]
    registry = Registry.of(watts=plugin(trnbench_checks=lambda: found))
    names = list(checks_of(registry))
    assert names.index("facts") < names.index("power") < names.index("topologies")
    assert checks_of(registry)["power"]() is checked


def subject(plain: Any) -> Any:
    return plain["made"]


def made(name: str) -> trnbench.Kernel:
    return kernel(name)


def test_a_template_makes_the_kernel_that_a_selection_asks_for() -> None:
    template = Template(name="workload", subject=f"{__name__}:subject", kernel=f"{__name__}:made")
    registry = Registry.of(
        models=plugin(trnbench_kernels=lambda: [template], trnbench_generations=lambda: [generation("g")])
    )
    selection = Selection.stored({"workload": {"made": "of-it"}}, registry)
    assert [each.name for each in choose_kernels(registry, selection)] == ["of-it"]
    with pytest.raises(NothingSelected) as caught:
        Selection.stored({"workload": {"made": "of-it"}}, Registry.of())
    assert "no plugin that is installed brings the template 'workload'" in caught.value.cause


@pytest.fixture
def system() -> trnbench.System:
    return tiny.registry().system("tiny.2")
