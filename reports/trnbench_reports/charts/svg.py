"""From a Vega-Lite dictionary to SVG that can stand in a strict page, or nothing when that is impossible."""

from __future__ import annotations

import json
import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from markupsafe import Markup

SVG = "http://www.w3.org/2000/svg"
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "currentColor",
        "domainOpacity": 0.4,
        "gridColor": "currentColor",
        "gridOpacity": 0.1,
        "labelColor": "currentColor",
        "labelFontSize": 12,
        "tickColor": "currentColor",
        "tickOpacity": 0.4,
        "tickSize": 4,
        "titleColor": "currentColor",
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "text": {"fill": "currentColor", "fontSize": 12},
}
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_LABEL = re.compile(r"^(c[0-9a-f]{10}|-)\|(\d+)\|(.*)$", re.DOTALL)
_REFERENCE = re.compile(r"^url\(#([^)]+)\)$")
_DEFAULTS = (
    ("opacity", "1"),
    ("aria-hidden", "true"),
    ("transform", "translate(0,0)"),
    ("font-weight", "normal"),
    ("stroke-width", "1"),
    ("x2", "0"),
    ("y2", "0"),
)
_DROP = ("xmlns:xlink", "version", "class", "font-family", "pointer-events", "role", "aria-roledescription")


def draw(spec: dict[str, Any], prefix: str, label: str) -> Markup | None:
    """The chart as markup; ids start with `prefix`, `label` is what a screen reader says of it.

    Marks whose `description` reads "<case>|<series>|<words>" get data-id, data-s and a title.
    Returns None when vl_convert is not installed.
    """
    from markupsafe import Markup

    raw = _convert(json.dumps({**spec, "config": CONFIG}, sort_keys=True))
    if raw is None:
        return None
    root = ElementTree.fromstring(raw)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{SVG}}}")
    _share_clips(root)
    _tidy(root, prefix, {})
    root.attrib.clear()
    width, height = _size(raw)
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", width)
    root.set("height", height)
    root.set("class", "chart")
    root.set("role", "img")
    root.set("tabindex", "0")
    root.set("aria-label", label)
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=True))


@lru_cache(maxsize=256)
def _convert(text: str) -> str | None:
    # The start of the converter costs most of a second; a spec seen before costs nothing.
    try:
        import vl_convert
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(vl_convert.vegalite_to_svg(json.loads(text)))


def _size(raw: str) -> tuple[str, str]:
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', raw)
    assert found is not None
    return found[1], found[2]


def _tidy(element: ElementTree.Element, prefix: str, ids: dict[str, str]) -> None:
    for child in list(element):
        if _empty(child):
            element.remove(child)
            continue
        _attributes(child, prefix, ids)
        _tidy(child, prefix, ids)


def _share_clips(root: ElementTree.Element) -> None:
    """The renderer writes one clip path per layer, most of them alike: the first of each serves all."""
    first: dict[str, str] = {}
    instead: dict[str, str] = {}
    for parent in list(root.iter("defs")):
        for clip in list(parent.findall("clipPath")):
            shape = "".join(ElementTree.tostring(each, encoding="unicode") for each in clip)
            kept = first.setdefault(shape, clip.attrib["id"])
            if kept != clip.attrib["id"]:
                instead[f"url(#{clip.attrib['id']})"] = f"url(#{kept})"
                parent.remove(clip)
    for element in root.iter():
        if (used := element.get("clip-path")) in instead:
            element.set("clip-path", instead[used])


def _empty(child: ElementTree.Element) -> bool:
    """Invisible leftovers of the renderer: group backgrounds, empty labels."""
    if child.tag == "path" and child.get("class") in ("background", "foreground"):
        return "fill" not in child.attrib and "stroke" not in child.attrib
    return child.tag == "text" and not (child.text or "").strip() and not len(child)


def _attributes(child: ElementTree.Element, prefix: str, ids: dict[str, str]) -> None:
    label = child.attrib.pop("aria-label", "")
    kind = child.get("class", "")
    for name in _DROP:
        child.attrib.pop(name, None)
    for name, default in _DEFAULTS:
        if child.get(name) == default:
            del child.attrib[name]
    if child.tag == "text":  # the style sheet says the same of text without these
        for name, usual in (("fill", "currentColor"), ("font-size", "12px")):
            if child.get(name) == usual:
                del child.attrib[name]
    if child.tag == "line":
        if child.get("stroke") == "currentColor":
            del child.attrib["stroke"]
        if child.get("stroke-opacity") == "0.4":
            del child.attrib["stroke-opacity"]
        elif "stroke-opacity" not in child.attrib:
            child.set("stroke-opacity", "1")
    if "axis-grid" in kind:
        child.set("class", "grid")
    match = _LABEL.match(label)
    if match:
        if match[1] != "-":
            child.set("data-id", match[1])
        child.set("data-s", match[2])
        if match[3]:
            title = ElementTree.Element("title")
            title.text = match[3]
            child.insert(0, title)
    for name, value in child.attrib.items():
        if name == "id":
            value = _renamed(value, prefix, ids)
        elif reference := _REFERENCE.match(value):
            value = f"url(#{_renamed(reference[1], prefix, ids)})"
        elif name in ("d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height"):
            value = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
        child.set(name, value)


def _renamed(name: str, prefix: str, ids: dict[str, str]) -> str:
    """Unique on the page and the same each time: the renderer numbers ids through its whole process."""
    return ids.setdefault(name, f"{prefix}-{len(ids)}")
