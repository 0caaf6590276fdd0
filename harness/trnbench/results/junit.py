"""JUnit XML, of the elements and attributes that CI servers agree on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from xml.etree import ElementTree

from trnbench.results.measurement import Measurement, Reason, Status
from trnbench.results.run import Run

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold, escaped or not."""


class Tested(NamedTuple):
    """`outcome`: an element of JUnit's, `failure`, `error` or `skipped`, or "" for a test that passed."""

    system: str
    kernel: str
    name: str
    time_s: float
    outcome: str = ""
    kind: str = ""
    message: str = ""
    text: str = ""


class Suite(NamedTuple):
    """`created`: ISO 8601. Properties may share a name."""

    name: str
    created: str
    properties: Sequence[tuple[str, str]]
    cases: Sequence[Tested]


def document(suites: Sequence[Suite]) -> bytes:
    """The XML, in UTF-8. A test case's class is its system and kernel."""
    all_of = _counted([case for suite in suites for case in suite.cases])
    del all_of["skipped"]
    top = ElementTree.Element("testsuites", _legal(all_of))
    for number, suite in enumerate(suites):
        _suite(top, number, suite)
    ElementTree.indent(top)
    text: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def write(runs: Sequence[Run]) -> bytes:
    """Runs as JUnit XML, a suite each.

    What failed is an error, what is suspect or came out wrong a failure, what was skipped or is inconclusive
    is skipped.
    """
    return document([_run(run) for run in runs])


def _run(run: Run) -> Suite:
    told = (("evidence", str(run.grade)), ("backend", run.backend), ("trnbench", run.tool_version))
    return Suite(
        f"trnbench run {run.id}",
        run.created,
        told,
        [_measured(measurement) for measurement in run.measurements],
    )


def _measured(each: Measurement) -> Tested:
    outcome, kind = "", str(each.status)
    if each.status is Status.FAILED:
        wrong = each.reason is Reason.WRONG_RESULT
        outcome, kind = "failure" if wrong else "error", str(each.reason).replace(" ", "-")
    elif each.status is Status.SUSPECT:
        outcome = "failure"
    elif each.status in (Status.SKIPPED, Status.INCONCLUSIVE):
        outcome = "skipped"
    name = each.id.partition("::")[2] or each.id
    said = f"{each.status}: {each.reason_text}" if outcome == "skipped" else each.reason_text
    return Tested(
        each.case.instance, each.case.kernel, name, each.time_s or 0.0, outcome, kind, said, each.reason_text
    )


def _suite(top: ElementTree.Element, number: int, suite: Suite) -> None:
    when = datetime.fromisoformat(suite.created).replace(tzinfo=None)
    element = ElementTree.SubElement(
        top,
        "testsuite",
        _legal({
            "name": suite.name,
            **_counted(suite.cases),
            "timestamp": when.isoformat(timespec="seconds"),
            "hostname": "localhost",  # the schema asks for one; whose machine it was is nobody's business
            "id": str(number),
            "package": "trnbench",
        }),
    )  # fmt: skip
    properties = ElementTree.SubElement(element, "properties")
    for name, value in suite.properties:
        ElementTree.SubElement(properties, "property", _legal({"name": name, "value": value}))
    for case in suite.cases:
        _case(element, case)
    ElementTree.SubElement(element, "system-out")
    ElementTree.SubElement(element, "system-err")


def _counted(cases: Iterable[Tested]) -> dict[str, str]:
    cases = tuple(cases)
    outcomes = Counter(case.outcome for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes["failure"]),
        "errors": str(outcomes["error"]),
        "skipped": str(outcomes["skipped"]),
        "time": _seconds(sum(case.time_s for case in cases)),
    }


def _case(suite: ElementTree.Element, each: Tested) -> None:
    classname = ".".join(part.replace(".", "_") for part in (each.system, each.kernel) if part) or "trnbench"
    case = ElementTree.SubElement(
        suite, "testcase", _legal({"classname": classname, "name": each.name, "time": _seconds(each.time_s)})
    )
    if each.outcome == "skipped":
        ElementTree.SubElement(case, "skipped", _legal({"message": each.message}))
    elif each.outcome:
        told = ElementTree.SubElement(
            case, each.outcome, _legal({"message": each.message, "type": each.kind})
        )
        told.text = _text(each.text)


def _seconds(value: float) -> str:
    return f"{value:.9f}"


def _legal(attributes: dict[str, str]) -> dict[str, str]:
    return {name: _text(value) for name, value in attributes.items()}


def _text(value: str) -> str:
    return _ILLEGAL.sub("\ufffd", value)
