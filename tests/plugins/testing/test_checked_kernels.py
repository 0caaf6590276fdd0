"""The conformance kit on kernels: their data, values, formulas and emulation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from checked_project import change, found
from messages import messages
from parts import part
from plugin_parts import Trnbench

from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench.testing import Finding, Subject
from trnbench.testing.subject import subjects

emulation = part("trnbench_emulator.checks.emulation")


@pytest.mark.parametrize(("change_of", "told", "_"), messages(Path(__file__).with_name("leads_nowhere.txt")))
def test_references_that_lead_nowhere_are_found(project: Path, change_of: str, told: str, _: int) -> None:
    """Given: the file, what goes for what; told: whose field, and why it cannot be used."""
    package = next(project.glob("probe_*")).name
    name = package.replace("_", "-")
    file, old, new = change_of.split(" | ")
    change(project, file, old, new.replace("{package}", package))
    (finding,) = (*found(project, "references"), *found(project, "sources"))
    about, _, problem = told.format(name=name, package=package).partition(": ")
    assert finding.about == f"{about} of {name} 0.1.0"
    assert finding.problem.startswith(problem)
    assert finding.try_ == f"correct it in {package}, or install what it needs"


def test_stack_of_others_that_is_not_installed_is_no_fault(project: Path) -> None:
    (package,) = project.glob("probe_*")
    change(project, "kernel.py", ':scale"}', f':scale", "torch": "{package.name}.with_torch:scale"}}')
    (package / "with_torch.py").write_text("import no_such_stack\n\ndef scale(): ...\n")
    assert found(project, "references") == []
    (package / "with_torch.py").unlink()
    (finding,) = found(project, "references")
    assert f"No module named '{package.name}.with_torch'" in finding.problem


def test_values_that_are_not_the_references_are_found(project: Path) -> None:
    package = next(project.glob("probe_*")).name
    change(project, "kernel_nki.py", "return 2 * x", "return 3 * x")
    findings = found(project, "values")
    assert [each.about for each in findings] == [
        f"kernel {package}_scale[dtype={dtype},rows=128,columns=2048]" for dtype in ("bf16", "fp32")
    ]
    problem = (
        f"{package}.kernel_nki:scale (kernel_nki.py:13) computes something else than its reference: "
        "output 0, "
    )
    assert all(each.problem.startswith(problem) for each in findings)
    assert findings[0].try_ == (
        f"trnbench nki check {package}_scale -i trn1.2xlarge --check reference "
        "--arg dtype=bf16 --arg rows=128 --arg columns=2048"
    )


def test_kernel_without_a_reference_is_said_and_no_problem(project: Path, trnbench: Trnbench) -> None:
    change(project, "kernel_nki.py", "def scale_reference", "def another")
    package = next(project.glob("probe_*")).name
    told = trnbench("plugin", "check", str(project), "--only", "values")
    assert (told.returncode, told.stdout) == (
        0,
        f"values: kernel {package}_scale\n"
        f"  warning: not compared: {package}.kernel_nki:scale (kernel_nki.py:13) has no reference\n"
        "  try:   def scale_reference(...), in NumPy, beside the kernel\n",
    )
    assert told.stderr.endswith(": all well, 1 warning (looked at: values 2)\n")
    rows = trnbench(
        "plugin", "check", str(project), "--only", "values", "--format", "csv"
    ).stdout.splitlines()
    assert rows[0] == "check,about,grade,problem,try"
    assert rows[1].startswith(f"values,kernel {package}_scale,warning,not compared: ")


def test_source_that_takes_no_case_is_said(project: Path) -> None:
    change(project, "kernel_nki.py", "    return (((int(", "    _ = (((int(")
    package = next(project.glob("probe_*")).name
    (finding,) = found(project, "values")
    assert (finding.about, finding.warning) == (f"kernel {package}_scale", True)
    assert finding.problem == (
        "not compared: its NKI sources take none of the cases tried, so that every time is derived"
    )


@pytest.fixture
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a project brings: its kernel and products, on its own instance."""
    sample = emulation._sample

    def few(subject: Any) -> Any:
        plan, own = sample(subject), {each.name for each in subject.systems}
        kernels = {"gemm", *(each.name for each in subject.kernels)}
        kept = [each for each in plan.cases if each.key.instance in own and each.key.kernel in kernels]
        assert kept
        systems = {name: plan.systems[name] for name in own}
        return msgspec.structs.replace(plan, cases=tuple(kept), systems=systems)

    monkeypatch.setattr(emulation, "_sample", few)


@pytest.mark.usefixtures("few_cases")
def test_formula_that_claims_more_than_the_kernel_does_is_found(project: Path) -> None:
    change(project, "kernel.py", "    moved = 2.0", "    moved = 3.0")
    problems = [each.problem for each in found(project, "emulation")]
    assert "its formula claims 1,572,864 bytes of HBM, the recorded kernel does 1,048,576" in problems


@pytest.mark.usefixtures("few_cases")
def test_rate_above_the_clocks_is_found(project: Path) -> None:
    change(
        project,
        "facts.toml",
        'qualifier = "tensor", printed = "2", unit',
        'qualifier = "tensor", printed = "0.5", unit',
    )
    change(project, "__init__.py", 'base="trn1",', 'base="trn1", costs=HERE / "costs.toml",')
    (package,) = project.rglob("facts.toml")
    # A cost table that makes the tensor engine take an eighth of the cycles the array needs.
    package.with_name("costs.toml").write_text(
        'schema = 1\n[[instructions.nc_matmul]]\nengine = "tensor"\n'
        'cycles = "N_moving / 8"\nsource = "none"\n'
    )
    problems = [each.problem for each in found(project, "emulation")]
    assert any("of what the clocks allow" in each for each in problems), problems


@pytest.mark.usefixtures("few_cases")
def test_emulation_that_depends_on_the_clock_is_found(project: Path) -> None:
    change(
        project,
        "kernel.py",
        "    moved = 2.0",
        "    import time\n    moved = 1e-9 * time.perf_counter_ns() + 2.0",
    )
    problems = [each.problem for each in found(project, "emulation")]
    assert any(each.startswith("is another result the second time: ") for each in problems)


def test_pieces_that_are_not_the_whole_are_found(project: Path) -> None:
    cut = """def scale_pieces(inputs):
    return ((inputs, 10_000),)


def scale_reference"""
    change(project, "kernel_nki.py", "def scale_reference", cut)
    package = next(project.glob("probe_*")).name
    findings = found(project, "pieces")
    assert sorted({each.about.partition("::")[2] for each in findings}) == [
        f"{package}_scale[dtype={dtype},rows=128,columns=2048]@core" for dtype in ("bf16", "fp32")
    ]
    for finding in findings:
        assert re.fullmatch(
            rf"{package}\.kernel_nki:scale \(kernel_nki\.py:13\) takes [\d.,]+ µs, and [\d.,]+ in the pieces "
            r"that scale_pieces gives \(\+[\d.]+%\)",
            finding.problem,
        )
        assert (
            finding.try_ == "cut where nothing of one piece reaches into the next, or leave the function out"
        )
    change(project, "kernel_nki.py", "((inputs, 10_000),)", "1 / 0")
    assert {each.problem for each in found(project, "pieces")} == {
        "scale_pieces failed: ZeroDivisionError: division by zero (kernel_nki.py:33)"
    }


def test_pieces_of_what_is_too_large_to_compare_are_said(project: Path, monkeypatch: Any) -> None:
    cut = "def scale_pieces(inputs):\n    return ((inputs, 10_000),)\n\n\ndef scale_reference"
    change(project, "kernel_nki.py", "def scale_reference", cut)
    monkeypatch.setattr("trnbench_emulator.checks.pieces.LIMIT", 2)
    findings = found(project, "pieces")
    assert findings
    assert {(each.problem, each.try_, each.warning) for each in findings} == {
        (
            "not compared: whole it has more than 2 calls to execute",
            "a smaller value on an axis, of which the problem is still cut",
            True,
        )
    }


ROWS = "    rows, columns = x.shape\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("while True: pass", "it does not end within 0.1 s; a loop of it has no end"),
        ("import os; os._exit(5)", "ends the process: os._exit(5) ("),
    ],
)
def test_kernels_that_hang_or_end_the_process_are_findings(
    project: Path, line: str, problem: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(part("trnbench_emulator.checks.values"), "LIMIT_S", 0.1)
    change(project, "kernel_nki.py", ROWS, f"{ROWS}    {line}\n")
    findings = found(project, "values")
    assert findings
    assert all(problem in each.problem for each in findings)
    assert all("kernel_nki.py" in each.problem for each in findings)


def test_a_kernel_that_never_ends_fails_its_cases_when_they_are_emulated(
    project: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(emulation, "LIMIT_S", 0.1)
    monkeypatch.setattr(emulation, "_sample", _first_core_case)
    change(project, "kernel_nki.py", ROWS, f"{ROWS}    while True: pass\n")
    (finding,) = found(project, "emulation")
    assert finding.problem.startswith("failed (timeout): not done after 0.1 s")


def _first_core_case(subject: Any) -> Any:
    planned = plan(subject.registry, Selection(kernels=(subject.kernels[0].name,)))
    return msgspec.structs.replace(planned, cases=planned.cases[:1])


def test_pieces_that_differ_on_a_generation_of_others_alone_are_a_warning(
    project: Path, monkeypatch: Any
) -> None:
    checks = part("trnbench_emulator.checks.pieces")
    monkeypatch.setattr(checks, "APART", -1.0)
    with subjects(str(project)) as (own,):
        (loaded,) = (each for each in own.registry.loaded if each.origin.name == "kernels")
        cases = [
            each
            for each in checks.sourced(Subject(own.registry, loaded))
            if each[0].kernel.name == "transpose"
            and each[1].generation.name in ("trn1", own.generations[0].name)
        ]
        monkeypatch.setattr(checks, "sourced", lambda _: cases)
        findings = [
            each for each in checks.pieces(Subject(own.registry, loaded)) if isinstance(each, Finding)
        ]
        (generation,) = own.generations
    ours = [each for each in findings if "trn1." in each.about]
    foreign = [each for each in findings if each not in ours]
    assert ours
    assert foreign
    assert [each for each in findings if each.warning] == foreign
    for finding in foreign:
        source = f"on {generation.name} of {own.loaded.origin.source}: trnbench_kernels.nki.transpose:"
        assert finding.problem.startswith(source)
        assert finding.try_.startswith(f"trnbench nki run transpose -i {generation.instances[0].name} --arg ")
