"""The Neuron stack as a plugin: one backend."""

from __future__ import annotations

from collections.abc import Iterator

import pluggy

from trnbench.backend import Backend
from trnbench.generation import Systems

# The same marker as trnbench.hookimpl; backends lie below the hooks and import nothing from there.
hookimpl = pluggy.HookimplMarker("trnbench")


@hookimpl
def trnbench_backends(systems: Systems) -> Iterator[Backend]:
    """Trainium and Inferentia2, where this machine has them."""
    from trnbench.measure.neuron.backend import NeuronBackend

    yield NeuronBackend(systems)
