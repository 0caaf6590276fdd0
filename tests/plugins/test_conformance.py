"""The conformance kit finds each broken promise, and finds none in what trnbench itself brings."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trnbench.errors import BadInput, MissingFile, UnknownName
from trnbench.testing import CHECKS, Finding, Report, check_plugin
from trnbench.testing.checks import reports
from trnbench.testing.project import write_project

NUMBERS = itertools.count()
Trnbench = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A new project under a name of its own: modules stay imported from test to test."""
    return write_project(f"probe-n{next(NUMBERS)}", tmp_path / "project").folder


def change(project: Path, file: str, old: str, new: str) -> None:
    (path,) = project.rglob(file)
    text = path.read_text()
    assert old in text, f"{old!r} is not in {file}"
    path.write_text(text.replace(old, new))


def found(project: Path, check: str) -> list[Finding]:
    report = check_plugin(str(project), checks=[check])
    assert {each.check for each in report.findings} <= {check}
    return list(report.findings)


def test_new_project_breaks_no_promise(project: Path) -> None:
    report = check_plugin(str(project))
    assert report.findings == ()
    assert report.passed
    assert list(report.counted) == list(CHECKS)
    assert all(count for name, count in report.counted.items() if name not in ("backends", "importers"))


def test_import_error_is_found(project: Path) -> None:
    change(project, "plugin.py", "HERE = ", "import nothing_of_that_name\nHERE = ")
    (finding,) = found(project, "loading")
    assert "cannot be imported" in finding.problem
    assert "No module named 'nothing_of_that_name'" in finding.problem


def test_values_that_change_from_call_to_call_are_found(project: Path) -> None:
    change(project, "plugin.py", "HERE = ", "import itertools\nCOUNT = itertools.count()\nHERE = ")
    change(project, "plugin.py", "yield Section(name=", "yield Section(name=f'n{next(COUNT)}' or ")
    (finding,) = found(project, "loading")
    assert finding.problem == "yields other things the second time: section n0, section n1"


def test_command_that_cannot_be_imported_is_found(project: Path) -> None:
    change(project, "command.py", "import click", "import no_click as click")
    (finding,) = found(project, "loading")
    assert finding.problem == "cannot be imported: ModuleNotFoundError: No module named 'no_click'"


def test_command_without_help_is_found(project: Path) -> None:
    change(project, "command.py", '"""Show the size', '_ = """Show the size')
    (finding,) = found(project, "loading")
    assert (finding.problem, finding.try_) == ("has no help", "give the function a docstring")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            'printed = "524", unit = "TFLOPS"',
            'printed = "524", unit = "GB/s"',
            "peak_flops cannot be in GB/s",
        ),
        ('source = "', 'source = "not-', "not-"),
        ('printed = "131"', 'printed = "191"', "documents disagree by rule"),
        ('version = "1.0"\ndate = "2026-01-01"\n', "", "has neither version nor date"),
        ('{ metric = "core_count", printed = "2" },\n', "", "no fact gives core_count of"),
        ('low = "0.5"', 'low = "1.5"', "outside its own range"),
    ],
)
def test_facts_that_break_a_rule_are_found(project: Path, old: str, new: str, problem: str) -> None:
    change(project, "facts.toml", old, new)
    assert any(problem in f"{each.problem}" for each in found(project, "facts"))


def test_one_way_cable_is_found(project: Path) -> None:
    change(
        project,
        "topology.py",
        "assembly.join(device, host, pcie.name)",
        "assembly.send(device, host, pcie.name)",
    )
    problems = [each.problem for each in found(project, "topologies")]
    assert any(each.startswith("symmetry: 4 links have no way back") for each in problems)


def test_links_that_do_not_add_up_are_found(project: Path) -> None:
    change(project, "topology.py", "scaled(whole, 1 / 2,", "scaled(whole, 1 / 3,")
    problems = [each.problem for each in found(project, "topologies")]
    assert any(each.startswith("sum of links, cables of a device: ") for each in problems)


def test_links_held_against_nothing_are_found(project: Path) -> None:
    change(project, "topology.py", "budgets=[total]", "budgets=[]")
    (finding,) = found(project, "topologies")
    assert finding.problem == "no Budget says what they add up to"


def test_figure_without_an_origin_is_found(project: Path) -> None:
    change(
        project,
        "topology.py",
        "    assembly = Assembly",
        "    import msgspec\n    odd = msgspec.structs.replace"
        "(link.latency, origin='hearsay', assumed=False)\n"
        "    link = msgspec.structs.replace(link, latency=odd)\n"
        "    assembly = Assembly",
    )
    (finding,) = found(project, "topologies")
    assert finding.problem.startswith("latency stands on 'hearsay', which is no fact of the book (")


def test_graph_that_changes_is_found(project: Path) -> None:
    change(
        project,
        "topology.py",
        "    assembly = Assembly(system.name)",
        "    import time\n    assembly = Assembly(f'{system.name} at {time.perf_counter_ns()}')",
    )
    (finding,) = found(project, "topologies")
    assert finding.problem == "is another graph the second time"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            'count="hbm_bytes"',
            'count="flops"',
            "is judged by 'flops', which its work does not count: hbm_bytes",
        ),
        ('bytes={"hbm": moved}', 'bytes={"hbm": -moved}', "work counts hbm_bytes = -"),
        ("f\"dtype:{point['dtype']}\"", "'magic'", "requires 'magic', which nothing answers"),
        (
            'formula="hbm_bytes = 2 · rows · columns · bytes of an element, per core"',
            'formula=""',
            "its counts have no formula",
        ),
        (
            "    moved = 2.0",
            "    import time\n    moved = time.perf_counter_ns() * 2.0",
            "work counts something else the second time",
        ),
    ],
)
def test_kernels_that_break_a_rule_are_found(project: Path, old: str, new: str, problem: str) -> None:
    change(project, "kernel.py", old, new)
    assert any(each.problem.startswith(problem) for each in found(project, "kernels"))


NAMED = "trnbench_kernels gives implementations"


@pytest.mark.parametrize(
    ("file", "old", "new", "about", "problem"),
    [
        (
            "plugin.py",
            ".topology:ring",
            ".topology:rink",
            "Instance '{name}.4xlarge'",
            "trnbench_generations gives topology = '{package}.topology:rink', which cannot be used: "
            "AttributeError: module '{package}.topology' has no attribute 'rink'",
        ),
        (
            "plugin.py",
            ".section:render",
            ".sections:render",
            "Section '{name}'",
            "trnbench_reports gives render = '{package}.sections:render', which cannot be used: "
            "ModuleNotFoundError: No module named '{package}.sections'",
        ),
        (
            "plugin.py",
            ".section:render",
            ".section:FAMILY",
            "Section '{name}'",
            "trnbench_reports gives render = '{package}.section:FAMILY', which cannot be used: it is str, no "
            "function",
        ),
        (
            "plugin.py",
            'base="trn1",',
            'base="trn1", identify="{package}.topology:here",',
            "Generation '{name}'",
            "trnbench_generations gives identify = '{package}.topology:here', which cannot be used: "
            "AttributeError: module '{package}.topology' has no attribute 'here'",
        ),
        (
            "kernel.py",
            ':scale"}',
            ':rescale"}',
            "Kernel '{package}_scale'",
            NAMED
            + "['nki'] = '{package}.kernel_nki:rescale', which cannot be used: unknown kernel 'rescale': "
            "did you mean scale, scale_inputs?",
        ),
        (
            "kernel.py",
            ':scale"}',
            ':scale", "numpy": "{package}.kernel:nothing"}',
            "Kernel '{package}_scale'",
            NAMED + "['numpy'] = '{package}.kernel:nothing', which cannot be used: AttributeError: module "
            "'{package}.kernel' has no attribute 'nothing'",
        ),
        (
            "kernel.py",
            ':scale"}',
            ':scale", "collective": "gossip"}',
            "Kernel '{package}_scale'",
            NAMED
            + "['collective'] = 'gossip', which cannot be used: it is not a collective of the emulator: "
            "all_reduce, all_gather, ",
        ),
        (
            "kernel.py",
            ':scale"}',
            ':scale", "nky": "{package}.kernel:_work"}',
            "Kernel '{package}_scale'",
            NAMED
            + "['nky'] = '{package}.kernel:_work', which cannot be used: nothing carries out kind 'nky'",
        ),
    ],
)
def test_references_that_lead_nowhere_are_found(
    project: Path, file: str, old: str, new: str, about: str, problem: str
) -> None:
    package = next(project.glob("probe_*")).name
    words = {"package": package, "name": package.replace("_", "-")}
    for word, value in words.items():
        new = new.replace(f"{{{word}}}", value)
    change(project, file, old, new)
    (finding,) = found(project, "references")
    assert finding.about == f"{about.format(**words)} of {words['name']} 0.1.0"
    assert finding.problem.startswith(problem.format(**words))
    assert finding.try_ == f"correct it in {package}.plugin, or install what it needs"


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


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("operand0=2.0", "operand0=2.0 / 0", "ZeroDivisionError: float division by zero (kernel_nki.py:22)"),
        ("return 2 * x", "return 2 * y", "failed: NameError: name 'y' is not defined (kernel_nki.py:34)"),
        ("return 2 * x", "return None", "returns NoneType, not arrays"),
        ("return 2 * x", "return x[0]", "output 0 has shape [128, 2048], the reference [2048]"),
        ("def scale_inputs", "def inputs", "its module has no scale_inputs (kernel_nki.py:13)"),
    ],
)
def test_sources_and_references_that_raise_are_found(project: Path, old: str, new: str, problem: str) -> None:
    change(project, "kernel_nki.py", old, new)
    findings = found(project, "values")
    assert len(findings) == 2
    assert all(problem in each.problem for each in findings), findings


def test_formula_that_claims_more_than_the_kernel_does_is_found(project: Path) -> None:
    change(project, "kernel.py", "    moved = 2.0", "    moved = 3.0")
    problems = [each.problem for each in found(project, "emulation")]
    assert "its formula claims 1,572,864 bytes of HBM, the recorded kernel does 1,048,576" in problems


def test_rate_above_the_clocks_is_found(project: Path) -> None:
    change(
        project,
        "facts.toml",
        'qualifier = "tensor", printed = "2", unit',
        'qualifier = "tensor", printed = "0.5", unit',
    )
    change(project, "plugin.py", 'base="trn1",', 'base="trn1", costs=HERE / "costs.toml",')
    (package,) = project.rglob("facts.toml")
    # A cost table that makes the tensor engine take an eighth of the cycles the array needs.
    package.with_name("costs.toml").write_text(
        'schema = 1\n[[instructions.nc_matmul]]\nengine = "tensor"\n'
        'cycles = "N_moving / 8"\nsource = "none"\n'
    )
    problems = [each.problem for each in found(project, "emulation")]
    assert any("of what the clocks allow" in each for each in problems), problems


def test_emulation_that_depends_on_the_clock_is_found(project: Path) -> None:
    change(
        project,
        "kernel.py",
        "    moved = 2.0",
        "    import time\n    moved = 1e-9 * time.perf_counter_ns() + 2.0",
    )
    problems = [each.problem for each in found(project, "emulation")]
    assert any(each.startswith("is another result the second time: ") for each in problems)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            'return Markup("")',
            "return runs[0].id",
            "raises for no run: IndexError: tuple index out of range (",
        ),
        ('return Markup("")', "return '<p>'", "returns a plain string"),
        ('return Markup("")', "return Markup('<img src=http://x.example/a.png>')", "loads or runs something"),
        ('return Markup("")', "return Markup('<p onclick=x()>')", "loads or runs something"),
        (
            'return Markup("")',
            "import time; return Markup(time.perf_counter_ns())",
            "is different the second time",
        ),
        ('return Markup("")', "return None", "returns NoneType"),
    ],
)
def test_sections_that_break_a_rule_are_found(
    project: Path, old: str, new: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_small_run", _one_run)
    change(project, "section.py", old, new)
    assert any(each.problem.startswith(problem) for each in found(project, "reports"))


_RUNS: list[Any] = []


def _one_run(subject: Any) -> Any:
    """The run that every section of the new project is shown, carried out once."""
    if not _RUNS:
        _RUNS.append(_SMALL_RUN(subject))
    return _RUNS[0]


_SMALL_RUN = reports._small_run

BACKEND = """
import time
import trnbench
from trnbench import Detection

class Machine:
    name = "probe"
    def detect(self): DETECT
    def environment(self): return ENVIRONMENT
    def unsupported(self, case, system): return ""
    def observe(self, case, system): raise NotImplementedError

@trnbench.hookimpl
def trnbench_backends():
    yield Machine()
"""


@pytest.mark.parametrize(
    ("number", "detect", "environment", "problem"),
    [
        (0, "raise OSError('no')", "{}", r"detect\(\) raises OSError: no \("),
        (1, "return None", "{}", r"detect\(\) returns NoneType"),
        (6, "raise SystemExit(0)", "{}", r"detect\(\) raises SystemExit"),
        (2, "return Detection(available=False)", "{}", "is not available and does not say why"),
        (3, "time.sleep(1.1); return Detection(available=True)", "{}", r"detect\(\) took \d+\.\d s$"),
        (4, "return Detection(available=True)", "{'Host Name': 'x'}", "environment has 'Host Name'"),
        (5, "return Detection(available=True)", "{'cards': [1]}", "environment cards is list"),
    ],
)
def test_backends_that_break_a_rule_are_found(
    tmp_path: Path, number: int, detect: str, environment: str, problem: str
) -> None:
    path = tmp_path / f"probe_backend_{number}.py"
    path.write_text(BACKEND.replace("DETECT", detect).replace("ENVIRONMENT", environment))
    (finding,) = check_plugin(str(path), checks=["backends"]).findings
    assert re.match(problem, finding.problem)


def test_what_trnbench_brings_keeps_the_contract() -> None:
    report = check_plugin("trnbench")
    assert "\n".join(map(str, report.findings)) == ""
    assert report.counted["emulation"] > 100


def test_command_prints_findings_and_fails(project: Path, trnbench: Trnbench) -> None:
    change(project, "section.py", 'return Markup("")', "return None")
    told = trnbench("plugin", "check", str(project), "--only", "reports")
    name = next(project.glob("probe_*")).name.replace("_", "-")
    assert told.returncode == 1
    assert (
        told.stdout
        == (
            f"reports: section {name}\n  returns NoneType\n"
            "  try:   return markupsafe.Markup, or an empty string\n"
        )
        * 2
    )
    assert told.stderr == f"{name} ({name} 0.1.0): 2 problems (looked at: reports 1)\n"


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
    with pytest.raises(BadInput) as error:
        check_plugin(f"{tmp_path}/")
    assert str(error.value) == (
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
        Report(("a (a 1)",), (finding,), {"facts": 3}).summary() == "a (a 1): 1 problems (looked at: facts 3)"
    )
    note = finding._replace(warning=True)
    assert str(note) == "facts: x\n  warning: is wrong\n  try:   mend it"
    assert Report(("a",), (note,), {}).passed
    assert Report(("a",), (note, note), {"facts": 3}).summary() == (
        "a: all well, 2 warnings (looked at: facts 3)"
    )
    assert Report(("a",), (note, finding), {"facts": 3}).summary() == (
        "a: 1 problems, 1 warning (looked at: facts 3)"
    )


def with_importer(project: Path, body: str) -> None:
    (plugin,) = project.rglob("plugin.py")
    package = plugin.parent.name
    (plugin.parent / "reading.py").write_text(f"import trnbench\n\n\ndef read(data):\n    {body}\n")
    plugin.write_text(
        plugin.read_text()
        + "\n\n@trnbench.hookimpl\ndef trnbench_importers():\n"
        + f'    yield trnbench.Importer(name="theirs", title="T", read="{package}.reading:read")\n'
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "return None",
            "importer 'theirs' cannot read an empty file: returned NoneType, not a run or a sequence of runs",
        ),
        (
            "return data[7]",
            "importer 'theirs' cannot read an empty file: failed: IndexError: index out of range",
        ),
    ],
)
def test_an_importer_that_fails_on_what_it_cannot_read_is_found(
    project: Path, body: str, problem: str
) -> None:
    with_importer(project, body)
    (finding,) = found(project, "importers")
    assert (finding.about, finding.problem) == ("importer theirs", problem)


def test_an_importer_that_refuses_in_words_breaks_no_promise(project: Path) -> None:
    with_importer(project, "return trnbench.loads(data)")
    report = check_plugin(str(project), checks=["importers"])
    assert (report.findings, report.counted) == ((), {"importers": 1})


def test_an_importer_that_cannot_be_imported_is_found(project: Path) -> None:
    with_importer(project, "return None")
    change(project, "plugin.py", "reading:read", "reading:missing")
    (finding,) = found(project, "importers")
    assert "reading:missing" in finding.problem
