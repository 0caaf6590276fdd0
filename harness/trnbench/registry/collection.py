"""What plugins yield, hook by hook: checked, its name claimed, its failures blamed on who brought it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from trnbench.errors import PluginError
from trnbench.isolation.supervision import suspected
from trnbench.record import Record
from trnbench.registry.check import Refused, checked
from trnbench.registry.discovery import Discovered, Origin
from trnbench.registry.loader import HOOKS, Loaded, Loader, described, former_paths, newer_contract, refusal
from trnbench.version import CONTRACT_VERSION

if TYPE_CHECKING:
    from trnbench.generation import Generation
    from trnbench.results.run import PluginRecord


class Brought(Record):
    """One value and who brought it."""

    kind: str  # "generation", "instance", "alias", or the name of the type in lower case
    name: str
    value: Any
    origin: Origin


class Collecting:
    """Plugins loaded, their hooks called when they are asked for, names given to their first owner.

    Lazy per hook: asking for kernels calls no other hook. See the package for what is kept.
    """

    def __init__(self, found: Iterable[Discovered], left_out: Iterable[Origin] = ()) -> None:
        self._found = tuple(found)
        self.left_out = tuple(left_out)
        self._problems: list[PluginError] = []
        self._asked: dict[str, tuple[list[Brought], Iterator[Brought]]] = {}

    @classmethod
    def of(cls, **plugins: Any) -> Self:
        """A registry of plugin objects that are not installed: for tests and scripts."""

        def bring(plugin: Any) -> Any:
            return lambda: plugin

        return cls(
            Discovered(Origin(name, name, "0", name), bring(plugin)) for name, plugin in plugins.items()
        )

    # ---- loading

    @cached_property
    def _loader(self) -> Loader:
        return Loader()

    @cached_property
    def loaded(self) -> tuple[Loaded, ...]:
        """Every plugin after the attempt to import it, with its import time, hooks and error."""
        loaded = tuple(
            Loaded(installed.origin, error)
            if (error := refusal(installed.origin)) is not None
            else self._loader.load(installed)
            for installed in self._found
        )
        self._problems += [plugin.error for plugin in loaded if plugin.error]
        return loaded

    def brought(self, hook: str) -> tuple[Brought, ...]:
        """Everything yielded for `hook`, names unique, in the order of the plugins."""
        return tuple(self._yielded(hook))

    def first(self, hook: str, kind: str, name: str) -> Any:
        """What has this name; plugins behind the one that brings it are not asked. None where nobody does."""
        named = (each.value for each in self._yielded(hook) if (each.kind, each.name) == (kind, name))
        return next(named, None)

    def _yielded(self, hook: str) -> Iterator[Brought]:
        """What was yielded so far, then the rest, as it is asked for."""
        if hook not in self._asked:
            owners: dict[tuple[str, str], Origin] = {}
            asked = (
                brought
                for loaded in self.loaded
                if hook in loaded.hooks and loaded.error is None
                for brought in self._from(hook, loaded, owners)
            )
            self._asked[hook] = ([], asked)
        sofar, remaining = self._asked[hook]
        yield from sofar
        for brought in remaining:
            sofar.append(brought)
            yield brought

    def _from(self, hook: str, loaded: Loaded, owners: dict[tuple[str, str], Origin]) -> Iterator[Brought]:
        try:
            values = [
                self._checked(hook, value, loaded.origin)
                for value in self._loader.call(hook, loaded, self.loaded, self._arguments(hook))
            ]
        except PluginError as error:
            self._problems.append(error)
            return
        for value in values:
            contract = getattr(value, "contract", CONTRACT_VERSION)
            kind = _kind(hook, value)
            if kind == "generation" and contract > CONTRACT_VERSION:
                self._problems.append(newer_contract(loaded.origin, contract, f"generation {value.name!r}"))
            elif self._claim(hook, kind, value.name, loaded.origin, owners):
                if kind == "generation":
                    value = self._own_instances(value, loaded.origin, owners)
                    self._problems += former_paths(loaded.origin, value)
                yield Brought(kind, value.name, _apart(value, loaded.origin), loaded.origin)

    def _arguments(self, hook: str) -> dict[str, Any]:
        # Itself, as `Systems`: what --no-plugin leaves out is not there for backends either.
        return {"systems": self} if hook == "trnbench_backends" else {}

    @staticmethod
    def _checked(hook: str, value: Any, origin: Origin) -> Any:
        label = f"one {type(value).__name__}"
        try:
            name = getattr(value, "name", "")
            label = f"{type(value).__name__} {name!r}" if isinstance(name, str) and name else _shown(value)
            return checked(hook, value)
        except Refused as refused:
            cause, try_ = refused.cause, refused.try_
        except Exception as error:  # an object that does not even let itself be looked at
            cause, try_ = described(error), "let its attributes be read"
        raise origin.blame(
            f"yields from {hook} what it should not: {label}",
            cause=cause,
            try_=try_,
            hook=hook,
            object_=label,
        )

    def _claim(
        self, hook: str, kind: str, name: str, origin: Origin, owners: dict[tuple[str, str], Origin]
    ) -> bool:
        """Whether `origin` may have `name`; the loss is reported with both owners."""
        space = "instance" if kind == "alias" else kind
        owner = owners.get((space, name))
        if owner is None:
            owners[space, name] = origin
            return True
        twice = owner is origin
        who = "" if twice else f"{owner} has it already; "
        left_out = "the second" if twice else f"the one of {origin.source}"
        without = "" if twice else f", or leave one out: --no-plugin {origin.name}"
        self._problems.append(
            origin.blame(
                f"brings {kind} {name!r} twice" if twice else f"brings {kind} {name!r}, which has an owner",
                cause=f"{who}the first one is kept, {left_out} is left out",
                try_=f"rename one of the two{without}",
                hook=hook,
                object_=f"{kind} {name!r}",
            )
        )
        return False

    def _own_instances(
        self, generation: Generation, origin: Origin, owners: dict[tuple[str, str], Origin]
    ) -> Generation:
        """The generation with only those instances and aliases whose name was free."""
        hook, owned = "trnbench_generations", []
        for instance in generation.instances:
            if self._claim(hook, "instance", instance.name, origin, owners):
                aliases = tuple(
                    alias for alias in instance.aliases if self._claim(hook, "alias", alias, origin, owners)
                )
                owned.append(replace(instance, aliases=aliases))
        return replace(generation, instances=tuple(owned))

    # ---- what was found

    @property
    def plugins(self) -> tuple[PluginRecord, ...]:
        """One record per plugin asked, with the problems found so far."""
        from trnbench.results.run import PluginRecord

        return tuple(
            PluginRecord(
                name=plugin.origin.name,
                distribution=plugin.origin.distribution,
                version=plugin.origin.version,
                error="; ".join(problem.what for problem in self.problems_of(plugin.origin)),
            )
            for plugin in self.loaded
        )

    @property
    def problems(self) -> tuple[PluginError, ...]:
        """Found so far: hooks not asked yet have shown none. `collect` asks them all."""
        _ = self.loaded
        return tuple(self._problems)

    def problems_of(self, origin: Origin) -> tuple[PluginError, ...]:
        return tuple(
            problem
            for problem in self.problems
            if (problem.plugin, problem.distribution) == (origin.name, origin.distribution)
        )

    def collect(self) -> tuple[Brought, ...]:
        """Ask every hook of every plugin: for `plugin list`, `plugin check` and `doctor`."""
        return tuple(brought for hook in HOOKS for brought in self.brought(hook))


_OF_TYPES: Mapping[str, str] = {"ModelFile": "model", "StepKernel": "operator", "ExecutorEntry": "executor"}


def _kind(hook: str, value: Any) -> str:
    name = type(value).__name__
    return "backend" if hook == "trnbench_backends" else _OF_TYPES.get(name) or name.lower()


def _apart(value: Any, origin: Origin) -> Any:
    if not suspected(origin.distribution):
        return value
    from trnbench.registry.plugin_copy import (
        apart,  # brings pickle and inspect; most commands keep nothing apart
    )

    return apart(value, origin)


def _shown(value: Any) -> str:
    """As it is written, unless that is an address."""
    shown = repr(value)
    return f"one {type(value).__name__}" if " at 0x" in shown else shown[:80]
