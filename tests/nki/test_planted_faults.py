"""Sixteen faults that a device would punish, of `planted/faults.toml`: each is named with its line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trnbench.errors import KernelError
from trnbench_emulator.nki import Trace
from trnbench_emulator.nki.shadow import RULES

HERE = Path(__file__).parent
FAULTS = tomllib.loads((HERE / "planted" / "faults.toml").read_text(encoding="utf-8"))["fault"]
FOUND = {fault["name"]: fault for fault in FAULTS if "found" in fault}
REFUSED = {fault["name"]: fault for fault in FAULTS if "refused" in fault}


def carried_out(snippets: Any, fault: dict[str, str]) -> Trace:
    values = np.arange(128 * 512, dtype=np.float32).reshape(128, 512)
    return snippets.run(
        "(a,) = args\n" + fault["kernel"],
        values,
        head=fault.get("head", ""),
        programs=2 if fault["name"] == "race" else 0,
        functional=True,
        shadow=True,
    )


def test_there_are_sixteen() -> None:
    assert len(FOUND) + len(REFUSED) == 16


@pytest.mark.parametrize("name", FOUND)
def test_a_finding_names_rule_line_tile_bytes_and_remedy(snippets: Any, name: str) -> None:
    rule = FOUND[name]["found"]
    findings = {finding.rule: finding for finding in carried_out(snippets, FOUND[name]).findings}
    assert rule in findings, findings
    finding = findings[rule]
    lines = (snippets.folder / "snippet.py").read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if text.endswith("# here"))
    assert finding.place.startswith(f"snippet.py:{line}")
    assert finding.bytes > 0
    assert "snippet.py:" in finding.tile
    assert finding.remedy
    assert rule != "overlapping-tiles" or len(re.findall(r"@sbuf at byte [\d,]+, of", finding.what)) == 2
    assert RULES[rule].source


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_the_line(snippets: Any, name: str) -> None:
    with pytest.raises(KernelError) as caught:
        carried_out(snippets, REFUSED[name])
    assert REFUSED[name]["refused"] in caught.value.what
    assert "snippet.py:" in caught.value.what


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if not rule.error])
def test_what_documents_leave_open_says_so(rule: Any) -> None:
    assert "not specified" in RULES[rule].source


@pytest.mark.parametrize("rule", RULES)
def test_the_docs_name_every_rule_and_its_level(rule: str) -> None:
    text = (HERE.parents[1] / "docs" / "nki.md").read_text(encoding="utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith(f"| `{rule}` |"))
    assert row.endswith("| error |" if RULES[rule].error else "| warning |")
