"""What CI servers take as JUnit XML."""

from __future__ import annotations

import re
from xml.etree import ElementTree

# What both the schema of Ant's JUnit task (by Windy Road) and that of Jenkins' xUnit plugin (junit-10) allow:
# attributes that have to be there, those that may, and children in their order.
NAMES = r"(?s).*"
COUNT = r"\d+"
SECONDS = r"\d+\.\d+"
SCHEMA: dict[str, tuple[dict[str, str], dict[str, str], tuple[str, ...]]] = {
    "testsuites": ({}, {"tests": COUNT, "failures": COUNT, "errors": COUNT, "time": SECONDS}, ("testsuite",)),
    "testsuite": (
        {
            "name": NAMES,
            "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
            "hostname": r"\S+",
            "tests": COUNT,
            "failures": COUNT,
            "errors": COUNT,
            "time": SECONDS,
            "id": COUNT,
            "package": NAMES,
        },
        {"skipped": COUNT},
        ("properties", "testcase", "system-out", "system-err"),
    ),
    "properties": ({}, {}, ("property",)),
    "property": ({"name": r"(?s).+", "value": NAMES}, {}, ()),
    "testcase": (
        {"name": r"(?s).+", "classname": r"\S+", "time": SECONDS},
        {},
        ("skipped", "error", "failure"),
    ),
    "failure": ({"type": r"\S+", "message": NAMES}, {}, ()),
    "error": ({"type": r"\S+", "message": NAMES}, {}, ()),
    "skipped": ({}, {"message": NAMES}, ()),
    "system-out": ({}, {}, ()),
    "system-err": ({}, {}, ()),
}
MANY = ("testsuite", "testcase", "property")


def valid(element: ElementTree.Element) -> None:
    """Asserts that `element` and all in it are what both schemas allow."""
    needed, allowed, children = SCHEMA[element.tag]
    assert set(needed) <= set(element.attrib) <= set(needed) | set(allowed)
    for name, value in element.attrib.items():
        assert re.fullmatch({**needed, **allowed}[name], value), (element.tag, name, value)
    places = [children.index(each.tag) for each in element]
    assert places == sorted(places)
    assert all(places.count(children.index(tag)) <= 1 for tag in children if tag not in MANY)
    for each in element:
        valid(each)
