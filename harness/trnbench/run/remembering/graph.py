"""A system's graph and its summary; the summary of one that is described once is kept, in this process and
for others. Those of a generation's own systems are shipped with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from trnbench.digest import digest_of, short_digest
from trnbench.errors import BadInput, TrnbenchError
from trnbench.generation import System
from trnbench.store.answers import answers_of, same_code
from trnbench.store.cache import Cache
from trnbench.store.source_digest import package_of, packages_digest
from trnbench.topology.graph import Topology

_MADE: dict[bytes, bytes] = {}
"""Summaries that this process made, by what they follow from."""
_MOST = 256
"""Of them: a program may ask for clusters of every size."""


SECTION = "graphs"
"""Of a generation's answers."""
FEWEST = 16
"""Devices of a system whose summary is shipped: one of a smaller graph takes a millisecond."""


class Shipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`made_from`: digest of the figures that `summary` was made from."""

    made_from: str
    summary: dict[str, Any]


def described(
    system: System, notes: list[str], cache: Cache | None, *, drawn: bool
) -> tuple[Topology | None, dict[str, Any]]:
    """The graph, where it is `drawn` or had to be built, and its summary. A system without a graph still has
    its core cases; why it has none is noted."""
    figures = _figures(system)
    key = digest_of("summary of a graph", packages_digest(_packages(system)), figures)
    content = _shipped(system, figures) or (cache.get(key) if cache is not None else None)
    if content is None and key in _MADE:
        content = _MADE[key]
        if cache is not None:
            cache.put(key, content)
    known = _known(content)
    graph = _graph(system, notes) if drawn or known is None else None
    if known is not None:
        return graph, known
    if graph is None:
        return None, {}
    from trnbench.topology.summary import summarise

    summary = summarise(graph)
    if len(_MADE) < _MOST:
        _MADE[key] = msgspec.json.encode(summary)
    if cache is not None:
        cache.put(key, msgspec.json.encode(summary))
    return graph, summary


def shipped(systems: Iterable[System]) -> dict[str, Shipped]:
    """The section of a generation's answers, made anew.

    Raises `TrnbenchError` for a system without a graph.
    """
    from trnbench.topology.summary import summarise

    return {
        each.name: Shipped(short_digest(_figures(each)), summarise(each.topology()))
        for each in systems
        if each.devices >= FEWEST
    }


def builders(systems: Iterable[System]) -> set[str]:
    """Packages that build and summarise the graphs of these systems."""
    return {package for each in systems for package in _packages(each)}


def _shipped(system: System, figures: bytes) -> bytes | None:
    """None where nothing is shipped that was made from what the system is now."""
    if system.devices < FEWEST:
        return None
    try:
        answers = answers_of(system.generation)
        rows = answers.section(SECTION, dict[str, Shipped]) if answers is not None else None
        row = rows.get(system.name) if rows else None
        if answers is None or row is None or row.made_from != short_digest(figures):
            return None
        return msgspec.json.encode(row.summary) if same_code(answers.code, _packages(system)) else None
    except (BadInput, SyntaxError):  # made anew
        return None


def _graph(system: System, notes: list[str]) -> Topology | None:
    try:
        return system.topology()
    except TrnbenchError as error:
        notes.append(f"{system.name} has no graph: {error.what}")
    except Exception as error:  # a plugin's builder
        notes.append(f"{system.name} has no graph: {type(error).__name__}: {error}")
    return None


def _known(content: bytes | None) -> dict[str, Any] | None:
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _packages(system: System) -> tuple[str, ...]:
    """Code that a graph is built with."""
    builder = package_of(system.instance.topology)
    return ("trnbench.topology", "trnbench.facts", "trnbench.generation", builder)


def _figures(system: System) -> bytes:
    """Figures that a graph is built from: facts and costs as they were read."""
    built_from = (system.generation.name, system.instance, system.size, system.book, system.costs)
    return msgspec.json.encode(built_from, order="deterministic", enc_hook=str)
