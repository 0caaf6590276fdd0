"""docs/fidelity.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from comparison import comparison

from trnbench.results.fidelity import COUNTED, Use
from trnbench_fidelity.point import FAMILIES, Kind, PublishedPoint, Usable
from trnbench_fidelity.statistics import row_of
from trnbench_fidelity.summary import broken_cells, broken_of, broken_text, coverage, of_rows


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "fidelity.md").read_text(encoding="utf-8")


def test_what_holds_is_short(page: str) -> None:
    assert page.count("\n") <= 200


def test_every_page_of_research_is_listed(root: Path) -> None:
    folder = root / "docs" / "research"
    pages = sorted(folder.glob("*.md"))
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[[^]]*\]\(([\w-]+\.md)\)", index, re.MULTILINE)
    assert sorted(listed) == sorted(each.name for each in pages if each.name != "README.md")


def test_every_key_is_explained(page: str) -> None:
    named = set(re.findall(r"`(\w+)`", page))
    assert set(PublishedPoint.__struct_fields__) - named == {"generation"}
    assert {str(each) for each in (*Kind, *Usable)} <= named


def test_every_use_and_family_is_there(page: str) -> None:
    for use in Use:
        (line,) = re.findall(rf"^\| `{use}` \|.*$", page, re.MULTILINE)
        assert line.endswith(f"| {'yes' if use in COUNTED else 'no'} |")
    for family in FAMILIES:
        assert f"`{family}`" in page


def test_the_command_on_the_page_is_there(page: str, root: Path) -> None:
    (command,) = re.findall(r"^python (\.ci/\w+) public PATH", page, re.MULTILINE)
    assert (root / command).is_file()  # tests/fidelity/test_sources.py runs it


# The line above a table: what it counts, and why not the rest ----------------------------------------


@pytest.mark.parametrize(
    ("uses", "text"),
    [
        ({"emulated": 1}, "Counts 1 of 1 published point (100 %): 1 measured."),
        ({}, "Counts 0 of 0 published points: 0 measured."),
        (
            {"emulated": 190, "contradicted": 11, "bound": 28, "not used": 88, "not emulated": 4},
            "Counts 229 of 321 published points (71 %): 201 measured and 28 bounds. Not counted: 88 lack "
            "detail or measure something else; 4 are refused by the model.",
        ),
        (
            {"emulated": 1, "bound": 1, "needs source": 1, "no kernel": 1},
            "Counts 2 of 4 published points (50 %): 1 measured and 1 bound. Not counted: 1 need the source "
            "of a public kernel; 1 have no kernel to run.",
        ),
    ],
)
def test_the_line(uses: dict[str, int], text: str) -> None:
    assert coverage(uses) == text


def test_a_refused_kernel_lowers_coverage() -> None:
    rows = [comparison("a", 0.1), comparison("b", 0.2), comparison("ours", 1.0, use=Use.SAME_OPERATION)]
    refused = [*rows[:1], comparison("b", use=Use.NOT_EMULATED)]
    assert coverage(of_rows([row_of("hbm", "", "g", rows)])).startswith("Counts 2 of 2 ")
    assert coverage(of_rows([row_of("hbm", "", "g", refused)])).startswith("Counts 1 of 2 ")


def test_broken_inequalities_are_worst_first() -> None:
    points = [
        comparison("held", -1.0, use=Use.BOUND),
        comparison("slightly", 0.05, use=Use.BOUND, source="github:a/b@0123:x"),
        comparison("worst", 1.0, use=Use.BOUND, source="c (gone)"),
        comparison("unknown", use=Use.BOUND),
        comparison("time", 2.0),
    ]
    bounds, broken = broken_of(points)
    assert (bounds, [each.id for each in broken]) == (3, ["worst", "slightly"])
    assert broken_text(bounds, broken) == "Broken: 2 of 3 published inequalities, the worst ×2.7 (worst)."
    assert broken_cells(broken[0]) == ("worst", "1 s", "2.72 s", "×2.7", "c")
    assert broken_cells(broken[1])[3:] == ("×1.05", "github:a/b")
    assert broken_text(1, []) == "Broken: none of 1 published inequalities."
