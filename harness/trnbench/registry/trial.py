"""A plugin loaded and asked in a copy of this process first: one that ends the process is found so."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trnbench.errors import PluginError
from trnbench.isolation.child import Lost, Overdue, carried_out

if TYPE_CHECKING:
    from trnbench.registry.discovery import Origin


def trial(origin: Origin, ask: Callable[[], object]) -> PluginError | None:
    """What `ask`, which loads the plugin and calls its hooks, did to the process that it ran in; None where
    that lived. What it raises and what it says is met again when the plugin is loaded here."""

    def work(_send: Callable[[str, Any], None]) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        ask()

    def unheard(_text: str) -> None:
        """It is said again."""

    try:
        carried_out(work, {"stdout": unheard, "stderr": unheard})
    except Lost as error:
        return origin.blame(
            f"ends the process that loads it: it {error.how}",
            cause=f"importing {origin.target}, or one of its hooks, does so without an exception",
            try_=_without(origin),
            object_=origin.target,
        )
    except Overdue as error:
        return origin.blame(
            f"does not end within {error.seconds:g} s when it is loaded",
            cause=f"importing {origin.target}, or one of its hooks, hangs where no alarm reaches it",
            try_=_without(origin),
            object_=origin.target,
        )
    return None


def _without(origin: Origin) -> str:
    return f"reinstall or remove {origin.distribution}, or leave it out everywhere: --no-plugin {origin.name}"
