"""A gate as JUnit XML, of the elements and attributes that CI servers agree on."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from xml.etree import ElementTree

from trnbench.compare.gate.finding import Finding, Gated, Outcome

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold, escaped or not."""


def junit(gated: Gated) -> bytes:
    """One test suite; a test case for each finding, named by its case, its class the system and the kernel.

    What is broken is a failure with the rule as its type; what is inconclusive is skipped, or with `strict` a
    failure.
    """
    comparison = gated.comparison
    counts = Counter(_element(each, strict=gated.strict) for each in gated.findings)
    when = datetime.fromisoformat(comparison.after.created).replace(tzinfo=None)
    told = {
        "name": f"trnbench gate {comparison.after.id} against {comparison.before.id}",
        "tests": str(len(gated.findings)),
        "failures": str(counts["failure"]),
        "errors": "0",
        "skipped": str(counts["skipped"]),
        "time": _seconds(sum(_time(each) for each in gated.findings)),
    }
    top = ElementTree.Element(
        "testsuites", _legal({name: told[name] for name in ("tests", "failures", "errors", "time")})
    )
    suite = ElementTree.SubElement(
        top,
        "testsuite",
        _legal({
            **told,
            "timestamp": when.isoformat(timespec="seconds"),
            "hostname": "localhost",  # the schema asks for one; whose machine it was is nobody's business
            "id": "0",
            "package": "trnbench",
        }),
    )  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("against", comparison.before.id),
        ("evidence", str(comparison.after.grade)),
        ("trnbench", comparison.after.tool_version),
        *((f"differs.{number}", each) for number, each in enumerate(comparison.differs, start=1)),
    ):
        ElementTree.SubElement(properties, "property", _legal({"name": name, "value": value}))
    for each in gated.findings:
        _case(suite, each, strict=gated.strict)
    ElementTree.SubElement(suite, "system-out")
    ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(top)
    text: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _case(suite: ElementTree.Element, each: Finding, *, strict: bool) -> None:
    name = each.id.partition("::")[2] or each.id or f"rule {each.rule}"
    classname = ".".join(part.replace(".", "_") for part in (each.system, each.kernel) if part) or "trnbench"
    case = ElementTree.SubElement(
        suite, "testcase", _legal({"classname": classname, "name": name, "time": _seconds(_time(each))})
    )
    element = _element(each, strict=strict)
    if element == "failure":
        kind = each.kind if each.outcome is Outcome.BROKEN else "inconclusive"
        failure = ElementTree.SubElement(case, element, _legal({"message": each.what, "type": kind}))
        failure.text = _text(
            "\n".join((f"rule {each.rule}: {each.what}", *(f"cause: {one}" for one in each.causes)))
        )
    elif element == "skipped":
        ElementTree.SubElement(case, element, _legal({"message": f"inconclusive: {each.what}"}))


def _element(each: Finding, *, strict: bool) -> str:
    if each.outcome is Outcome.BROKEN or (strict and each.outcome is Outcome.INCONCLUSIVE):
        return "failure"
    return "skipped" if each.outcome is Outcome.INCONCLUSIVE else ""


def _time(each: Finding) -> float:
    """Seconds of the case itself, where it has a time."""
    change = each.change
    return change.after.value or 0.0 if change is not None and change.unit == "s" else 0.0


def _seconds(value: float) -> str:
    return f"{value:.9f}"


def _legal(attributes: dict[str, str]) -> dict[str, str]:
    return {name: _text(value) for name, value in attributes.items()}


def _text(value: str) -> str:
    return _ILLEGAL.sub("\ufffd", value)
