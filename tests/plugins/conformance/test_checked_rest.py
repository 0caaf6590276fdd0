"""The conformance kit on sections, backends and importers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from checked_project import change, found

from trnbench.testing import check_plugin
from trnbench.testing.checks import services


@pytest.mark.parts
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
    monkeypatch.setattr(services, "_small_run", _one_run)
    change(project, "section.py", old, new)
    assert any(each.problem.startswith(problem) for each in found(project, "reports"))


_RUNS: list[Any] = []


def _one_run(subject: Any) -> Any:
    """The run that every section of the new project is shown, carried out once."""
    if not _RUNS:
        _RUNS.append(_SMALL_RUN(subject))
    return _RUNS[0]


_SMALL_RUN = services._small_run

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
