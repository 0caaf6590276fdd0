"""The conformance kit on what is loaded, facts, topologies, sections, backends and importers: each broken
promise is found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from checked_project import change, found
from messages import messages

from trnbench.testing import CHECKS, check_plugin
from trnbench.testing.checks import services

BROKEN = [
    pytest.param(*row.values, id=row.id, marks=[] if row.id.startswith("loading") else [pytest.mark.parts])
    for row in messages(Path(__file__).with_name("broken_promises.txt"))
]


@pytest.mark.parts
def test_new_project_breaks_no_promise(project: Path) -> None:
    # Its own tests ask for all checks: tests/plugins/test_new_project.py.
    quick = [each for each in CHECKS if each != "emulation"]
    report = check_plugin(str(project), checks=quick)
    assert report.findings == ()
    assert report.passed
    assert list(report.counted) == quick
    empty = {name for name, count in report.counted.items() if not count}
    assert empty <= {"backends", "importers", "pieces", "published", "workloads"}


@pytest.mark.parametrize(("change_of", "told", "_"), BROKEN)
def test_each_broken_promise_is_found(
    project: Path, change_of: str, told: str, _: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given: the check, the file, what goes for what; told: a line of each finding in turn."""
    monkeypatch.setattr(services, "_small_run", _one_run)
    check, file, old, *new = change_of.replace("\\n", "\n").split(" | ")
    change(project, file, old, "".join(new))
    findings = [f"{each.problem}; {each.try_}" for each in found(project, check)]
    for line, finding in zip(told.splitlines(), findings, strict=True):
        assert line in finding


@pytest.mark.parts
@pytest.mark.parametrize(("scope", "lacking"), [("instance", []), ("ultraserver", ["host_count"])])
def test_one_host_need_not_be_counted_and_a_version_needs_no_date(
    project: Path, scope: str, lacking: list[str]
) -> None:
    change(project, "facts.toml", '    { metric = "host_count", printed = "1" },\n', "")
    change(project, "facts.toml", 'date = "2026-01-01"\n', "")
    change(project, "facts.toml", 'scope = "instance"', f'scope = "{scope}"')
    change(project, "__init__.py", "Scope.INSTANCE", f"Scope.{scope.upper()}")
    problems = [f"{each.problem} {each.about}" for each in found(project, "facts")]
    assert [re.sub(r"(\S+) \1$", "it", problem) for problem in problems] == [
        f"no fact gives {metric} of it" for metric in lacking
    ]


def test_an_import_error_says_what_is_missing(project: Path) -> None:
    change(project, "__init__.py", "HERE = ", "import nothing_of_that_name\nHERE = ")
    (finding,) = found(project, "loading")  # the command stands in the same package
    assert "cannot be imported" in finding.problem
    assert "No module named 'nothing_of_that_name'" in finding.problem


def test_values_that_change_from_call_to_call_are_found(project: Path) -> None:
    change(project, "__init__.py", "HERE = ", "import itertools\nCOUNT = itertools.count()\nHERE = ")
    change(project, "__init__.py", "yield Section(name=", "yield Section(name=f'n{next(COUNT)}' or ")
    (finding,) = found(project, "loading")
    assert finding.problem == "yields other things the second time: section n0, section n1"


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
    def observe(self, case, system): raise trnbench.KernelError("it is asked what it detects alone")

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
    (plugin,) = project.rglob("__init__.py")
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
        ("return None", "returned NoneType, not a run or a sequence of runs"),
        ("return data[7]", "failed: IndexError: index out of range"),
    ],
)
def test_an_importer_that_fails_on_what_it_cannot_read_is_found(
    project: Path, body: str, problem: str
) -> None:
    with_importer(project, body)
    (finding,) = found(project, "importers")
    assert finding.about == "importer theirs"
    assert finding.problem == f"importer 'theirs' cannot read an empty file: {problem}"


def test_an_importer_that_refuses_in_words_breaks_no_promise(project: Path) -> None:
    with_importer(project, "return trnbench.loads(data)")
    report = check_plugin(str(project), checks=["importers"])
    assert (report.findings, report.counted) == ((), {"importers": 1})


def test_an_importer_that_cannot_be_imported_is_found(project: Path) -> None:
    with_importer(project, "return None")
    change(project, "__init__.py", "reading:read", "reading:missing")
    (finding,) = found(project, "importers")
    assert "reading:missing" in finding.problem


# Device memory that is wrong alike on every level is held against other documented figures ----


def rescaled(project: Path, metric: str, unit: str, to: str) -> None:
    """Every figure of `metric` keeps its digits and changes its unit, on all levels."""
    (facts,) = project.rglob("facts.toml")
    figures = rf'({metric}", printed = "[0-9.]+", unit = )"{unit}"'
    text, count = re.subn(figures, rf'\1"{to}"', facts.read_text())
    assert count >= 2
    facts.write_text(text)


@pytest.mark.parts
def test_a_thousandth_of_the_capacity_is_below_the_on_chip_memory_and_other_generations(
    project: Path,
) -> None:
    assert found(project, "facts") == []
    rescaled(project, "hbm_capacity", "GiB", "MiB")
    chip, others = found(project, "facts")
    assert chip.about == others.about
    for finding, more in (
        (chip, r"no more than the on-chip memory: 2 cores × 24 MiB of \S+ \(.*\)"),
        (others, r"1,0\d\d times off the nearest: .* of \S+ \(.*\)"),
    ):
        assert re.fullmatch(rf"is implausible: 32 MiB of \S+-device \(.*\), {more}", finding.problem)


@pytest.mark.parts
@pytest.mark.parametrize("unit", ["GB/s", "PB/s"])
def test_a_bandwidth_a_thousand_times_off_is_named_beside_the_nearest(project: Path, unit: str) -> None:
    rescaled(project, "hbm_bandwidth", "TB/s", unit)
    problems = [each.problem for each in found(project, "facts") if "hbm_bandwidth" in each.about]
    assert [bool(re.search(r"times off the nearest: .* of \S+ \(", each)) for each in problems] == [True]


def test_an_unusual_memory_is_no_mistake(project: Path) -> None:
    for printed in "41":
        figure = f'"hbm_bandwidth", printed = "{printed}"'
        change(project, "facts.toml", figure, figure.replace(printed, f"0.{printed}"))
    assert [each for each in found(project, "facts") if "implausible" in each.problem] == []


def test_a_check_under_a_name_of_the_cores_is_said(project: Path) -> None:
    (package,) = project.glob("probe_*")
    hook = "@trnbench.hookimpl\ndef trnbench_checks():\n    yield trnbench.Check("
    hook += "name='facts', check='x:y', order=1)\n"
    (package / "__init__.py").write_text((package / "__init__.py").read_text() + "\n\n" + hook)
    (finding,) = found(project, "loading")
    assert (finding.about, finding.try_) == ("check 'facts'", "another name")
    assert finding.problem == "a check of the core has this name: this one is never made"


@pytest.mark.parts
def test_a_check_that_yields_another_finding_is_no_pass(project: Path) -> None:
    (package,) = project.glob("probe_*")
    hook = "@trnbench.hookimpl\ndef trnbench_checks():\n    yield trnbench.Check("
    hook += f"name='odd', check='{package.name}.odd:odd', order=1)\n"
    (package / "__init__.py").write_text((package / "__init__.py").read_text() + "\n\n" + hook)
    (package / "odd.py").write_text("def odd(subject):\n    yield 'it'\n    yield ('it', 1)\n")
    (finding,) = found(project, "odd")
    assert finding.problem == "yields tuple, neither a name nor a trnbench.testing.Finding"


COSTS = """schema = 1

[[instructions.tensor_scaler]]
engine = "vector"
cycles = "N"
source = "hearsay"
"""


@pytest.mark.parts
def test_costs_of_a_misspelt_instruction_and_of_no_source_are_found(project: Path) -> None:
    (package,) = project.glob("probe_*")
    (package / "costs.toml").write_text(COSTS)
    change(project, "__init__.py", 'base="trn1"', 'costs=HERE / "costs.toml", base="trn1"')
    source, name = found(project, "facts")
    assert source.problem.startswith("name the unknown source 'hearsay': known: ")
    assert (name.problem, name.warning) == (
        "no other generation has it: did you mean 'tensor_scalar'?",
        True,
    )


POINTS = """schema = 1

[[group]]
family = "hbm"
kind = "measured"
hardware = "a"
system = "trn1.2xlarge"
operation = "hbm_read"
op = "read"
dtype = "bf16"
cores = "1"
metric = "bandwidth"
quantity = "bandwidth_bytes_per_s"
unit = "GB/s"
source = "a"
how_measured = "a"
clock = "device"
confidence = "low"
usable = "direct"
usable_note = "as stated"
shapes = "1 GiB"
shape = { bytes = 1073741824, cores = 1 }
points = [ { id = "t1-hbm-read-2c", printed = "800", value = 8e11 } ]
"""


@pytest.mark.parts
def test_a_point_under_the_id_of_another_generation_is_found(project: Path) -> None:
    (package,) = project.glob("probe_*")
    (package / "points.toml").write_text(POINTS)
    change(project, "__init__.py", 'base="trn1"', 'published=HERE / "points.toml", base="trn1"')
    (finding,) = found(project, "published")
    assert "id 't1-hbm-read-2c' is used twice" in finding.problem
