"""Logical cores: two physical ones that are programmed as one (LNC=2), from the plan to the peak."""

from __future__ import annotations

import pytest
from parts import part
from stored_run import text_of

from trnbench.errors import UsageError
from trnbench.facts.fact import PeakPolicy, Scope
from trnbench.kernels.kernel import Case
from trnbench.registry import Registry
from trnbench.run.judge import Judge
from trnbench.run.plan import Plan, plan
from trnbench.run.selection import Selection

EmulatedBackend = part("trnbench_emulator.backend").EmulatedBackend
extent_of = part("trnbench_emulator.kernel_run.extent").extent_of
TRN1, TRN2, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"
WHY = "logical cores of two physical ones start with Trainium2"


def planned(registry: Registry, kernel: str, where: str, scope: str, *axes: str) -> tuple[Plan, Case]:
    found = plan(
        registry,
        Selection(
            kernels=(kernel,), instances=(where,), scopes=(scope,), axes=axes, divisions=("replicated",)
        ),
    )
    return found, found.cases[0]


@pytest.mark.parametrize("where", [TRN2, TRN3])
@pytest.mark.parametrize(
    ("kernel", "axes"),
    [("gemm", ("size=2048", "dtype=bf16")), ("hbm_copy", ("size=64M",)), ("gemm_skinny", ("m=128",))],
)
def test_two_cores_do_twice_as_much_against_twice_the_peak(
    registry: Registry, kernel: str, axes: tuple[str, ...], where: str
) -> None:
    backend, reached, peaks, times = EmulatedBackend(), {}, {}, {}
    for scope in ("core", "logical-core"):
        found, case = planned(registry, kernel, where, scope, *axes)
        system = found.systems[where]
        seen = backend.observe(case, system)
        choice = Judge(PeakPolicy.SEED).peak(case, system)
        assert case.key.scope is choice.chosen.scope is Scope(scope)
        work = case.work
        reached[scope] = (work.flops or work.bytes["hbm"]) / seen.time_s
        peaks[scope], times[scope] = choice.chosen.value, seen.time_s
        assert case.extent.cores == (2 if scope == "logical-core" else 1)
    assert peaks["logical-core"] == pytest.approx(2 * peaks["core"])
    assert times["logical-core"] >= times["core"]  # they share memory
    assert reached["logical-core"] <= 2 * reached["core"]
    assert reached["logical-core"] > 1.5 * reached["core"]


def test_a_generation_without_them_says_so(registry: Registry) -> None:
    found, case = planned(registry, "gemm", TRN1, "logical-core")
    assert not found.runnable
    assert {each.skip for each in found.cases} == {WHY}
    assert case.key.scope is Scope.LOGICAL_CORE
    assert (
        text_of(UsageError, extent_of, registry.system(TRN1), "logical-core")
        == f"no logical core runs it on {TRN1}\n  cause: {WHY}\n  try:   --cores core"
    )


def test_a_machine_of_which_no_document_gives_one(registry: Registry) -> None:
    system = registry.system(TRN2)
    bare = type(system)(
        instance=system.instance, generation=system.generation, book=system.book, costs={}, size=1
    )
    assert bare.logical_cores == 1
    assert bare.lacks_logical_cores() == f"{TRN2} has no logical cores: no document gives it an LNC"


def test_they_are_planned_when_asked_for_or_one_problem_is_shared(registry: Registry) -> None:
    found = plan(registry, Selection(kernels=("gemm*", "hbm_*"), instances=(TRN2,)))
    taken = {case.key.kernel for case in found.cases if case.key.scope is Scope.LOGICAL_CORE}
    assert taken == {"gemm_shared"}


def test_the_timeline_of_a_logical_core_can_be_asked_for(registry: Registry) -> None:
    found, case = planned(registry, "gemm", TRN2, "logical-core", "size=1024", "dtype=bf16")
    seen = EmulatedBackend().observe(case, found.systems[TRN2])
    assert "--cores logical-core " in seen.detail["command"]
    assert extent_of(found.systems[TRN2], "logical-core") == case.extent
