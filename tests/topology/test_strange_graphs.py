"""Graphs of plugins may claim any shape and be wired any way: nothing that looks at them may crash."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.topology.builders.assembly import Assembly
from trnbench.topology.checks import check
from trnbench.topology.dot import dot
from trnbench.topology.draw import svg
from trnbench.topology.exchange import from_json, to_json
from trnbench.topology.expected import Expected
from trnbench.topology.graph import LinkClass, LinkKind, NodeKind, Topology
from trnbench.topology.listing import text
from trnbench.topology.summary import summarise

KINDS = {
    "cable": LinkKind.NEURONLINK,
    "port": LinkKind.SWITCH,
    "pcie": LinkKind.PCIE,
    "efa": LinkKind.EFA,
}


@st.composite
def graphs(draw: st.DrawFn, link_class: Callable[..., LinkClass]) -> Topology:
    """Up to ten nodes of any kind, any links, any shape; coordinates that may fit it or not."""
    assembly = Assembly(draw(st.sampled_from(["box", 'a "b" <c>', "ø&"])))
    width = draw(st.integers(0, 3))
    devices = draw(st.integers(1, 7))
    others = draw(
        st.lists(st.sampled_from([kind for kind in NodeKind if kind != NodeKind.DEVICE]), max_size=3)
    )
    coords = st.tuples(*[st.integers(0, 2)] * width)
    for i in range(devices):
        assembly.add(f"d{i}", NodeKind.DEVICE, draw(coords), draw(st.integers(0, 2)))
    for i, kind in enumerate(others):
        assembly.add(f"x{i}", kind, host=draw(st.integers(0, 2)))
    assembly.declare(*(link_class(name, kind) for name, kind in KINDS.items()))
    count = devices + len(others)
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    for one, other in draw(st.lists(ends, max_size=14)) if count > 1 else []:
        send = assembly.join if draw(st.booleans()) else assembly.send
        send(one, other, draw(st.sampled_from(sorted(KINDS))))
    words = st.sampled_from(["torus", "ring", "chain", "switched", "single", "hypercube", "network", "blob"])
    return assembly.finish(tuple(draw(st.lists(words | st.integers(0, 4), max_size=5))))


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_nothing_crashes(link_class: Callable[..., LinkClass], data: st.DataObject) -> None:
    topology = data.draw(graphs(link_class))
    assert json.dumps(summarise(topology), allow_nan=False)
    names = tuple(
        (words, "page") for words in ("2D torus", "3D hypercube", "ring", "ring of 3", "all-to-all")
    )
    assert check(topology, Expected(names=names, ports=((4, "page"),)))
    assert text(topology)
    assert dot(topology)
    ET.fromstring(svg(topology))
    assert from_json(to_json(topology)) == topology


@pytest.mark.parametrize(
    "shape", [("torus",), ("torus", 0, 4), ("switched", 1, 8), ("torus", 4, 4, "network"), ()]
)
def test_a_shape_that_is_not_there_is_only_a_claim(
    torus: Callable[..., Topology], shape: tuple[str | int, ...]
) -> None:
    import msgspec

    claimed = msgspec.structs.replace(torus((4, 4)), shape=shape)
    assert summarise(claimed)["diameter"] == 4
    ET.fromstring(svg(claimed))
