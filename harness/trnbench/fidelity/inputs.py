"""All that an answer of the model about a generation follows from."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from trnbench.fidelity.bench import EMULATOR

if TYPE_CHECKING:
    from trnbench.registry import Registry


def inputs_of(registry: Registry, generations: Collection[str]) -> object:
    """Files and their times, and the very objects that answer: another of any is another question."""
    chosen = [registry.generations[name] for name in generations]
    bases = [registry.generations[each.base] for each in chosen if each.base in registry.generations]
    files = {
        path
        for each in (*chosen, *bases)
        for path in (*each.facts, each.costs, each.published, each.public_kernels, each.untouched)
        if path is not None
    }
    return (
        tuple(generations),
        tuple((str(path), path.stat().st_mtime_ns) for path in sorted(files)),
        type(registry.backends.get(EMULATOR)),
        tuple(registry.kernels),
    )
