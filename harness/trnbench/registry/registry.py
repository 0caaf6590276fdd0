"""The registry: everything plugins bring, by name, and the systems they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from trnbench.bounded import kinds
from trnbench.errors import UnknownName, UsageError
from trnbench.lazy import resolve
from trnbench.quoting import quoted
from trnbench.registry.collecting import Brought, Collecting
from trnbench.registry.costs import merged_costs
from trnbench.registry.discovery import Discovered, Origin, discover
from trnbench.registry.files import Files
from trnbench.registry.reading import Anew, Once, Reading

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.extension import Check, ExecutorEntry, Expectation, Trace
    from trnbench.facts.book import FactBook
    from trnbench.generation import Generation, Instance, System
    from trnbench.kernels.kernel import Kernel
    from trnbench.kernels.template import Template
    from trnbench.kernels.variant import Variant
    from trnbench.section import Format, Importer, Page, Section
    from trnbench.workload import ModelFile, StepKernel


class Registry(Collecting):
    """Nothing is asked, read or built before it is used."""

    reading: Reading = Once(Anew())

    def __init__(self, found: Iterable[Discovered], left_out: Iterable[Origin] = ()) -> None:
        super().__init__(found, left_out)
        self._books: dict[tuple[str, tuple[Path, ...]], FactBook] = {}
        self._costs: dict[str, dict[str, Any]] = {}

    def fresh(self) -> Self:
        """The same plugins, nothing collected yet; files are read as by this one."""
        fresh = super().fresh()
        fresh.reading = self.reading
        return fresh

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
        """By name, with the implementations that other plugins add to them."""
        found: dict[str, Kernel] = self._named("trnbench_kernels", "kernel")
        for each in self.brought("trnbench_kernels"):
            if each.kind == "variant" and (kernel := found.get(each.value.kernel)) is not None:
                found[kernel.name] = self._varied(kernel, each)
        return found

    def _varied(self, kernel: Kernel, each: Brought) -> Kernel:
        """With the variant's implementation; one that is there stays, and the plugin is told."""
        variant: Variant = each.value
        if variant.kind in kernel.implementations:
            self._problems.append(
                each.origin.blame(
                    f"brings variant {variant.name!r}, which has an owner",
                    cause=f"kernel {kernel.name!r} has an implementation of kind {variant.kind!r} already",
                    try_="bring a kernel of another name, or a variant of another kind",
                    hook="trnbench_kernels",
                    object_=f"variant {variant.name!r}",
                )
            )
            return kernel
        more = {**kernel.implementations, variant.kind: variant.source}
        return msgspec.structs.replace(kernel, implementations=more)

    @cached_property
    def backends(self) -> dict[str, Backend]:
        return self._named("trnbench_backends", "backend")

    def backend(self, name: str) -> Backend | None:
        """The one of this name; those of plugins behind it are not made."""
        found: Backend | None = self.first("trnbench_backends", "backend", name)
        return found

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Report sections in the order of the page."""
        found = self._named("trnbench_reports", "section").values()
        return tuple(sorted(found, key=lambda section: (section.order, section.name)))

    @cached_property
    def formats(self) -> dict[str, Format]:
        return self._named("trnbench_reports", "format")

    @cached_property
    def pages(self) -> dict[str, Page]:
        """By the command that writes one."""
        return self._named("trnbench_reports", "page")

    @cached_property
    def importers(self) -> dict[str, Importer]:
        return self._named("trnbench_importers", "importer")

    @cached_property
    def models(self) -> dict[str, ModelFile]:
        """Models that plugins bring, by name."""
        return self._named("trnbench_workloads", "model")

    @cached_property
    def step_kernels(self) -> dict[str, StepKernel]:
        """Kernels for operators of a step that plugins bring, by name."""
        return self._named("trnbench_workloads", "operator")

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Makers of kernels, by the field of a selection that holds what one is made of."""
        return self._named("trnbench_kernels", "template")

    @cached_property
    def expectations(self) -> dict[str, Expectation]:
        """Sources of published evidence."""
        return self._named("trnbench_expectations", "expectation")

    @cached_property
    def executors(self) -> dict[str, ExecutorEntry]:
        """Who carries cases out elsewhere, by what --executor calls them."""
        return self._named("trnbench_executors", "executor")

    @cached_property
    def traces(self) -> dict[str, Trace]:
        """What draws stored cases again, by the backend that made them."""
        return self._named("trnbench_traces", "trace")

    @cached_property
    def checks(self) -> dict[str, Check]:
        """Checks of plugins that plugins bring."""
        return self._named("trnbench_checks", "check")

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
        generation, instance, _ = self.sized(name)
        return generation, instance

    def sized(self, name: str) -> tuple[Generation, Instance, int]:
        """`instance`, and how many of its parent it has: 1 where it takes no size. Raises the same."""
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
        count = kinds.INSTANCES.parsed(size)
        if count is None:
            raise UsageError(
                f"{quoted(size)} is no size of {instance.name}",
                cause=f"a size is a whole number of {instance.parent}, {kinds.INSTANCES.range}",
                try_=f"{instance.name}:{instance.default_size}",
            )
        return generation, instance, int(count)

    def system(self, name: str, extra_facts: tuple[Path, ...] = ()) -> System:
        """The system of this name with its facts and costs read; `extra_facts` join the book.

        Raises `UnknownName`, `UsageError`, and `FactError` or `MissingFile` for what cannot be read.
        """
        from trnbench.generation import System

        generation, instance, size = self.sized(name)
        return System(
            instance=instance,
            generation=generation,
            book=self.book(generation.name, extra_facts),
            costs=self.costs(generation.name),
            size=size,
            plugin=self._origin_of(generation.name).source,
        )

    def systems(self, names: Iterable[str], extra_facts: tuple[Path, ...] = ()) -> tuple[System, ...]:
        """`system` of each, what is kept of their files looked up in one go. Raises the same."""
        with self.reading.together():
            return tuple(self.system(name, extra_facts) for name in names)

    def book(self, generation: str, extra_facts: tuple[Path, ...] = ()) -> FactBook:
        """The facts of a generation and of the files of one's own, read once."""
        key = (generation, tuple(extra_facts))
        if key not in self._books:
            found = self.generations[generation]
            book = self.reading.book(Files(*found.facts, *extra_facts))
            if found.identify:
                identify: Callable[[], FactBook] = resolve(found.identify)
                # One's own figures first: they replace what was read off the machine.
                book = book.merged(identify()) if extra_facts else identify().merged(book)
            self._books[key] = book
        return self._books[key]

    def costs(self, generation: str) -> dict[str, Any]:
        """The cost table of a generation over that of its bases, read once."""
        if generation not in self._costs:
            self._costs[generation] = merged_costs(
                generation, self.generations, self._origin_of(generation), self.reading
            )
        return self._costs[generation]

    def _origin_of(self, generation: str) -> Origin:
        return next(
            each.origin
            for each in self.brought("trnbench_generations")
            if each.kind == "generation" and each.name == generation
        )


def load_registry(*, block: Iterable[str] = (), extra: Iterable[Discovered] = ()) -> Registry:
    """The registry of what is installed, without the plugins or distributions named in `block`.

    `extra` are plugins that are not installed, asked last. Nothing is imported before it is needed.
    Raises `UnknownName` for a blocked name not installed.
    """
    found, left_out = discover(block)
    return Registry((*found, *extra), left_out)
