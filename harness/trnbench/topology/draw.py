"""A topology as a picture: SVG drawn by our own hand, readable on light and dark pages.

Everything is drawn in currentColor, so the page's text colour is the picture's; there is no style,
script, id or address inside, so that the strictest page policy lets it pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from trnbench.topology.canvas import Canvas
from trnbench.topology.graph import LinkKind, NodeKind, Topology, shape_words
from trnbench.topology.layout import BAR, Layout, layout
from trnbench.topology.soundness import DEVICE_LINKS

_STANDALONE = (
    "<style>:root{color:#1f2328;background:#fff}.paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){:root{color:#e6edf3;background:#0d1117}.paper{fill:#0d1117}}</style>"
)


def svg(
    topology: Topology, *, colours: Mapping[tuple[int, int], str] | None = None, standalone: bool = False
) -> str:
    """The picture as an <svg> element.

    `colours` paints single directions: (source id, destination id) → a CSS colour; the half of the
    cable next to the source is painted, all of it where both directions have one colour. `standalone`
    adds a background that follows the reader's light or dark setting, for a file of its own; leave it
    out inside a page, and give class `paper` the page's background as fill there, so that cables pass
    behind boxes unseen.
    """
    plan = layout(topology)
    canvas = Canvas(plan.width, plan.height)
    _links(topology, plan, canvas, colours or {})
    _nodes(topology, plan, canvas)
    for position, text, anchor in plan.captions:
        canvas.text(position, text, size=13, anchor=anchor)
    title = f"{topology.name}: {shape_words(topology)}"
    return canvas.finish(title, head=_STANDALONE if standalone else "")


def _links(topology: Topology, plan: Layout, canvas: Canvas, colours: Mapping[tuple[int, int], str]) -> None:
    """Thin and pale cables first, painted ones last and on top."""
    painted = []
    seen = set()
    for link in topology.links:
        if link.src not in plan.places or link.dst not in plan.places:
            continue
        kind = topology.classes[link.cls].kind
        pair = (min(link.src, link.dst), max(link.src, link.dst))
        if (*pair, link.cls) in seen:
            continue
        seen.add((*pair, link.cls))
        there, back = colours.get(pair), colours.get((pair[1], pair[0]))
        label = f"{topology.nodes[pair[0]].name} – {topology.nodes[pair[1]].name}, {link.cls}"
        curve = plan.curve(*pair).trimmed(*(plan.trim(node, topology.nodes[node].kind) for node in pair))
        if there or back:
            painted.append((curve, there, back, label))
        else:
            opacity = 0.55 if kind in DEVICE_LINKS else 0.3
            canvas.curve(curve, label, width=1.4, opacity=opacity * plan.fade(*pair))
    for curve, there, back, label in painted:
        if there and there == back:
            canvas.curve(curve, label, width=3, colour=there)
            continue
        first, second = curve.halves()
        for half, colour in ((first, there), (second, back)):
            if colour:
                canvas.curve(half, label, width=3, colour=colour)
            else:
                canvas.curve(half, label, width=1.4, opacity=0.55)


def _nodes(topology: Topology, plan: Layout, canvas: Canvas) -> None:
    for node in topology.nodes:
        position = plan.places.get(node.id)
        if position is None:
            continue
        label = plan.labels.get(node.id, node.name)
        if node.id in plan.bars:
            left, right = plan.bars[node.id]
            canvas.box(position, right - left, BAR, node.name, strong=True)
            canvas.text(position, label, size=12)
            continue
        wide, high = plan.sizes[node.kind]
        canvas.box(position, wide, high, node.name, strong=False)
        if wide >= 16:
            canvas.text(position, label, size=min(12, wide / max(len(label), 2) * 1.5))


_SHAPES = {
    NodeKind.CORE: "point",
    NodeKind.DEVICE: "box",
    NodeKind.SWITCH: "hexagon",
    NodeKind.HOST: "house",
    NodeKind.ADAPTER: "cds",
    NodeKind.NETWORK: "doubleoctagon",
}
_STYLES = {LinkKind.PCIE: "dashed", LinkKind.EFA: "dotted", LinkKind.ON_CHIP: "dotted"}


def dot(topology: Topology) -> str:
    """One undirected edge per cable, one directed edge for a link without its opposite.

    Render with ``dot -Tsvg`` or, for tori, ``neato -Tsvg``.
    """
    lines = [f"digraph {_quoted(topology.name)} {{", "  node [fontname=sans];"]
    lines += [f"  {_quoted(node.name)} [shape={_SHAPES[node.kind]}];" for node in topology.nodes]
    present = {(link.src, link.dst, link.cls) for link in topology.links}
    for link in topology.links:
        cable = (link.dst, link.src, link.cls) in present
        if cable and link.src > link.dst:
            continue
        src, dst = topology.nodes[link.src].name, topology.nodes[link.dst].name
        label = f"{link.cls} {topology.bandwidth(link) / 1e9:g} GB/s"
        style = _STYLES.get(topology.classes[link.cls].kind, "solid")
        looks = f"dir={'none' if cable else 'forward'}, style={style}, tooltip={_quoted(label)}"
        lines.append(f"  {_quoted(src)} -> {_quoted(dst)} [{looks}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
