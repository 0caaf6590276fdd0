"""Plugins that are installed, before any of them is imported: where each comes from, which are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from trnbench.distribution import NO_EXTERNAL, OWN, EntryPoint, enabled, entry_points, normalised
from trnbench.errors import PluginError, UnknownName
from trnbench.record import Record


class Origin(Record):
    """Where a plugin comes from: what every complaint about it has to name."""

    name: str  # of the entry point
    distribution: str
    version: str
    target: str = ""  # "package.module" or "package.module:object"

    @property
    def external(self) -> bool:
        return normalised(self.distribution) != OWN

    @property
    def source(self) -> str:
        """ "acme-trn 1.2": the distribution and its version."""
        return f"{self.distribution} {self.version}".strip()

    def __str__(self) -> str:
        return f"plugin {self.name!r} of {self.source}"

    def blame(
        self, what: str, *, cause: str = "", try_: str = "", hook: str = "", object_: str = ""
    ) -> PluginError:
        """A `PluginError` that says who, where and what to type."""
        return PluginError(
            f"{self} {what}",
            cause=cause,
            try_=try_ or f"trnbench plugin check {self.name}, or leave it out: --no-plugin {self.name}",
            plugin=self.name,
            distribution=self.distribution,
            version=self.version,
            hook=hook,
            object_=object_,
        )


class Discovered(Record):
    """An installed plugin. `load` imports it; it may raise anything."""

    origin: Origin
    load: Callable[[], Any]

    @classmethod
    def of(cls, entry: EntryPoint) -> Discovered:
        """The plugin that an entry point names."""
        return cls(Origin(entry.name, entry.distribution, entry.version, entry.value), entry.load)


def discover(block: Iterable[str] = ()) -> tuple[list[Discovered], list[Origin]]:
    """Installed plugins in the order they are asked, and those left out on purpose.

    `block` holds names of plugins or distributions; the environment variable
    TRNBENCH_NO_EXTERNAL_PLUGINS leaves out all that are not trnbench's own. trnbench's own come
    first, the others by distribution and name, so that the same machine gives the same order.
    Raises `UnknownName` for a blocked name that no installed plugin has.
    """
    # The group's name is written out: `registry.hookspecs` imports pluggy, and --help asks nothing of it.
    discovered = [Discovered.of(entry) for entry in entry_points(("trnbench",))]
    discovered.sort(
        key=lambda each: (each.origin.external, normalised(each.origin.distribution), each.origin.name)
    )

    known = {name for each in discovered for name in (each.origin.name, each.origin.distribution)}
    comparable = set(map(normalised, known))
    blocked_names = set()
    for name in block:
        if normalised(name) not in comparable:
            raise UnknownName("plugin", name, known, try_="trnbench plugin list")
        blocked_names.add(normalised(name))

    no_external = enabled(NO_EXTERNAL)
    asked, left_out = [], []
    for each in discovered:
        names = {normalised(each.origin.name), normalised(each.origin.distribution)}
        if names & blocked_names or (no_external and each.origin.external):
            left_out.append(each.origin)
        else:
            asked.append(each)
    return asked, left_out
