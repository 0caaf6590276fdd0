"""A system's graph and its summary; the summary of one that is described once is kept, in this process and
for others."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench.digest import digest_of
from trnbench.errors import TrnbenchError
from trnbench.generation import System
from trnbench.store.cache import Cache
from trnbench.store.source_digest import package_of, packages_digest
from trnbench.topology.graph import Topology

_MADE: dict[bytes, bytes] = {}
"""Summaries that this process made, by what they follow from."""
_MOST = 256
"""Of them: a program may ask for clusters of every size."""


def described(
    system: System, notes: list[str], cache: Cache | None, *, drawn: bool
) -> tuple[Topology | None, dict[str, Any]]:
    """The graph, where it is `drawn` or had to be built, and its summary. A system without a graph still has
    its core cases; why it has none is noted."""
    key = _key(system)
    content = cache.get(key) if cache is not None else None
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
