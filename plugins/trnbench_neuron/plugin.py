"""The Neuron stack as a plugin: one backend, and a reader of its tool's results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pluggy

from trnbench.section import Importer

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.generation import Systems

# The same marker as trnbench.hookimpl; backends lie below the hooks and import nothing from there.
hookimpl = pluggy.HookimplMarker("trnbench")


@hookimpl
def trnbench_backends(systems: Systems) -> Iterator[Backend]:
    """Trainium and Inferentia2, where this machine has them."""
    from trnbench_neuron.backend import NeuronBackend

    yield NeuronBackend(systems)


@hookimpl
def trnbench_importers() -> Iterator[Importer]:
    """Collectives that were measured without us."""
    yield Importer(
        name="nccom-test", title="nccom-test, JSON or text", read="trnbench_neuron.nccom_file:read"
    )
