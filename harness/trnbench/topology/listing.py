"""A topology in tables: what `topology show` prints and `export --as text` writes."""

from __future__ import annotations

from trnbench.errors import counted
from trnbench.facts.units import show
from trnbench.record import Record
from trnbench.topology.graph import Figure, NodeKind, Topology, shape_words
from trnbench.topology.properties import Properties, properties

ROWS = 64
"""Rows of the neighbour table that are shown unless all are asked for."""


_PLURALS = {kind.value: f"{kind.value}{'es' if kind is NodeKind.SWITCH else 's'}" for kind in NodeKind}
_PLURALS[NodeKind.HOST.value] = "hosts (NUMA nodes)"


class Table(Record, kw_only=True):
    """`rows` hold one text per column; `note` stands below."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables(topology: Topology, summary: Properties | None = None, *, every: bool = False) -> list[Table]:
    """All tables of one topology, without those that would be empty. `every` shows all neighbours."""
    summary = summary or properties(topology)
    sections = [
        _properties(topology, summary),
        _neighbours(topology, every),
        _classes(topology, summary),
        _budgets(topology),
        _hypercube(topology, summary),
        _cycles(topology, summary, every),
        Table(name="notes", title="Notes", columns=("note",), rows=tuple((note,) for note in topology.notes)),
    ]
    return [table for table in sections if table.rows]


def text(topology: Topology) -> str:
    """All tables as plain aligned text, with every row."""
    parts = [f"{topology.name}: {shape_words(topology)}", ""]
    for table in tables(topology, every=True):
        parts += [table.title, *_aligned(table), *([table.note] if table.note else []), ""]
    return "\n".join(parts)


def _aligned(table: Table) -> list[str]:
    if len(table.columns) == 1:
        return [f"- {row[0]}" for row in table.rows]
    grid = [table.columns, *table.rows]
    widths = [max(len(row[column]) for row in grid) for column in range(len(table.columns))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
    ]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def _properties(topology: Topology, found: Properties) -> Table:
    low, high = found.degree
    rows = [("shape", shape_words(topology), "")]
    rows += [(_PLURALS[kind], f"{count:,}", "") for kind, count in found.nodes.items()]
    rows += [
        ("servers", f"{found.servers:,}", ""),
        (
            "cables",
            f"{sum(found.cables.values()):,}",
            ", ".join(f"{n:,} {c}" for c, n in found.cables.items()),
        ),
        ("degree", str(high) if low == high else f"{low} to {high}", "NeuronLink cables of a device"),
    ]
    far, cut = found.distances, found.bisection
    if far:
        rows.append(("diameter", counted(far.diameter, "link"), far.method))
        rows.append(("average distance", f"{far.average:.3f} links", "over all pairs of two devices"))
    if cut:
        certain = "" if cut.exact else "at most: "
        rows.append(("bisection", counted(cut.cables, "cable"), certain + cut.method))
        rows.append(("bisection, one way", show(cut.one_way, "B/s"), ""))
        rows.append(("bisection, both ways", show(cut.both_ways, "B/s"), ""))
    if found.cycles:
        rows.append(("Hamiltonian cycles", str(len(found.cycles)), "sharing no cable"))
    rows.append(("connected", _yes(found.connected), "every device reaches every other"))
    rows.append(("symmetric", _yes(found.symmetric), "every cable carries both directions alike"))
    rows.append(
        ("transitive", _yes(found.transitive), "every device sees the same NeuronLink graph (shifts checked)")
    )
    return Table(
        name="properties", title="Properties", columns=("property", "value", "how"), rows=tuple(rows)
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _neighbours(topology: Topology, every: bool) -> Table:
    devices = topology.devices if every else topology.devices[:ROWS]
    rows = []
    for device in devices:
        joined: dict[str, list[str]] = {}
        for link in topology.out[device.id]:
            there = topology.nodes[link.dst]
            group = "NeuronLink" if there.kind in (NodeKind.DEVICE, NodeKind.SWITCH) else there.kind.value
            joined.setdefault(group, []).append(there.name)
        rows.append((device.name, *(", ".join(joined.get(g, ())) for g in ("NeuronLink", "host", "adapter"))))
    hidden = len(topology.devices) - len(devices)
    note = f"… {hidden:,} more devices: --all shows them" if hidden else ""
    return Table(
        name="neighbours",
        title="Neighbours, in the order of the links",
        columns=("device", "NeuronLink", "host", "EFA adapter"),
        rows=tuple(rows) if len(topology.links) else (),
        note=note,
    )


def _classes(topology: Topology, found: Properties) -> Table:
    rows = []
    for name, link_class in topology.classes.items():
        for what, figure, unit in (
            ("bandwidth", link_class.bandwidth, "B/s"),
            ("latency", link_class.latency, "s"),
        ):
            rows.append(
                (name, f"{found.cables[name]:,}", what, show(figure.value, unit), *_origin(figure, unit))
            )
    return Table(
        name="links",
        title="Links, per cable and direction",
        columns=("class", "cables", "figure", "value", "from", "origin"),
        rows=tuple(rows),
    )


def _origin(figure: Figure, unit: str) -> tuple[str, str]:
    """(the arithmetic, who says so); an assumption with its range."""
    if not figure.assumed:
        return figure.formula, figure.origin
    if figure.low is None or figure.high is None:
        return figure.formula, f"assumed in part: {figure.origin}"
    between = f"{show(figure.low, unit)} to {show(figure.high, unit)}"
    return figure.formula, f"assumed: {figure.origin}, {between}"


def _budgets(topology: Topology) -> Table:
    """Totals, and what each document prints for them, side by side."""
    rows = []
    for budget in topology.budgets:
        chosen = budget.figure
        rows.append((budget.name, "in this graph", show(chosen.value, "B/s"), chosen.formula, chosen.origin))
        for name, reading in budget.readings.items():
            share = reading.value / chosen.value
            ratio_words = "the same" if abs(share - 1) < 0.005 else f"{share:.2f} ×"
            # Readings without a name of their own are named by their fact.
            kind = "assumed" if reading.assumed else "documented"
            label = kind if name == reading.origin else f"{kind}: {name}"
            rows.append(
                ("", f"{label}, {ratio_words}", show(reading.value, "B/s"), reading.formula, reading.origin)
            )
    return Table(
        name="totals",
        title="Totals, one direction",
        columns=("total", "reading", "value", "from", "origin"),
        rows=tuple(rows),
    )


def _hypercube(topology: Topology, found: Properties) -> Table:
    """The map that proves it; `isomorphism` has checked every link."""
    corners = found.hypercube or ()
    bits = (len(corners) - 1).bit_length()
    if bits < 3 or topology.shape[:1] == ("hypercube",):
        corners = ()
    rows = [(topology.nodes[device].name, f"{corner:0{bits}b}") for device, corner in enumerate(corners)]
    return Table(
        name="hypercube",
        title=f"The same graph as a {bits}D hypercube: device and corner, neighbours differ in one bit",
        columns=("device", "corner"),
        rows=tuple(rows),
    )


def _cycles(topology: Topology, found: Properties, every: bool) -> Table:
    rows = []
    for number, cycle in enumerate(found.cycles, 1):
        shown = cycle if every else cycle[:ROWS]
        names = " ".join(topology.nodes[node].name for node in shown)
        rows.append((str(number), names + (" …" if len(shown) < len(cycle) else "")))
    return Table(
        name="cycles",
        title="Hamiltonian cycles that share no cable",
        columns=("cycle", "devices in order"),
        rows=tuple(rows),
    )
