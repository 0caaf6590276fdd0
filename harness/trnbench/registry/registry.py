"""The registry: everything plugins bring, collected hook by hook when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from trnbench.errors import PluginError, UnknownName, UsageError
from trnbench.hookspecs import CONTRACT_VERSION
from trnbench.lazy import resolve
from trnbench.registry.check import Refused, checked
from trnbench.registry.costs import merged_costs
from trnbench.registry.discovery import Discovered, Origin, discover
from trnbench.registry.loader import HOOKS, Loaded, Loader, newer_contract
from trnbench.results.run import PluginRecord

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.facts.book import FactBook
    from trnbench.generation import Generation, Instance, System
    from trnbench.kernels.kernel import Kernel
    from trnbench.section import Format, Importer, Section


class Brought(NamedTuple):
    """One value and who brought it."""

    kind: str  # "generation", "instance", "alias", "kernel", "backend", "section", "format", "importer"
    name: str
    value: Any
    origin: Origin


class Registry:
    """Lazy per hook: asking for kernels calls no other hook. See the package for what is kept."""

    def __init__(self, found: Iterable[Discovered], left_out: Iterable[Origin] = ()) -> None:
        self._found = tuple(found)
        self.left_out = tuple(left_out)
        self._problems: list[PluginError] = []
        self._by_hook: dict[str, tuple[Brought, ...]] = {}
        self._books: dict[tuple[str, tuple[Path, ...]], FactBook] = {}
        self._costs: dict[str, dict[str, Any]] = {}

    @classmethod
    def of(cls, **plugins: Any) -> Registry:
        """A registry of plugin objects that are not installed: for tests and scripts."""

        def bring(plugin: Any) -> Any:
            return lambda: plugin

        return cls(
            Discovered(Origin(name, name, "0", name), bring(plugin)) for name, plugin in plugins.items()
        )

    def fresh(self) -> Registry:
        """The same plugins, nothing collected yet."""
        return Registry(self._found, self.left_out)

    # ---- loading

    @cached_property
    def _loader(self) -> Loader:
        return Loader()

    @cached_property
    def loaded(self) -> tuple[Loaded, ...]:
        """Every plugin after the attempt to import it, with its import time, hooks and error."""
        loaded = tuple(self._loader.load(found) for found in self._found)
        self._problems += [each.error for each in loaded if each.error]
        return loaded

    def brought(self, hook: str) -> tuple[Brought, ...]:
        """Everything yielded for `hook`, names unique, in the order of the plugins."""
        if hook not in self._by_hook:
            owners: dict[tuple[str, str], Origin] = {}
            self._by_hook[hook] = tuple(
                brought
                for loaded in self.loaded
                if hook in loaded.hooks and loaded.error is None
                for brought in self._from(hook, loaded, owners)
            )
        return self._by_hook[hook]

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
                yield Brought(kind, value.name, value, loaded.origin)

    def _arguments(self, hook: str) -> dict[str, Any]:
        # Itself, as `Systems`: what --no-plugin leaves out is not there for backends either.
        return {"systems": self} if hook == "trnbench_backends" else {}

    @staticmethod
    def _checked(hook: str, value: Any, origin: Origin) -> Any:
        name = getattr(value, "name", "")
        label = f"{type(value).__name__} {name!r}" if isinstance(name, str) and name else repr(value)[:80]
        try:
            return checked(hook, value)
        except Refused as refused:
            raise origin.blame(
                f"yields from {hook} what it should not: {label}",
                cause=refused.cause,
                try_=refused.try_,
                hook=hook,
                object_=label,
            ) from None

    def _claim(
        self, hook: str, kind: str, name: str, origin: Origin, owners: dict[tuple[str, str], Origin]
    ) -> bool:
        """Whether `origin` may have `name`; the loss is reported with both owners."""
        space = "instance" if kind == "alias" else kind
        owner = owners.get((space, name))
        if owner is None:
            owners[space, name] = origin
            return True
        who = "yields it twice" if owner is origin else f"{owner} has it already"
        self._problems.append(
            origin.blame(
                f"brings {kind} {name!r}, which has an owner",
                cause=f"{who}; the first one is kept, the one of {origin.source} is left out",
                try_=f"rename one of the two, or leave one out: --no-plugin {origin.name}",
                hook=hook,
                object_=f"{kind} {name!r}",
            )
        )
        return False

    def _own_instances(
        self, generation: Generation, origin: Origin, owners: dict[tuple[str, str], Origin]
    ) -> Generation:
        """The generation with only those instances and aliases whose name was free."""
        hook, kept = "trnbench_generations", []
        for instance in generation.instances:
            if self._claim(hook, "instance", instance.name, origin, owners):
                aliases = tuple(
                    alias for alias in instance.aliases if self._claim(hook, "alias", alias, origin, owners)
                )
                kept.append(msgspec.structs.replace(instance, aliases=aliases))
        return msgspec.structs.replace(generation, instances=tuple(kept))

    # ---- what plugins bring

    def _named(self, hook: str, kind: str) -> dict[str, Any]:
        return {each.name: each.value for each in self.brought(hook) if each.kind == kind}

    @cached_property
    def generations(self) -> dict[str, Generation]:
        """By name, in the order reports show them."""
        found: dict[str, Generation] = self._named("trnbench_generations", "generation")
        return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        return self._named("trnbench_kernels", "kernel")

    @cached_property
    def backends(self) -> dict[str, Backend]:
        return self._named("trnbench_backends", "backend")

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Report sections in the order of the page."""
        found = self._named("trnbench_reports", "section").values()
        return tuple(sorted(found, key=lambda section: (section.order, section.name)))

    @cached_property
    def formats(self) -> dict[str, Format]:
        return self._named("trnbench_reports", "format")

    @cached_property
    def importers(self) -> dict[str, Importer]:
        return self._named("trnbench_importers", "importer")

    @property
    def plugins(self) -> tuple[PluginRecord, ...]:
        """One record per plugin asked, with the problems found so far."""
        return tuple(
            PluginRecord(
                name=each.origin.name,
                distribution=each.origin.distribution,
                version=each.origin.version,
                error="; ".join(problem.what for problem in self.problems_of(each.origin)),
            )
            for each in self.loaded
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
        return tuple(each for hook in HOOKS for each in self.brought(hook))

    # ---- systems

    @cached_property
    def _instances(self) -> dict[str, tuple[Generation, Instance]]:
        return {
            name: (generation, instance)
            for generation in self.generations.values()
            for instance in generation.instances
            for name in (instance.name, *instance.aliases)
        }

    def instance_names(self, *, aliases: bool = False) -> tuple[str, ...]:
        """Names of all instances, generation by generation."""
        return tuple(
            name for name, (_, instance) in self._instances.items() if aliases or name == instance.name
        )

    def instance(self, name: str) -> tuple[Generation, Instance]:
        """The instance of this name or alias; a ":size" behind it is checked and otherwise ignored.

        Raises `UnknownName`, or `UsageError` for a size that makes no system.
        """
        generation, instance, _ = self._sized(name)
        return generation, instance

    def _sized(self, name: str) -> tuple[Generation, Instance, int]:
        base, colon, size = name.partition(":")
        if base not in self._instances:
            generation = self.generations.get(base)
            hint = f"trnbench list instances --generation {base}" if generation else "trnbench list instances"
            known = [each.name for each in generation.instances] if generation else self._instances
            raise UnknownName("instance", base, known, try_=hint)
        generation, instance = self._instances[base]
        if not colon:
            return generation, instance, instance.default_size if instance.sizable else 1
        if not instance.sizable:
            raise UsageError(
                f"instance {instance.name!r} cannot be given a size",
                cause=f"{name!r} asks for size {size!r}; it is one machine, not a number of them",
                try_=instance.name,
            )
        if not size.isascii() or not size.isdigit() or int(size) < 1:
            raise UsageError(
                f"{size!r} is no size of {instance.name}",
                cause=f"a size is a whole number of {instance.parent}, 1 or more",
                try_=f"{instance.name}:{instance.default_size}",
            )
        return generation, instance, int(size)

    def system(self, name: str, extra_facts: tuple[Path, ...] = ()) -> System:
        """The system of this name with its facts and costs read; `extra_facts` join the book.

        Raises `UnknownName`, `UsageError`, and `FactError` or `MissingFile` for what cannot be read.
        """
        from trnbench.generation import System

        generation, instance, size = self._sized(name)
        return System(
            instance=instance,
            generation=generation,
            book=self.book(generation.name, extra_facts),
            costs=self.costs(generation.name),
            size=size,
            plugin=self._origin_of(generation.name).source,
        )

    def book(self, generation: str, extra_facts: tuple[Path, ...] = ()) -> FactBook:
        """The facts of a generation and of the files of one's own, read once."""
        key = (generation, tuple(extra_facts))
        if key not in self._books:
            from trnbench.facts.load import load_book

            found = self.generations[generation]
            book = load_book((*found.facts, *extra_facts))
            if found.identify:
                identify: Callable[[], FactBook] = resolve(found.identify)
                # One's own figures first: they replace what was read off the machine.
                book = book.merged(identify()) if extra_facts else identify().merged(book)
            self._books[key] = book
        return self._books[key]

    def costs(self, generation: str) -> dict[str, Any]:
        """The cost table of a generation over that of its bases, read once."""
        if generation not in self._costs:
            self._costs[generation] = merged_costs(generation, self.generations, self._origin_of(generation))
        return self._costs[generation]

    def _origin_of(self, generation: str) -> Origin:
        return next(
            each.origin
            for each in self.brought("trnbench_generations")
            if each.kind == "generation" and each.name == generation
        )


_KINDS: Mapping[str, str] = {
    "trnbench_generations": "generation",
    "trnbench_kernels": "kernel",
    "trnbench_backends": "backend",
    "trnbench_importers": "importer",
}


def _kind(hook: str, value: Any) -> str:
    return _KINDS.get(hook) or type(value).__name__.lower()


def load_registry(*, block: Iterable[str] = (), extra: Iterable[Discovered] = ()) -> Registry:
    """The registry of what is installed, without the plugins or distributions named in `block`.

    `extra` are plugins that are not installed, asked last. Nothing is imported before it is needed.
    Raises `UnknownName` for a blocked name not installed.
    """
    found, left_out = discover(block)
    return Registry((*found, *extra), left_out)
