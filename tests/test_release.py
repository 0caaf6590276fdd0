"""The version stands in one place, and the checklist of a release is what `.ci/release` carries out."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

import trnbench


def project_metadata(root: Path) -> ProjectMetadata[PluginManager]:
    return ProjectMetadata(str(root), PluginManager())


def test_what_builds_the_package_reads_the_version_that_is_imported(root: Path) -> None:
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]
    assert project_metadata(root).version == trnbench.__version__ == metadata.version("trnbench")


def test_another_version_is_built_where_that_line_says_so(root: Path, tmp_path: Path) -> None:
    source = root / "harness" / "trnbench" / "version.py"
    other = tmp_path / source.relative_to(root)
    other.parent.mkdir(parents=True)
    other.write_text(source.read_text().replace(f'"{trnbench.__version__}"', '"7.8.9"'))
    (tmp_path / "pyproject.toml").write_text((root / "pyproject.toml").read_text())
    assert project_metadata(tmp_path).version == "7.8.9"


def test_the_version_costs_no_look_into_what_is_installed() -> None:
    code = "import sys, trnbench; trnbench.__version__; print('importlib.metadata' in sys.modules)"
    # Without site: an editable install may look there itself.
    paths = [path for path in sys.path if path]
    started = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert started.stdout == "False\n"


def test_each_step_of_the_checklist_is_one_of_the_script(root: Path) -> None:
    checklist = (root / ".github" / "RELEASING.md").read_text()
    script = (root / ".ci" / "release").read_text()
    written = re.findall(r"^(\d+)\. \*\*(.+?)\.\*\*", checklist, re.MULTILINE)
    carried_out = re.findall(r'^step "(\d+)\. (.+)"$', script, re.MULTILINE)
    assert written == carried_out
    assert [int(number) for number, _ in written] == list(range(1, len(written) + 1))


@pytest.mark.parametrize(
    ("heading", "code"),
    [("## {} (unreleased)", 0), ("## {} (2026-12-31)", 0), ("## 0.0.7", 1), ("## {}9", 1)],
)
def test_the_first_step_compares_version_and_changelog(
    root: Path, tmp_path: Path, heading: str, code: int
) -> None:
    script = (root / ".ci" / "release").read_text().partition('step "2.')[0]
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "release").write_text(script)
    (tmp_path / "harness" / "trnbench").mkdir(parents=True)
    (tmp_path / "harness" / "trnbench" / "version.py").write_text(f'VERSION = "{trnbench.__version__}"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        f"# Changelog\n\n{heading.format(trnbench.__version__)}\n\n## 0.0.1\n"
    )
    ended = subprocess.run(
        ["bash", tmp_path / ".ci" / "release"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == code, ended.stderr
    assert ("CHANGELOG.md" in ended.stderr) == bool(code)


# What runs elsewhere is what `.ci/run` runs: the workflow on each Python, the hooks of a commit ------


def commands(script: str, begin: str, end: str) -> list[str]:
    """The lines of `.ci/run` between two titles that start a program."""
    _, _, text = script.partition(f'log "{begin}"')
    text, found, _ = text.partition(f'log "{end}')
    assert found, f".ci/run has no title {end!r} below {begin!r}"
    return [line for line in text.splitlines() if line and not line.startswith(("#", "log "))]


def test_the_hooks_of_a_commit_are_what_lint_runs(root: Path) -> None:
    text = (root / ".pre-commit-config.yaml").read_text()
    entries = re.findall(r"^ +entry: (.+)$", text, re.MULTILINE)
    assert entries == commands((root / ".ci" / "run").read_text(), "lint", "tests")
    assert len(entries) == 4
    assert set(re.findall(r"repo: (.+)", text)) == {"local"}, "a hook of its own version"
    assert text.count("language: system") == text.count("pass_filenames: false") == len(entries)


def test_the_workflow_runs_every_version_of_python_that_is_promised(root: Path) -> None:
    workflow = (root / ".github" / "workflows" / "ci.yml").read_text()
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    promised = [
        classifier.rpartition(" ")[2]
        for classifier in project["classifiers"]
        if re.search(r"Python :: 3\.\d+$", classifier)
    ]
    (versions,) = re.findall(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    assert [version.strip('"') for version in versions.split(", ")] == promised
    assert project["requires-python"] == f">={promised[0]}"
    assert "- run: .ci/run\n" in workflow


# Pages of decisions: short, in one form, in plain sentences, and all of them listed ------------------

HEADINGS = ["Context", "Decision", "Consequences", "What would change it"]
PAGES = sorted(path.name for path in (Path(__file__).parents[1] / "docs" / "decisions").glob("*.md"))


def sentences(text: str) -> list[str]:
    """Of prose and lists; tables, headings, pictures and marks are left out."""
    prose = re.sub(r"^(\||#|!|<!--).*$", "\n", text, flags=re.MULTILINE)
    blocks = re.split(r"\n\s*\n|\n- ", prose)
    return [part for block in blocks for part in re.split(r"(?<=[.:?])\s+", " ".join(block.split())) if part]


def test_every_page_is_listed_and_the_list_is_linked(root: Path) -> None:
    folder = root / "docs" / "decisions"
    linked = re.findall(r"^\| \[.+?\]\((.+?)\)", (folder / "README.md").read_text(), re.MULTILINE)
    assert sorted([*linked, "README.md"]) == PAGES
    assert "](decisions/README.md)" in (root / "docs" / "README.md").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short_and_plain(root: Path, name: str) -> None:
    text = (root / "docs" / "decisions" / name).read_text()
    assert text.count("\n") <= 80
    assert [sentence for sentence in sentences(text) if len(sentence.split()) > 25] == []
    if name != "README.md":
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
