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
        # The largest default system stands for its parts: figures of a part are the same in each.
        for instance in sorted(generation.instances, key=lambda each: (not each.default, each.sizable)):
            if name in (instance.device, instance.core):
                scope = Scope.DEVICE if name == instance.device else Scope.CORE
                title = f"{'device' if scope is Scope.DEVICE else 'core'} of {generation.title}"
                return Subject(name, title, scope, registry.system(instance.name, extra))
            known += [instance.device, instance.core]
    raise UnknownName("instance, device or core", name, set(known), try_="trnbench spec list")
