"""The Neuron stack: Trainium and Inferentia2 instances, measured with the tools of their vendor.

What each module reads follows the format its document prints; what was never tried on real
hardware is listed in `settings` and shown by `trnbench doctor`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import trnbench
from trnbench import Importer

if TYPE_CHECKING:
    from trnbench import Backend
    from trnbench.generation import Systems


@trnbench.hookimpl
def trnbench_backends(systems: Systems) -> Iterator[Backend]:
    """Trainium and Inferentia2, where this machine has them."""
    from trnbench_neuron.backend import NeuronBackend

    yield NeuronBackend(systems)


@trnbench.hookimpl
def trnbench_importers() -> Iterator[Importer]:
    """Collectives that were measured without us."""
    yield Importer(name="nccom-test", title="nccom-test, JSON or text", read="trnbench_neuron.nccom:read")
