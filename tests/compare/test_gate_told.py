"""What CI servers are told of a gate: JUnit XML, a summary, annotations."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import msgspec
import pytest
from junit_schema import valid
from paired_runs import case, emulated, measured, run_of

from trnbench import Gated, Status
from trnbench.compare.gate.judgement import judged
from trnbench.compare.gate.rule import MOST_ANNOTATIONS, MOST_ROWS, annotation_lines, junit, summary

HOSTILE = "x\x00\x1b[31m]]>&<b>'\"\n::error::fake %0A | `y`"


@pytest.fixture
def gated() -> Gated:
    """Each kind of finding once, with words that no format likes."""
    slow = emulated(case("slow", instance="trn2-16.48xlarge", name=HOSTILE), 1.0)
    sound, gone = emulated(case("sound"), 1.0), emulated(case("gone"), 1.0)
    unsure = measured(case("unsure"), ())
    failed = emulated(case("failed"), 1.0, status=Status.FAILED, reason_text=HOSTILE, time_s=None)
    return judged(
        run_of(
            msgspec.structs.replace(slow, time_s=2.0),
            sound,
            unsure,
            failed,
            id="b",
            environment={"a": HOSTILE},
        ),
        run_of(slow, sound, gone, unsure, environment={"a": "1"}),
    )


@pytest.mark.parametrize("strict", [False, True])
def test_the_xml_is_as_the_schemas_want_it(gated: Gated, strict: bool) -> None:
    top = ElementTree.fromstring(junit(msgspec.structs.replace(gated, strict=strict)))
    valid(top)
    (suite,) = top
    told = {name: int(suite.attrib[name]) for name in ("tests", "failures", "skipped")}
    assert told == {"tests": 5, "failures": 4 if strict else 3, "skipped": 0 if strict else 1}
    assert len(suite.findall("testcase/failure")) == told["failures"]
    assert len(suite.findall("testcase/skipped")) == told["skipped"]


def test_a_failure_says_rule_and_cause(gated: Gated) -> None:
    top = ElementTree.fromstring(junit(gated))
    (slow,) = (each for each in top.iter("testcase") if each.attrib["classname"] == "trn2-16_48xlarge.slow")
    failure = slow.find("failure")
    assert failure.attrib == {"type": "slower", "message": "time +100.0 % (exact), rule usual allows 0 %"}
    assert failure.text == (
        "rule usual: time +100.0 % (exact), rule usual allows 0 %\n"
        "cause: its inputs are unknown: a run of schema 3 or before does not keep them"
    )
    assert slow.attrib["time"] == "2.000000000"


def test_an_annotation_is_one_line_whatever_is_in_it(gated: Gated) -> None:
    lines = list(annotation_lines(gated))
    assert len(lines) == 4
    form = re.compile(r"::(error|warning) title=[^,:\n]*::[^\n\r]*")
    assert all(form.fullmatch(each) for each in lines)
    assert [each.split()[0] for each in lines] == ["::error", "::error", "::error", "::warning"]
    (failed,) = (each for each in lines if "failed:" in each)
    assert "%0A::error::fake %250A" in failed


def test_strict_makes_errors_of_warnings(gated: Gated) -> None:
    lines = list(annotation_lines(msgspec.structs.replace(gated, strict=True)))
    assert {each.split()[0] for each in lines} == {"::error"}


def test_a_summary_is_markdown_whose_cells_stay_in_their_place(gated: Gated) -> None:
    text = summary(gated)
    lines = text.splitlines()
    assert lines[0] == "## trnbench gate: failed"
    assert lines[2] == "Run `b` (emulated) against `a`: 3 failed, 1 inconclusive, 1 passed."
    rows = [each for each in lines if each.startswith("| ") and "---" not in each]
    assert {len(re.findall(r"(?<!\\)\|", each)) for each in rows} == {8}
    assert "<b>" not in text
    assert "### What else differs" in lines


def test_a_long_gate_is_cut_and_says_so() -> None:
    cases = [emulated(case(f"k{number}"), 1.0) for number in range(300)]
    after = [msgspec.structs.replace(each, time_s=2.0) for each in cases]
    gated = judged(run_of(*after, id="b"), run_of(*cases))
    assert f"| and {300 - MOST_ROWS} more |" in summary(gated)
    lines = list(annotation_lines(gated))
    assert len(lines) == MOST_ANNOTATIONS + 1
    assert lines[-1] == f"::error title=trnbench gate::and {300 - MOST_ANNOTATIONS} more failed"
