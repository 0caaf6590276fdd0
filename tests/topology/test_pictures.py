"""Exports: SVG that any page may hold, DOT, JSON that comes back the same, a summary fit for JSON."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import msgspec
import pytest
from stored_run import text_of

from trnbench.errors import BadInput
from trnbench.topology.canvas import Curve, Place
from trnbench.topology.draw import dot, svg
from trnbench.topology.graph import FORMAT_VERSION, Topology, from_json, to_json
from trnbench.topology.layout import layout
from trnbench.topology.listing import tables, text
from trnbench.topology.properties import summarise

pytestmark = pytest.mark.parts

Build = Callable[..., Topology]
SVG = "{http://www.w3.org/2000/svg}"
EVERY = [
    "trn1.2xlarge",
    "trn1.32xlarge",
    "inf2.24xlarge",
    "inf2.48xlarge",
    "trn1-ultracluster:3",
    "trn1-ultracluster:40",
    "trn2-16.48xlarge",
    "u-trn2x64",
    "trn3-gen1-ultraserver",
    "trn3-gen2-ultraserver",
]


@pytest.mark.parametrize("name", EVERY)
def test_a_picture_fits_the_strictest_page(built: Build, name: str) -> None:
    picture = svg(built(name))
    root = ET.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label", "").startswith(f"{name}: ")
    for element in root.iter():
        assert element.tag in {f"{SVG}{tag}" for tag in ("svg", "title", "path", "rect", "text")}
        assert not {"style", "id", "href", "onload"} & set(element.attrib)
        for attribute in ("fill", "stroke"):
            assert element.get(attribute, "none") in ("none", "currentColor")
    assert not re.search(r"nan|inf(?!2|erior)", picture)


@pytest.mark.parametrize("name", EVERY)
def test_everything_drawn_lies_inside_the_picture(built: Build, name: str) -> None:
    root = ET.fromstring(svg(built(name)))
    width, height = map(float, root.get("viewBox", "").split()[2:])
    for element in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(element.get(key, "nan")) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for element in root.iter(f"{SVG}text"):
        half = len(element.text or "") * float(element.get("font-size", "nan")) * 0.55 / 2
        x, y = float(element.get("x", "nan")), float(element.get("y", "nan"))
        left = x if element.get("text-anchor") == "start" else x - half
        assert 0 <= left <= left + 2 * half <= width
        assert 0 <= y <= height
    for element in root.iter(f"{SVG}path"):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", element.get("d", ""))]
        (x0, y0), (x2, y2) = numbers[:2], numbers[-2:]
        x1, y1 = numbers[2:4] if len(numbers) == 6 else ((x0 + x2) / 2, (y0 + y2) / 2)
        for share in (0.25, 0.5, 0.75):
            x = (1 - share) ** 2 * x0 + 2 * share * (1 - share) * x1 + share**2 * x2
            y = (1 - share) ** 2 * y0 + 2 * share * (1 - share) * y1 + share**2 * y2
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_a_grid_stands_midway_between_the_sides_of_its_picture(torus: Build) -> None:
    plan = layout(torus((4, 3)))
    across = [place.x for place in plan.places.values()]
    assert min(across) == plan.width - max(across) > 0


def test_every_neuronlink_cable_of_a_torus_is_drawn_once(built: Build) -> None:
    root = ET.fromstring(svg(built("trn1.32xlarge")))
    titles = [title.text for path in root.iter(f"{SVG}path") for title in path]
    assert len(titles) == len(set(titles)) == 32
    assert "d0 – d12, neuronlink" in titles
    wrapped = [path.get("d", "") for path in root.iter(f"{SVG}path") if "Q" in path.get("d", "")]
    assert len(wrapped) == 8


def test_four_planes_and_three_axes(built: Build) -> None:
    root = ET.fromstring(svg(built("u-trn2x64")))
    titles = [title.text for path in root.iter(f"{SVG}path") for title in path]
    assert len(titles) == 192
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert [w for w in words if w and w.startswith("instance ")] == [f"instance {i}" for i in range(4)]


def test_a_cable_is_painted_whole_where_both_directions_are_alike(torus: Build) -> None:
    def strokes(colours: dict[tuple[int, int], str]) -> list[tuple[str, str, str]]:
        paths = ET.fromstring(svg(torus((2, 1)), colours=colours)).iter(f"{SVG}path")
        return [tuple(path.get(key, "") for key in ("d", "stroke", "stroke-width")) for path in paths]

    assert strokes({}) == [("M74 88L74 156", "currentColor", "1.4")]
    assert strokes({(0, 1): "red", (1, 0): "red"}) == [("M74 88L74 156", "red", "3")]
    assert strokes({(0, 1): "red"}) == [
        ("M74 88L74 122", "red", "3"),
        ("M74 122L74 156", "currentColor", "1.4"),
    ]
    assert strokes({(1, 0): "red"}) == [
        ("M74 88L74 122", "currentColor", "1.4"),
        ("M74 122L74 156", "red", "3"),
    ]


def test_each_direction_is_painted_on_its_own_half(built: Build) -> None:
    picture = svg(built("trn1.32xlarge"), colours={(0, 1): "#d55e00", (1, 0): "var(--slow)"})
    root = ET.fromstring(picture)
    halves = {
        path.get("stroke"): path.get("d", "")
        for path in root.iter(f"{SVG}path")
        if path.get("stroke") not in ("currentColor", None)
    }
    assert set(halves) == {"#d55e00", "var(--slow)"}
    start = float(re.findall(r"[\d.]+", halves["#d55e00"])[0])
    other = float(re.findall(r"[\d.]+", halves["var(--slow)"])[-2])
    assert start < other


def test_names_and_colours_cannot_break_out(built: Build) -> None:
    hostile = msgspec.structs.replace(built("trn1.2xlarge"), name='"><script>')
    assert "<script" not in svg(hostile)
    painted = svg(built("trn1.32xlarge"), colours={(0, 1): '"/><script>'})
    assert "<script" not in painted
    ET.fromstring(painted)


def test_a_file_of_its_own_follows_light_and_dark(built: Build) -> None:
    picture = svg(built("trn1.32xlarge"), standalone=True)
    assert "prefers-color-scheme:dark" in picture
    assert ET.fromstring(picture).get("width")


def test_shapes_without_a_layout_of_their_own_are_drawn_too(built: Build, torus: Build) -> None:
    for topology in (torus((2, 2, 2, 2)), msgspec.structs.replace(built("trn1.32xlarge"), shape=())):
        assert len(list(ET.fromstring(svg(topology)).iter(f"{SVG}path"))) == 32


def test_half_a_curve_ends_in_its_middle() -> None:
    first, second = Curve(Place(0, 0), Place(2, 4), Place(4, 0)).halves()
    assert first.end == second.start == Place(2, 2)
    trimmed = Curve.straight(Place(0, 0), Place(10, 0)).trimmed((2, 2), (4, 4))
    assert (trimmed.start, trimmed.end) == (Place(1, 0), Place(8, 0))


@pytest.mark.parametrize("name", EVERY)
def test_json_comes_back_the_same(built: Build, name: str) -> None:
    topology = built(name)
    again = from_json(to_json(topology))
    assert again == topology
    assert to_json(again) == to_json(topology)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"format_version": 1}', b'{"topology": {"name": 1}}', b"\xff\xfe"]
)
def test_what_is_no_export_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"^this is no exported topology: ") as error:
        from_json(data)
    assert error.value.cause == "the file was not written by topology export --as json, or is cut short"


def test_a_newer_format_is_refused_by_name(built: Build) -> None:
    document = json.loads(to_json(built("trn1.2xlarge")))
    document["format_version"] = FORMAT_VERSION + 1
    assert text_of(BadInput, from_json, json.dumps(document).encode()) == (
        "a topology of format 2 cannot be read, this trnbench knows up to 1\n"
        "  cause: it was written by a newer trnbench\n"
        "  try:   pip install --upgrade trnbench"
    )


def test_dot_has_one_edge_per_cable(built: Build) -> None:
    topology = built("trn1.32xlarge")
    lines = dot(topology).splitlines()
    assert lines[0] == 'digraph "trn1.32xlarge" {'
    assert sum("->" in line for line in lines) == len(topology.links) // 2
    assert '  "d0" -> "d12" [dir=none, style=solid, tooltip="neuronlink 103.079 GB/s"];' in lines
    one_way = [link for link in topology.links if (link.src, link.dst) == (12, 0)]
    assert dot(msgspec.structs.replace(topology, links=one_way)).splitlines()[-2:] == [
        '  "d12" -> "d0" [dir=forward, style=solid, tooltip="neuronlink 103.079 GB/s"];',
        "}",
    ]


@pytest.mark.parametrize("name", EVERY)
def test_a_summary_is_strict_json(built: Build, name: str) -> None:
    topology = built(name)
    summary = summarise(topology)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert set(summary["links"]) == set(topology.classes)
    assert summary["nodes"]["device"] == len(topology.devices)


def test_a_graph_in_parts_has_no_diameter(torus: Build) -> None:
    lonely = msgspec.structs.replace(torus((4, 4)), links=())
    summary = summarise(lonely)
    assert (summary["connected"], summary["diameter"], summary["bisection_cables"]) == (False, None, None)


@pytest.mark.parametrize("name", EVERY)
def test_text_names_every_device_and_table(built: Build, name: str) -> None:
    topology = built(name)
    written = text(topology)
    assert all(table.title in written for table in tables(topology))
    assert all(f"\n{device.name} " in written for device in topology.devices)
    assert not any(line != line.rstrip() for line in written.splitlines())


def test_long_cycles_are_cut_and_small_cubes_are_not_listed(torus: Build) -> None:
    def rows(sides: tuple[int, ...], name: str, *, every: bool = False) -> list[str]:
        listed = {table.name: table for table in tables(torus(sides), every=every)}
        return [row[1] for row in listed[name].rows] if name in listed else []

    cut, whole = rows((9, 9), "cycles"), rows((9, 9), "cycles", every=True)
    assert [line.split() for line in cut] == [[*line.split()[:64], "…"] for line in whole]
    assert [len(line.split()) for line in whole] == [81, 81]
    assert [len(rows(sides, "hypercube")) for sides in ((4,), (2, 2, 2))] == [0, 8]


def test_long_tables_are_cut_and_say_so(built: Build) -> None:
    neighbours = tables(built("trn3-gen2-ultraserver"))[1]
    assert len(neighbours.rows) == 64
    assert neighbours.note == "… 80 more devices: --all shows them"
