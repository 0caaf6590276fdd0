"""What trnbench itself brings breaks no promise, and how a check is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_project import change
from parts import part
from plugin_parts import Trnbench
from stored_run import text_of

from trnbench.errors import BadInput, MissingFile, UnknownName
from trnbench.store.store import Store
from trnbench.testing import CHECKS, Finding, Report, check_plugin

believable = part("trnbench_emulator.checks.emulation").believable


def test_what_trnbench_brings_keeps_the_contract() -> None:
    report = check_plugin("trnbench", checks=[each for each in CHECKS if each != "emulation"])
    assert "\n".join(map(str, report.findings)) == ""


def test_every_case_of_a_run_is_believable(emulated_run: Path) -> None:
    """What the check of emulation asks, of all cases; for the same answer again, tests/emulator asks."""
    with Store(emulated_run / "results.db") as store:
        cases = store.load().measurements
    found = list(believable(cases))
    assert [str(each) for each in found if isinstance(each, Finding)] == []
    assert len(found) > 250


def test_command_prints_findings_and_fails(project: Path, trnbench: Trnbench) -> None:
    change(project, "section.py", 'return Markup("")', "return None")
    told = trnbench("plugin", "check", str(project), "--only", "reports")
    name = next(project.glob("probe_*")).name.replace("_", "-")
    assert told.returncode == 1
    assert (
        told.stdout == f"reports: section {name}\n  returns NoneType\n"
        "  try:   return markupsafe.Markup, or an empty string\n  2 times\n"
    )
    assert told.stderr == f"{name} ({name} 0.1.0): 1 problem (looked at: reports 1)\n"


def test_one_error_that_many_checks_meet_is_told_once(project: Path) -> None:
    change(project, "facts.toml", 'printed = "32", unit = "GiB"', 'printed = "32", unit = "GiBx"')
    report = check_plugin(str(project), checks=["facts", "topologies", "kernels", "values"])
    assert len(report.findings) == 3  # values are those of other generations
    (once,) = report.repeated
    assert once.times == 3
    assert str(once).startswith("facts: generation")
    assert str(once).splitlines()[-1].startswith("  3 times, also in topologies: ")
    assert ": 1 problem (" in report.summary()


def test_places_of_a_repeated_problem_are_named_and_counted() -> None:
    findings = tuple(Finding(f"k{i}", "is wrong", "mend it", "kernels") for i in range(7))
    other = Finding("x", "is wrong", "mend it", "facts", warning=True)
    first, warning = Report(("a",), (*findings, other), {}).repeated
    assert str(first).splitlines()[-1] == (
        "  7 times, also in kernels: k1, kernels: k2, kernels: k3, kernels: k4 and 2 more"
    )
    assert str(warning) == str(other)
    (few,) = Report(("a",), findings[:5], {}).repeated
    assert str(few).splitlines()[-1] == (
        "  5 times, also in kernels: k1, kernels: k2, kernels: k3, kernels: k4"
    )


def test_what_cannot_be_checked_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown plugin 'trn11'"):
        check_plugin("trn11")
    with pytest.raises(UnknownName, match="unknown check 'fact'"):
        check_plugin("trn1", checks=["fact"])
    with pytest.raises(MissingFile, match="/nonexistent does not exist"):
        check_plugin("/nonexistent")
    with pytest.raises(MissingFile, match=r"has no pyproject\.toml"):
        check_plugin(f"{tmp_path}/")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "acme"\n')
    assert text_of(BadInput, check_plugin, f"{tmp_path}/") == (
        f"{tmp_path}/pyproject.toml names no plugin\n"
        "  cause: it has no [project.entry-points.trnbench]\n"
        '  try:   [project.entry-points.trnbench] on one line, then acme = "package.module"'
    )
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(BadInput, match=r"notes\.md is no plugin"):
        check_plugin(str(tmp_path / "notes.md"))


def test_report_says_what_was_looked_at() -> None:
    good = Report(("a (a 1)",), (), {"facts": 3})
    assert good.summary() == "a (a 1): all well (looked at: facts 3)"
    finding = Finding("x", "is wrong", "mend it", "facts")
    assert str(finding) == "facts: x\n  is wrong\n  try:   mend it"
    assert (
        Report(("a (a 1)",), (finding,), {"facts": 3}).summary() == "a (a 1): 1 problem (looked at: facts 3)"
    )
    assert Report(("a", "b"), (finding, finding._replace(problem="is odd")), {"facts": 3}).summary() == (
        "a, b: 2 problems (looked at: facts 3)"
    )
    note = finding._replace(warning=True)
    assert str(note) == "facts: x\n  warning: is wrong\n  try:   mend it"
    assert Report(("a",), (note,), {}).passed
    another = note._replace(problem="is odd")
    assert Report(("a",), (note, note, another), {"facts": 3}).summary() == (
        "a: all well, 2 warnings (looked at: facts 3)"
    )
    assert Report(("a",), (note, finding), {"facts": 3}).summary() == (
        "a: 1 problem, 1 warning (looked at: facts 3)"
    )
