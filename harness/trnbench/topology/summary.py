"""A topology in a few numbers, ready for JSON: what a stored run keeps of each system."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench.topology.graph import Figure, Topology
from trnbench.topology.properties import Properties, properties
from trnbench.topology.shape import shape_words


def summarise(topology: Topology, summary: Properties | None = None) -> dict[str, Any]:
    """Shape, counts, properties, link classes and readings; bytes/s and seconds, all JSON-safe.

    `found` saves computing the properties again.
    """
    summary = summary or properties(topology)
    far, cut = summary.distances, summary.bisection
    return {
        "name": topology.name,
        "kind": str(topology.shape[0]) if topology.shape else "graph",
        "shape": list(topology.shape),
        "shape_words": shape_words(topology),
        "nodes": dict(summary.nodes),
        "servers": summary.servers,
        "cables": dict(summary.cables),
        "degree": summary.degree[1],
        "degree_min": summary.degree[0],
        "connected": summary.connected,
        "symmetric": summary.symmetric,
        "transitive": summary.transitive,
        "diameter": far.diameter if far else None,
        "average_distance": far.average if far else None,
        "distance_method": far.method if far else "",
        "bisection_cables": cut.cables if cut else None,
        "bisection_one_way_bytes_per_s": cut.one_way if cut else None,
        "bisection_both_ways_bytes_per_s": cut.both_ways if cut else None,
        "bisection_method": cut.method if cut else "",
        "bisection_exact": cut.exact if cut else None,
        "hamiltonian_cycles": len(summary.cycles),
        "hypercube": (len(summary.hypercube) - 1).bit_length() if summary.hypercube else 0,
        "links": {
            name: {
                "kind": each.kind.value,
                "cables": summary.cables[name],
                "bandwidth": _figure(each.bandwidth),
                "latency": _figure(each.latency),
            }
            for name, each in topology.classes.items()
        },
        "budgets": [
            {
                "name": each.name,
                "owner": each.owner,
                "classes": list(each.classes),
                "figure": _figure(each.figure),
                "readings": {name: _figure(reading) for name, reading in each.readings.items()},
            }
            for each in topology.budgets
        ],
        "notes": list(topology.notes),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(figure)
    return fields
