"""The registry: everything plugins bring, by name, and the systems they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from trnbench.bounded import kinds
from trnbench.errors import PluginError, TrnbenchError, UnknownName, UsageError, quoted
from trnbench.facts.files import Files, Memo, Reader, read_book, read_costs
from trnbench.generation import Generation
from trnbench.reference import resolve
from trnbench.registry.collection import Brought, Collecting
from trnbench.registry.discovery import Discovered, Origin, discover
from trnbench.registry.loader import described

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.extension import (
        Check,
        ExecutorEntry,
        Expectation,
        Format,
        Importer,
        ModelFile,
        Page,
        Section,
        StepKernel,
        Trace,
    )
    from trnbench.facts.fact import FactBook
    from trnbench.generation import Generation, Instance, System
    from trnbench.kernels.kernel import Kernel, Template, Variant


def _by_name(hook: str, kind: str) -> Any:
    """A property of a registry: what plugins bring of this kind."""
    return cached_property(lambda registry: registry.named(hook, kind))


class Registry(Collecting):
    """Nothing is asked, read or built before it is used."""

    reading: Reader = Memo()

    def __init__(self, found: Iterable[Discovered], left_out: Iterable[Origin] = ()) -> None:
        super().__init__(found, left_out)
        self._books: dict[tuple[str, tuple[Path, ...]], FactBook] = {}
        self._costs: dict[str, dict[str, Any]] = {}
        self._reads: dict[str, bool] = {}

    def fresh(self) -> Self:
        """The same plugins, nothing collected yet; files are read as by this one."""
        fresh = type(self)(self._found, self.left_out)
        fresh.reading = self.reading
        return fresh

    # ---- what plugins bring

    def named(self, hook: str, kind: str) -> dict[str, Any]:
        """What was yielded of `kind` for `hook`, by name."""
        return {brought.name: brought.value for brought in self.brought(hook) if brought.kind == kind}

    def brought(self, hook: str) -> tuple[Brought, ...]:
        """As of every collection; files of kernels are read by `reading`."""
        if hook != "trnbench_kernels":
            return super().brought(hook)
        from trnbench.kernels.table import READING  # many commands ask for no kernel

        before = READING.set(self.reading)
        try:
            with self.reading.together():
                return super().brought(hook)
        finally:
            READING.reset(before)

    @cached_property
    def generations(self) -> dict[str, Generation]:
        """By name, in the order reports show them."""
        generations: dict[str, Generation] = self.named("trnbench_generations", "generation")
        return dict(sorted(generations.items(), key=lambda item: (item[1].order, item[0])))

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """By name, with the implementations that other plugins add to them."""
        kernels: dict[str, Kernel] = self.named("trnbench_kernels", "kernel")
        for brought in self.brought("trnbench_kernels"):
            if brought.kind == "variant" and (kernel := kernels.get(brought.value.kernel)) is not None:
                kernels[kernel.name] = self._varied(kernel, brought)
        return kernels

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
        return replace(kernel, implementations=more)

    backends: dict[str, Backend] = _by_name("trnbench_backends", "backend")

    def backend(self, name: str) -> Backend | None:
        """The one of this name; those of plugins behind it are not made."""
        backend: Backend | None = self.first("trnbench_backends", "backend", name)
        return backend

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Report sections in the order of the page."""
        sections = self.named("trnbench_reports", "section").values()
        return tuple(sorted(sections, key=lambda section: (section.order, section.name)))

    formats: dict[str, Format] = _by_name("trnbench_reports", "format")

    pages: dict[str, Page] = _by_name("trnbench_reports", "page")
    """By the command that writes one."""

    importers: dict[str, Importer] = _by_name("trnbench_importers", "importer")

    models: dict[str, ModelFile] = _by_name("trnbench_workloads", "model")
    """Models that plugins bring, by name."""

    step_kernels: dict[str, StepKernel] = _by_name("trnbench_workloads", "operator")
    """Kernels for operators of a step that plugins bring, by name."""

    templates: dict[str, Template] = _by_name("trnbench_kernels", "template")
    """Makers of kernels, by the field of a selection that holds what one is made of."""

    expectations: dict[str, Expectation] = _by_name("trnbench_expectations", "expectation")
    """Sources of published evidence."""

    executors: dict[str, ExecutorEntry] = _by_name("trnbench_executors", "executor")
    """Who carries cases out elsewhere, by what --executor calls them."""

    traces: dict[str, Trace] = _by_name("trnbench_traces", "trace")
    """What draws stored cases again, by the backend that made them."""

    checks: dict[str, Check] = _by_name("trnbench_checks", "check")
    """Checks of plugins that plugins bring."""

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
            raise self._no_instance(base)
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

    def _no_instance(self, name: str) -> UnknownName:
        """The refusal of a name; of a generation's it lists the systems."""
        generation = self.generations.get(name)
        if generation is None:
            return UnknownName("instance", name, self._instances, try_="trnbench list instances")
        names = [each.name for each in generation.instances]
        cause = f"{name} is a generation; its systems are {', '.join(names)}" if names else ""
        hint = f"trnbench list instances --generation {name}"
        return UnknownName("instance", name, names, cause=cause, try_=hint)

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

    def readable(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names`, which nobody typed, whose generation `reads`."""
        return tuple(name for name in names if self.reads(self.instance(name)[0].name))

    def reads(self, generation: str) -> bool:
        """Whether the facts and costs of a generation can be read. Where those of a plugin of others cannot,
        the plugin is named among `problems`; our own raise when they are used."""
        origin = self._origin_of(generation)
        if origin.external and generation not in self._reads:
            self._reads[generation] = False
            try:
                self.book(generation)
                self.costs(generation)
                self._reads[generation] = True
            except PluginError as error:  # names the plugin
                self._problems.append(error)
            except (Exception, SystemExit) as error:
                what = error.what if isinstance(error, TrnbenchError) else described(error)
                self._problems.append(
                    origin.blame(
                        f"brings generation {generation!r}, which is left out: {what}",
                        cause=getattr(error, "cause", ""),
                        object_=f"generation {generation!r}",
                    )
                )
        return self._reads.get(generation, True)

    def book(self, generation: str, extra_facts: tuple[Path, ...] = ()) -> FactBook:
        """The facts of a generation and of the files of one's own, read once."""
        key = (generation, tuple(extra_facts))
        if key not in self._books:
            generation_ = self.generations[generation]
            book = read_book(self.reading, Files(*generation_.facts, *extra_facts))
            if generation_.identify:
                identify: Callable[[], FactBook] = resolve(generation_.identify)
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
            brought.origin
            for brought in self.brought("trnbench_generations")
            if brought.kind == "generation" and brought.name == generation
        )


def load_registry(*, block: Iterable[str] = (), extra: Iterable[Discovered] = ()) -> Registry:
    """The registry of what is installed, without the plugins or distributions named in `block`.

    `extra` are plugins that are not installed, asked last. Nothing is imported before it is needed.
    Raises `UnknownName` for a blocked name not installed.
    """
    discovered, left_out = discover(block)
    return Registry((*discovered, *extra), left_out)


def merged_costs(
    name: str, generations: Mapping[str, Generation], origin: Origin, reading: Reader
) -> dict[str, Any]:
    """Tables merge key by key, the derived generation winning; lists and values replace.

    Raises `PluginError` when the chain of `base=` leads nowhere or round in a circle, and what
    `reading` raises.
    """
    chain: list[str] = []
    step = name
    while step:
        if step in chain:
            raise origin.blame(
                f"brings generation {name!r}, whose bases go round in a circle",
                cause=" -> ".join([*chain, step]),
                try_="remove one base= of them",
                object_=f"generation {name!r}",
            )
        if step not in generations:
            missing = UnknownName("generation", step, generations)
            raise origin.blame(
                f"brings generation {name!r}, based on {step!r}, which is not installed",
                cause=missing.cause,
                try_=f"install the plugin that brings {step!r}",
                object_=f"generation {name!r}",
            )
        chain.append(step)
        step = generations[step].base
    merged: dict[str, Any] = {}
    for ancestor in reversed(chain):
        path = generations[ancestor].costs
        if path is not None:
            merged = merge(merged, read_costs(reading, path))
        if (constants := generations[ancestor].workloads) is not None:
            merged = merge(merged, {"step": read_costs(reading, constants).get("constants", {})})
    return merged


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `over` laid on top, table by table."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
