"""The conformance kit on what is loaded, facts and topologies: each broken promise is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_project import change, found

from trnbench.testing import CHECKS, check_plugin


@pytest.mark.parts
def test_new_project_breaks_no_promise(project: Path) -> None:
    # Its own tests ask for all checks: tests/plugins/test_new_project.py.
    quick = [each for each in CHECKS if each != "emulation"]
    report = check_plugin(str(project), checks=quick)
    assert report.findings == ()
    assert report.passed
    assert list(report.counted) == quick
    assert all(
        count
        for name, count in report.counted.items()
        if name not in ("backends", "importers", "pieces", "published", "workloads")
    )


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


@pytest.mark.parts
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


@pytest.mark.parts
def test_one_way_cable_is_found(project: Path) -> None:
    change(
        project,
        "topology.py",
        "assembly.join(device, host, pcie.name)",
        "assembly.send(device, host, pcie.name)",
    )
    problems = [each.problem for each in found(project, "topologies")]
    assert any(each.startswith("symmetry: 4 links have no way back") for each in problems)


@pytest.mark.parts
def test_links_that_do_not_add_up_are_found(project: Path) -> None:
    change(project, "topology.py", "scaled(whole, 1 / 2,", "scaled(whole, 1 / 3,")
    problems = [each.problem for each in found(project, "topologies")]
    assert any(each.startswith("sum of links, cables of a device: ") for each in problems)


@pytest.mark.parts
def test_links_held_against_nothing_are_found(project: Path) -> None:
    change(project, "topology.py", "budgets=[total]", "budgets=[]")
    (finding,) = found(project, "topologies")
    assert finding.problem == "no Budget says what they add up to"


@pytest.mark.parts
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


@pytest.mark.parts
def test_graph_that_changes_is_found(project: Path) -> None:
    change(
        project,
        "topology.py",
        "    assembly = Assembly(system.name)",
        "    import time\n    assembly = Assembly(f'{system.name} at {time.perf_counter_ns()}')",
    )
    (finding,) = found(project, "topologies")
    assert finding.problem == "is another graph the second time"
