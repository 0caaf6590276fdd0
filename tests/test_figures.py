"""`.ci/figures` counts by its rules, on a tree of a few lines, and `.ci/mutate` puts back what it changes."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

PROJECT = """
[project]
scripts = { trnbench = "trnbench.program:main" }
[project.entry-points.trnbench]
"""
FILES = {
    "harness/trnbench/__init__.py": "",
    "harness/trnbench/program.py": (
        "def main():\n    from trnbench.run import plan\n    raise SystemExit(plan.CODE)\n"
    ),
    "harness/trnbench/run/__init__.py": "",
    "harness/trnbench/run/plan.py": "from trnbench import facts\nfrom . import told\nCODE = 0\n",
    "harness/trnbench/run/told.py": '"""Text."""\nmade, size = 1, 2  # a comment\n',
    "harness/trnbench/facts.py": "",
    "plugins/trnbench_odd/spare.py": "if False:\n    import trnbench.facts\n",
}


@pytest.fixture(scope="module")
def figures(request: pytest.FixtureRequest) -> dict[str, Any]:
    return run_path(str(request.config.rootpath / ".ci" / "figures"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_every_figure_of_a_small_tree(figures: dict[str, Any], tree: Path) -> None:
    table = {figure.key: figure for figure in figures["figures"](tree)}
    assert {key: figure.value for key, figure in table.items()} == {
        "harness_lines": 8,
        "lines": 10,
        "files": 7,
        "entered": 6,
        "floors": 3,
        "floors_run": 2,
        "one_importer": 2,
        "lazy_imports": 1,
        "tokens": 25,
        "test_lines": 0,
        "pointing": pytest.approx(100 / 3),
        "file_names": 1,
        "long_functions": 0,
        "long_files": 0,
    }
    assert table["floors"].items == ["trnbench.program", "trnbench.run", "trnbench.facts"]
    assert table["one_importer"].items == [
        "harness/trnbench/run/plan.py (3)",
        "harness/trnbench/run/told.py (2)",
    ]
    assert table["pointing"].items == ["harness/trnbench/run/told.py:2 made"]
    assert "plugins/trnbench_odd/spare.py" not in table["entered"].items


def test_a_circle_counts_with_all_its_rooms(figures: dict[str, Any]) -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert figures["longest_chain"](graph) == ["a", "b", "c", "d"]


def test_names_that_point_and_names_that_the_field_knows(figures: dict[str, Any]) -> None:
    pointing = {"held", "uncopied", "observing", "collective_observing", "beside", "freight"}
    known = {"timing", "ring", "feed", "imported_run", "scoreboard", "__init__"}
    assert {stem for stem in pointing | known if figures["points"](stem)} == pointing


@pytest.fixture
def mutate(root: Path, tmp_path: Path) -> dict[str, Any]:
    """The script as it stands in another tree, whose files it may change."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "mutate").write_text((root / ".ci" / "mutate").read_text())
    return run_path(str(tmp_path / ".ci" / "mutate"))


def test_changes_of_a_line(mutate: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('def f(ä, b):\n    return not ä - (b) > 7 if "é" else b and True\n')
    changes = {(change.old, change.new) for change in mutate["Source"](Path("a.py")).mutations()}
    assert changes == {
        ("ä - (b", "ä + (b"),  # the parenthesis ends behind the operand
        ("ä - (b) > 7", "ä - (b) >= 7"),
        ("not ä - (b) > 7", "ä - (b) > 7"),
        ("7", "8"),
        ("7", "6"),
        ('"é"', '(not ("é"))'),
        ("b and True", "b or True"),
        ("True", "False"),
        ('not ä - (b) > 7 if "é" else b and True', "None"),
    }


def test_a_changed_file_is_put_back_whatever_happens(mutate: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("same = 1\n")
    before = path.stat().st_mtime_ns
    changes = sorted(mutate["Source"](Path("a.py")).mutations())

    def interrupted() -> None:
        with mutate["changed"](changes[0]):
            assert path.read_text() == "same = 0\n"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "same = 1\n"
    assert path.stat().st_mtime_ns == before


def test_of_a_command_the_tests_are_tried_that_type_it(mutate: dict[str, Any], tmp_path: Path) -> None:
    for name, content in (("cli/test_main.py", "pass"), ("report/test_page.py", 'invoke("compare")')):
        (tmp_path / "tests" / name).parent.mkdir(parents=True)
        (tmp_path / "tests" / name).write_text(content)
    commands = Path("harness/trnbench/cli")
    found = {name: mutate["Concerned"]()._mirrored(commands / name) for name in ("compare.py", "width.py")}
    assert found == {
        "compare.py": [Path("tests/report/test_page.py")],
        "width.py": [Path("tests/cli/test_main.py")],  # where none does, those of all commands
    }


@pytest.mark.parametrize(
    ("last", "verdict"), [("tests/b.py", "noticed"), ("tests/c.py", "unclear")], ids=["noticed", "unclear"]
)
def test_tests_that_fail_anyway_leave_the_verdict_to_the_others(
    mutate: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, verdict: str
) -> None:
    (tmp_path / "a.py").write_text("same = 1\n")

    def run_tests(selection: list[str], *_: object) -> tuple[int, str]:
        fails = "tests/a.py" in selection or (
            "tests/b.py" in selection and (tmp_path / "a.py").read_text() == "same = 0\n"
        )
        return int(fails), ""

    monkeypatch.setitem(mutate["tried"].__globals__, "run_tests", run_tests)
    change = min(mutate["Source"](Path("a.py")).mutations())
    outcome = mutate["tried"](change, [[Path("tests/a.py")], [Path(last)]], 1.0, 1)
    assert outcome.verdict == verdict
