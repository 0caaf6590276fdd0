"""A new plugin project with one promise broken, and what the check of it finds."""

from __future__ import annotations

from pathlib import Path

from trnbench.testing import Finding, check_plugin


def change(project: Path, file: str, old: str, new: str) -> None:
    (path,) = project.rglob(file)
    text = path.read_text()
    assert old in text, f"{old!r} is not in {file}"
    path.write_text(text.replace(old, new))


def found(project: Path, check: str) -> list[Finding]:
    report = check_plugin(str(project), checks=[check])
    assert {each.check for each in report.findings} <= {check}
    return list(report.findings)
