"""Which cases two runs are compared in, and how their machines differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import messages
from paired_runs import case, emulated, measured, run_of
from stored_run import message_of, text_of

from trnbench import (
    Evidence,
    Grade,
    NothingSelected,
    Run,
    Status,
    UsageError,
)
from trnbench.compare.comparison import compared
from trnbench.results.measurement import (
    Conditions,
    ProcessSamples,
)

STEADY = (1.000, 1.002, 0.998)
SLOWER = (1.100, 1.102, 1.098)


def test_runs_without_a_case_in_common_are_refused() -> None:
    said = text_of(
        NothingSelected, compared, run_of(emulated(case(), 1.0)), run_of(emulated(case("other"), 1.0))
    )
    assert said.startswith("runs a and a have no case in common\n  cause: of their 1 and 1 cases none has ")


def test_the_largest_effect_comes_first_and_what_has_no_verdict_last() -> None:
    broken, skipped = ({"status": status, "time_s": None} for status in (Status.FAILED, Status.SKIPPED))
    before = run_of(
        *(emulated(case(name), 1.0) for name in ("gone", "a", "b", "c", "e", "lost", "broken", "model")),
        emulated(case("mended"), 1.0, **broken),
        emulated(case("new"), 1.0, metrics={}, **skipped),
        measured(case("d"), ()),
    )
    later = Evidence(grade=Grade.EMULATED, by="a model", version="2")
    after = run_of(
        *(emulated(case(name), time) for name, time in (("a", 1.0), ("b", 1.1), ("c", 0.5), ("e", 2.1))),
        emulated(case("lost"), 1.0, **skipped),
        emulated(case("broken"), 1.0, **broken),
        *(emulated(case(name), 9.0) for name in ("mended", "new", "came")),
        emulated(case("model"), 9.0, evidence=later),
        measured(case("d"), (), time_s=9.0),
        id="b",
    )
    found = [each.case.kernel for each in compared(before, after).changes]
    first, last = ["broken", "lost", "model", "mended"], ["a", "d", "gone", "came"]
    assert found == [*first, "e", "c", "b", "new", *last]


def test_a_keyword_chooses_cases() -> None:
    run = run_of(emulated(case("gemm", dtype="bf16"), 1.0), emulated(case("copy"), 1.0))
    assert [each.case.kernel for each in compared(run, run, keyword="gemm and bf16").changes] == ["gemm"]


def test_two_selections_of_one_run() -> None:
    run = run_of(
        *(emulated(case(dtype=dtype, size=size), 1.0 + size) for dtype in ("bf16", "fp8") for size in (1, 2))
    )
    found = compared(run, run, a="dtype=bf16", b="dtype=fp8")
    assert sorted((each.before.id, each.after.id) for each in found.changes) == [
        (f"host::gemm[dtype=bf16,size={size}]@core", f"host::gemm[dtype=fp8,size={size}]@core")
        for size in (1, 2)
    ]
    assert len(compared(run_of(*run.measurements[:2]), run, b="dtype=fp8").changes) == 2
    (across,) = compared(run, run, a="dtype=bf16,size=1", b="dtype=fp8,size>1").changes
    assert (across.effect, across.causes) == (pytest.approx(0.5), ())


def test_a_selection_that_fits_several_cases_of_a_kind() -> None:
    run = run_of(*(emulated(case(size=size), 1.0) for size in (1, 2, 3)))
    assert text_of(UsageError, lambda: compared(run, run, a="size=1", b="size>1")) == (
        "host::gemm[size=3]@core and host::gemm[size=2]@core are both in the second selection, and only one "
        "can be compared\n"
        "  cause: they differ in nothing but what the selections name\n"
        "  try:   --b 'size>1,size=3'"
    )


@pytest.mark.parametrize("option", ["a", "b"])
def test_a_selection_that_fits_no_case_is_named(option: str) -> None:
    run = run_of(*(emulated(case(size=size), 1.0) for size in (1, 2, 3)))
    assert text_of(NothingSelected, lambda: compared(run, run, **{option: "size=7"})) == (
        f"--{option} size=7 fits no case of run a\n"
        "  cause: none of its 3 cases has such a value\n"
        "  try:   trnbench runs show a"
    )


def test_a_selection_by_an_axis_that_no_case_has_is_named() -> None:
    run = run_of(emulated(case(size=1), 1.0))
    assert text_of(NothingSelected, lambda: compared(run, run, b="kernle=gemm")) == (
        "--b kernle=gemm fits no case of run a\n"
        "  cause: unknown axis 'kernle': did you mean kernel?\n"
        "  try:   trnbench runs show a"
    )


@pytest.mark.parametrize(("terms", "said", "code"), messages(Path(__file__).parent / "wrong_terms.txt"))
def test_terms_that_cannot_be_read(terms: str, said: str, code: int) -> None:
    run = run_of(emulated(case(size=1), 1.0))
    assert message_of(UsageError, lambda: compared(run, run, a=terms)) == (said, code)


def on_a_machine(
    id: str, version: str, pressure: float, clock_hz: float, medians: tuple[float, ...] = STEADY
) -> Run:
    """A measured run whose processes met this pressure and this clock."""
    conditions = Conditions(wall_s=1.0, pressure=pressure, clock_hz=(clock_hz, clock_hz))
    processes = tuple(ProcessSamples(samples=(each,), time_s=each, conditions=conditions) for each in medians)
    environment = {"package_numpy": version, "load_average": pressure, "cpu_model": "x"}
    one = measured(case(), medians, processes=processes, implementation="nki: k:f")
    return run_of(one, id=id, environment=environment, inputs={"k.py": f"TILE = {pressure}\n"})


def test_what_differs_of_the_machine_is_told() -> None:
    runs = on_a_machine("a", "1.26", 0.01, 3e9), on_a_machine("b", "2.0", 0.4, 2e9)
    assert compared(*runs).differs == (
        "environment package_numpy was 1.26, is 2.0",
        "clock of the processor was 3 GHz, is 2 GHz",
        "share of time waiting for a processor was 1.0 %, is 40.0 %",
    )


@pytest.mark.parametrize(("slower", "moved"), [(1.02, True), (1.1, True), (1.001, False)])
def test_a_measured_difference_has_its_source_and_its_machine_as_causes(slower: float, moved: bool) -> None:
    """One that is shown has them below the threshold as well."""
    medians = tuple(each * slower for each in STEADY)
    runs = on_a_machine("a", "2.0", 0.01, 3e9), on_a_machine("b", "2.0", 0.4, 2e9, medians)
    told = (
        "k.py:1 is 'TILE = 0.4', was 'TILE = 0.01'",
        "clock of the processor was 3 GHz, is 2 GHz",
        "share of time waiting for a processor was 1.0 %, is 40.0 %",
    )
    assert compared(*runs).changes[0].causes == (told if moved else ())


def test_a_machine_as_busy_as_before_is_no_difference() -> None:
    runs = on_a_machine("a", "2.0", 0.38, 3e9), on_a_machine("b", "2.0", 0.4, 3.03e9)
    assert compared(*runs).differs == ()


def test_what_was_asked_for_is_no_difference_of_the_machine() -> None:
    one = emulated(case(), 1.0)
    settings = [{"selection": {"kernels": [name]}, "seed": seed} for name, seed in (("gemm", 1), ("*", 2))]
    found = compared(run_of(one, settings=settings[0]), run_of(one, id="b", settings=settings[1]))
    assert found.differs == ("setting seed was 1, is 2",)


def test_what_an_imported_run_does_not_say_is_one_line() -> None:
    one = emulated(case(), 1.0)
    environment = {f"package_{number}": "1" for number in range(20)}
    ours = run_of(one, settings={"seed": 1}, environment=environment)
    imported = run_of(one, id="b", settings={"imported_from": "nccl-tests"})
    assert compared(ours, imported).differs == (
        "setting seed, environment package_0, environment package_1 and 18 more are missing",
        "setting imported_from is new",
    )
