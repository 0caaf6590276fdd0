"""Fifteen faults that a device would punish: each file of `planted` has one, and the line that is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nki_machine import V3

from trnbench.errors import KernelError
from trnbench_emulator.nki import Trace, load_kernel, record
from trnbench_emulator.nki.shadow import RULES

FOLDER = Path(__file__).parent / "planted"

FOUND = {
    "uninitialised_read": ("uninitialised", 14),
    "unwritten_output": ("unwritten-output", 10),
    "race": ("race", 18),
    "bank_crossing": ("bank-crossing", 14),
    "overlapping_groups": ("overlapping-groups", 15),
    "overlap_in_place": ("overlapping-copy", 13),
    "overlapping_tiles": ("overlapping-tiles", 15),
    "carried_value": ("carried-value", 15),
}
"""File → rule of the finding, and the line it names."""

REFUSED = {
    "sbuf_overflow": "tiles in use hold 262,144 bytes per partition",
    "partitions": "256 partitions of float32[256, 512]@sbuf exceed the 128",
    "product_type": "stationary has dtype int32",
    "dma_bounds": "an index is outside",
    "missing_mask": "outside",
    "shapes": "data1 has 128 × 512 elements",
    "index_range": "[400:600] is outside dimension 1",
}
"""File → what the error says."""


def carried_out(name: str) -> Trace:
    kernel, _, _ = load_kernel(f"{FOLDER / name}.py::kernel", nki="trnbench")
    values = np.arange(128 * 512, dtype=np.float32).reshape(128, 512)
    kernel = kernel[2] if name == "race" else kernel
    return record(kernel, (values,), machine=V3, functional=True, shadow=True)


def test_there_are_fifteen() -> None:
    assert {*FOUND, *REFUSED} == {file.stem for file in FOLDER.glob("*.py")}
    assert len(FOUND) + len(REFUSED) == 15


@pytest.mark.parametrize("name", FOUND)
def test_a_finding_names_rule_line_tile_bytes_and_remedy(name: str) -> None:
    rule, line = FOUND[name]
    findings = {finding.rule: finding for finding in carried_out(name).findings}
    assert rule in findings, findings
    finding = findings[rule]
    assert finding.place.startswith(f"{name}.py:{line}")
    assert finding.bytes > 0
    assert f"{name}.py:" in finding.tile
    assert finding.remedy
    assert RULES[rule].source


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_the_line(name: str) -> None:
    with pytest.raises(KernelError) as caught:
        carried_out(name)
    assert REFUSED[name] in caught.value.what
    assert f"{name}.py:" in caught.value.what


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if not rule.error])
def test_what_documents_leave_open_says_so(rule: Any) -> None:
    assert "not specified" in RULES[rule].source


@pytest.mark.parametrize("rule", RULES)
def test_the_docs_name_every_rule_and_its_level(rule: str) -> None:
    text = (FOLDER.parents[2] / "docs" / "nki.md").read_text(encoding="utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith(f"| `{rule}` |"))
    assert row.endswith("| error |" if RULES[rule].error else "| warning |")
