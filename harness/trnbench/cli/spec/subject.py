"""What a name on the command line speaks of: a system, or the device or core inside one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trnbench.errors import UnknownName
from trnbench.facts.scope import Scope

if TYPE_CHECKING:
    from trnbench.facts.fact import Fact
    from trnbench.generation import System
    from trnbench.registry import Registry


class Subject(NamedTuple):
    """`name` of facts, and the system and scope at which its peaks are taken."""

    name: str
    title: str
    scope: Scope
    system: System

    @property
    def facts(self) -> list[Fact]:
        """Its own facts; for a sizable system those of the instance it is made of, too."""
        own = list(self.system.book.select(self.name))
        parent = self.system.instance.parent
        if self.system.instance.sizable and parent and self.name == self.system.instance.name:
            own += self.system.book.select(parent)
        return own


def find_subject(registry: Registry, name: str, extra: tuple[Path, ...] = ()) -> Subject:
    """Raises `UnknownName` with the nearest instances, devices and cores."""
    if name.partition(":")[0] in registry.instance_names(aliases=True):
        system = registry.system(name, extra)
        return Subject(system.instance.name, system.instance.title, system.instance.scope, system)
    known = list(registry.instance_names(aliases=True))
    for generation in registry.generations.values():
        holders = [each for each in generation.instances if name in (each.device, each.core)]
        known += [part for each in generation.instances for part in (each.device, each.core)]
        if holders:
            # The largest single system stands for its parts: figures of a part are the same in each.
            single = [each for each in holders if not each.sizable] or holders
            system = max(
                (registry.system(each.name, extra) for each in single), key=lambda each: each.devices
            )
            scope = Scope.DEVICE if name == system.instance.device else Scope.CORE
            title = f"{'device' if scope is Scope.DEVICE else 'core'} of {generation.title}"
            return Subject(name, title, scope, system)
    raise UnknownName("instance, device or core", name, set(known), try_="trnbench spec list")
