"""What all plugins bring together: loaded one by one, checked, and blamed by name when they fail.

A plugin that fails is reported as `PluginError` (`Registry.problems`) and skipped; what is kept:

- cannot be imported, misspells a hook, takes arguments the hook does not have, needs a newer
  contract: nothing of the plugin;
- a hook that raises, even half way, or yields the wrong thing: nothing of that hook from that plugin;
- a name that another plugin owns: the first owner keeps it (trnbench's own before others, then by
  distribution), the second one's value is left out and everything else it brings is kept.
"""

from __future__ import annotations

from trnbench.registry.discover import NO_EXTERNAL, TRACE, Discovered, Origin, discover
from trnbench.registry.registry import Registry, load_registry

__all__ = ["NO_EXTERNAL", "TRACE", "Discovered", "Origin", "Registry", "discover", "load_registry"]
