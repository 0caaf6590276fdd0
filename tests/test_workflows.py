"""What runs elsewhere is what `.ci/run` runs: the workflow on each Python, the hooks of a commit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


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
