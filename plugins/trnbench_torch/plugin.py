"""The torch stack as a plugin: the backend of NeuronCores. Those of other machines come with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.generation import Systems

# The same marker as trnbench.hookimpl; backends lie below the hooks and import nothing from there.
hookimpl = pluggy.HookimplMarker("trnbench")


@hookimpl
def trnbench_backends(systems: Systems) -> Iterator[Backend]:
    """Torch on Trainium and Inferentia2, where this machine has them and torch_neuronx."""
    from trnbench_torch.neuron import TorchNeuronBackend

    yield TorchNeuronBackend(systems)
