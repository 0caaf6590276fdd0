"""What all plugins bring together: loaded one by one, checked, and blamed by name when they fail.

A plugin that fails is reported as `PluginError` (`Registry.problems`) and skipped; what is kept:

- cannot be imported, misspells a hook, takes arguments the hook does not have, needs a newer
  contract: nothing of the plugin;
- a hook that raises, even half way, or yields the wrong thing: nothing of that hook from that plugin;
- a name that another plugin owns: the first owner keeps it (trnbench's own before others, then by
  distribution), the second one's value is left out and everything else it brings is kept.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trnbench.registry.collection import Brought
    from trnbench.registry.discovery import Discovered, Origin, discover
    from trnbench.registry.loader import Loaded
    from trnbench.registry.registry import Registry, load_registry

_HOMES = {
    "Brought": "collection",
    "Discovered": "discovery",
    "Loaded": "loader",
    "Origin": "discovery",
    "Registry": "registry",
    "discover": "discovery",
    "load_registry": "registry",
}

__all__ = ["Brought", "Discovered", "Loaded", "Origin", "Registry", "discover", "load_registry"]


def __getattr__(name: str) -> Any:
    # --help needs `entry_points` alone, and is not to pay for the rest.
    if name not in _HOMES:
        raise AttributeError(f"module 'trnbench.registry' has no attribute {name!r}")
    return getattr(import_module(f"trnbench.registry.{_HOMES[name]}"), name)
