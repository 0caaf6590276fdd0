"""A generation's cost table over the tables of its bases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trnbench.errors import UnknownName
from trnbench.generation import Generation
from trnbench.registry.discovery import Origin
from trnbench.registry.files import Files
from trnbench.registry.reading import Reading


def merged_costs(
    name: str, generations: Mapping[str, Generation], origin: Origin, reading: Reading
) -> dict[str, Any]:
    """Tables merge key by key, the derived generation winning; lists and values replace.

    Raises `PluginError` when the chain of `base=` leads nowhere or round in a circle, and what
    `reading` raises.
    """
    chain: list[str] = []
    step = name
    while step:
        if step in chain:
            raise origin.blame(
                f"brings generation {name!r}, whose bases go round in a circle",
                cause=" -> ".join([*chain, step]),
                try_="remove one base= of them",
                object_=f"generation {name!r}",
            )
        if step not in generations:
            missing = UnknownName("generation", step, generations)
            raise origin.blame(
                f"brings generation {name!r}, based on {step!r}, which is not installed",
                cause=missing.cause,
                try_=f"install the plugin that brings {step!r}",
                object_=f"generation {name!r}",
            )
        chain.append(step)
        step = generations[step].base
    merged: dict[str, Any] = {}
    for each in reversed(chain):
        path = generations[each].costs
        if path is not None:
            merged = merge(merged, reading.costs(Files(path)))
        if (constants := generations[each].workloads) is not None:
            merged = merge(merged, {"step": reading.costs(Files(constants)).get("constants", {})})
    return merged


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `over` laid on top, table by table."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
