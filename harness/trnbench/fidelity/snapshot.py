"""The fidelity of a run: what its model got wrong, kept with its results."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from trnbench.errors import TrnbenchError
from trnbench.fidelity.bench import EMULATOR
from trnbench.fidelity.validate import kept, validate
from trnbench.results.fidelity import Fidelity

if TYPE_CHECKING:
    from trnbench.registry import Registry


def fidelity_of(
    registry: Registry, backend: str, generations: Collection[str], notes: list[str]
) -> Fidelity | None:
    """None where the run's backend is not the emulator, or nothing is published of its generations.

    A file of points that cannot be read costs the run its fidelity, nothing else: `notes` say so.
    """
    brought = [name for name in generations if registry.generations[name].published is not None]
    if backend != EMULATOR or not brought:
        return None
    try:
        return kept(validate(registry, generations=brought))
    except TrnbenchError as error:
        notes.append(f"the model was not held against published points: {error.what}")
        return None
