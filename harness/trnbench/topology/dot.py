"""Topologies in Graphviz's language."""

from __future__ import annotations

from trnbench.topology.graph import LinkKind, NodeKind, Topology

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
        one, other = topology.nodes[link.src].name, topology.nodes[link.dst].name
        label = f"{link.cls} {topology.bandwidth(link) / 1e9:g} GB/s"
        style = _STYLES.get(topology.classes[link.cls].kind, "solid")
        looks = f"dir={'none' if cable else 'forward'}, style={style}, tooltip={_quoted(label)}"
        lines.append(f"  {_quoted(one)} -> {_quoted(other)} [{looks}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
