"""A system's graph and its summary; the summary of one that is described once is kept, in this process and
for others. Those of a generation's own systems are shipped with it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache as kept
from pathlib import Path
from typing import Any

import msgspec

from trnbench.bounded.file import TABLE, read_file
from trnbench.digest import digest_of
from trnbench.errors import BadInput, TrnbenchError
from trnbench.generation import System
from trnbench.store.cache import Cache
from trnbench.store.source_digest import package_of, packages_digest
from trnbench.topology.graph import Topology

_MADE: dict[bytes, bytes] = {}
"""Summaries that this process made, by what they follow from."""
_MOST = 256
"""Of them: a program may ask for clusters of every size."""


class Shipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`made_from`: `_key` of the system when `summary` was made, in hexadecimal digits."""

    made_from: str
    summary: dict[str, Any]


def described(
    system: System, notes: list[str], cache: Cache | None, *, drawn: bool
) -> tuple[Topology | None, dict[str, Any]]:
    """The graph, where it is `drawn` or had to be built, and its summary. A system without a graph still has
    its core cases; why it has none is noted."""
    key = _key(system)
    content = _shipped(system, key) or (cache.get(key) if cache is not None else None)
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


def shipped(systems: Iterable[System]) -> str:
    """The file of a generation's systems, made anew, for people to compare line by line.

    Raises `TrnbenchError` for a system without a graph.
    """
    from trnbench.topology.summary import summarise

    rows = {each.name: Shipped(_key(each).hex(), summarise(each.topology())) for each in systems}
    return msgspec.json.format(msgspec.json.encode(rows), indent=1).decode() + "\n"


def _shipped(system: System, key: bytes) -> bytes | None:
    """None where nothing is shipped that was made from what the system is now."""
    path = system.generation.graphs
    row = _rows(path).get(system.name) if path is not None else None
    return msgspec.json.encode(row.summary) if row is not None and row.made_from == key.hex() else None


@kept
def _rows(path: Path) -> dict[str, Shipped]:
    """None of a file that holds no summaries: they are made anew."""
    try:
        return msgspec.json.decode(read_file(path, most=TABLE), type=dict[str, Shipped])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, BadInput):
        return {}


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


def _key(system: System) -> bytes:
    """Facts, costs and code that a graph is built from."""
    told = (system.generation.name, system.instance, system.size, system.book, system.costs)
    return digest_of(
        "summary of a graph",
        packages_digest(
            (
                "trnbench.topology",
                "trnbench.facts",
                "trnbench.generation",
                package_of(system.instance.topology),
            )
        ),
        msgspec.json.encode(told, order="deterministic", enc_hook=str),
    )
