"""The emulator as a plugin: one backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from trnbench.backend import Backend

# The same marker as trnbench.hookimpl; backends lie below the hooks and import nothing from there.
hookimpl = pluggy.HookimplMarker("trnbench")


@hookimpl
def trnbench_backends() -> Iterator[Backend]:
    """Emulates every system that a plugin describes."""
    from trnbench_emulator.backend import EmulatedBackend

    yield EmulatedBackend()
