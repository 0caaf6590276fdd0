"""A topology with every link coloured, and widened, by its load."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from markupsafe import Markup

import trnbench
from trnbench import LinkKind, Record, Topology
from trnbench_reports import numbers

BANDS = (
    (0, "unused"),
    (1, "below 25 %"),
    (250, "25 to 50 %"),
    (500, "50 to 75 %"),
    (750, "75 to 95 %"),
    (950, "95 % and more"),
)
"""From how many thousandths of its capacity on, and what the legend says."""
DRAWN = (LinkKind.NEURONLINK, LinkKind.SWITCH)
_PAINTED = re.compile(r' fill="none" stroke="load-(\d)" stroke-width="3"')
_PALE = re.compile(r' fill="none" stroke="currentColor" stroke-width="1.4" stroke-opacity="[\d.]+"')


_NODE = re.compile(r'fill="currentColor" fill-opacity="0.1" stroke="currentColor" stroke-width="1.2"')
_PLACE = re.compile(r' d="([^"]*)"')
_TITLE = r"<title>[^<]*</title></path>"
_SAME = re.compile(rf'<path d="[^"]*" class="(h\d)">{_TITLE}(?:<path d="[^"]*" class="\1">{_TITLE})*')


class Load(Record, kw_only=True):
    """Links of one class: how many, thousandths of their capacity, bytes per second at the busiest."""

    cls: str
    count: int
    low: int
    high: int
    capacity: float
    busiest: tuple[str, ...]


def expanded(topology: Topology, stored: object) -> list[int] | None:
    """[how many, thousandths] as one value for each link; None for what does not fit the topology."""
    if not isinstance(stored, Sequence) or isinstance(stored, str):
        return None
    values: list[int] = []
    for entry in stored:
        if not (isinstance(entry, Sequence) and len(entry) == 2 and all(type(part) is int for part in entry)):
            return None
        if not 0 <= entry[0] <= len(topology.links):
            return None
        values += [max(entry[1], 0)] * entry[0]
    return values if len(values) == len(topology.links) else None


def band(load: int) -> int:
    return max(index for index, (least, _) in enumerate(BANDS) if load >= least)


def picture(topology: Topology, loads: Sequence[int], label: str) -> Markup:
    """The drawing for a page: classes of its style sheet instead of attributes, no name space."""
    colours = {
        (link.src, link.dst): f"load-{band(load)}"
        for link, load in zip(topology.links, loads, strict=True)
        if load > 0 and topology.classes[link.cls].kind in DRAWN
    }
    drawn = trnbench.topology_svg(topology, colours=colours)
    drawn = _PAINTED.sub(r' class="h\1"', drawn)
    drawn = _PALE.sub(' class="h0"', drawn)
    drawn = _NODE.sub('class="node"', drawn)
    drawn = drawn.replace(' fill="none"/>', "/>").replace(' text-anchor="middle"', "").replace("\n", "")
    drawn = _SAME.sub(lambda found: _group(found[0], found[1]), _PLACE.sub(_rounded, drawn))
    head = re.compile(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>\s*<title>[^<]*</title>')
    opening = head.search(drawn)
    assert opening is not None
    size = f'viewBox="0 0 {opening[1]} {opening[2]}" width="{opening[1]}" height="{opening[2]}"'
    kind = "graph long" if float(opening[1]) > 900 else "graph"  # on a phone it scrolls in its own box
    start = Markup('<svg class="{}" {} role="img" aria-label="{}">').format(
        kind, Markup(size), numbers.clean(label, 300)
    )
    return start + Markup(drawn[opening.end() :])


def _rounded(place: re.Match[str]) -> str:
    """Whole pixels: what a link of a drawing needs."""
    return ' d="' + re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.0f}", place[1]) + '"'


def _group(drawn: str, kind: str) -> str:
    """Neighbours of one load say it once."""
    attribute = f' class="{kind}"'
    return f'<g class="{kind}">{drawn.replace(attribute, "")}</g>'


def summary(topology: Topology, loads: Sequence[int]) -> list[Load]:
    """By class of link, the busiest first."""
    by_class: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for link, load in zip(topology.links, loads, strict=True):
        if topology.classes[link.cls].kind in DRAWN:
            names = f"{topology.nodes[link.src].name} → {topology.nodes[link.dst].name}"
            by_class[link.cls].append((load, names))
    loaded = []
    for cls, links in by_class.items():
        high = max(load for load, _ in links)
        loaded.append(
            Load(
                cls=numbers.clean(cls, 40),
                count=len(links),
                low=min(load for load, _ in links),
                high=high,
                capacity=topology.classes[cls].bandwidth.value,
                busiest=tuple(numbers.clean(name, 40) for load, name in links if load == high)[:3],
            )
        )
    return sorted(loaded, key=lambda each: -each.high)


def row(load: Load) -> tuple[str, ...]:
    """class, links, load, carried, capacity, busiest."""
    spread = numbers.percent(load.high / 1000)
    if load.low != load.high:
        spread = f"{numbers.percent(load.low / 1000)} to {spread}"
    return (
        load.cls,
        f"{load.count:,}",
        spread,
        numbers.show(load.capacity * load.high / 1000, "B/s"),
        numbers.show(load.capacity, "B/s"),
        ", ".join(load.busiest) if load.low != load.high else "all alike",
    )
