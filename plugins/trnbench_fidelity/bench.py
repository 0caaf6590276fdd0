"""What adapters work with, systems, kernels and the emulator, and all that answers about them follow from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from trnbench import Case, CaseKey, Extent, Generation, Grade, Scope, System, TrnbenchError, UsageError
from trnbench.backend import Backend, Observation, Reproducible
from trnbench.digest import digest_of, files_digest, package_of, packages_digest
from trnbench_fidelity.point import KernelSource, NotEmulated, PublishedPoint, Quantity

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.store.cache import Cache
    from trnbench_emulator.compiler import Assumptions
    from trnbench_emulator.core.costs import CostTable
    from trnbench_emulator.core.recording import Recorder
    from trnbench_emulator.core.timing import KernelModel


T = TypeVar("T")

EMULATOR = "emulated"


class Bench:
    """`kernels` is a folder of public sources, or None. `without` names a point whose own share in
    the fitted constants is taken out, where the cost file says what they are without it. `values`
    take the place of constants of [[fits]] by name. `assumptions`: what the compiler is taken to do to
    public kernels, None as shipped. `assumption`: another value, in base units, of one that the facts name.
    `recorder` keeps what kernels do, which depends on no cost: benches share one."""

    def __init__(
        self,
        registry: Registry,
        *,
        kernels: Path | None = None,
        without: str = "",
        values: Mapping[str, float] = MappingProxyType({}),
        assumptions: Assumptions | None = None,
        assumption: tuple[str, float] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.assumptions, self.assumption = assumptions, assumption
        self._recorder = recorder
        self.registry, self.kernels, self.without, self.values = registry, kernels, without, values
        self._refits: dict[object, Bench] = {}
        self._systems: dict[str, System] = {}

    @cached_property
    def kernel_model(self) -> KernelModel:
        from trnbench_emulator.core.timing import KernelModel

        return KernelModel(self._recorder)

    @cached_property
    def backend(self) -> Backend:
        found = self.registry.backend(EMULATOR)
        if found is None:
            raise NotEmulated("no emulator is installed")
        return found

    def model(self) -> tuple[str, str]:
        """Name and version of the model as runs record them."""
        try:
            said = self.backend.environment()
        except NotEmulated:
            return "no emulator", ""
        return str(said.get("emulator_model", self.backend.name)), str(said.get("emulator_model_version", ""))

    def system(self, name: str) -> System:
        """Raises `NotEmulated` when the point names no system that a plugin describes."""
        if not name:
            raise NotEmulated("the system is not stated")
        if name not in self._systems:
            try:
                system = self.registry.system(name)
            except UsageError as error:
                raise NotEmulated(error.what) from None
            if self.without:
                system = replace(system, costs=refitted(system.costs, self.without))
            if self.values:
                system = replace(system, costs=with_values(system.costs, self.values))
            if self.assumption:
                from trnbench_emulator.compiler import assuming

                system = assuming(system, *self.assumption)
            self._systems[name] = system
        return self._systems[name]

    def source(self, point: PublishedPoint) -> tuple[Path, KernelSource]:
        """The folder of public kernels, and the kernel of the point. Raises `NotEmulated` without either."""
        source = point.kernel
        if source is None:
            why = point.no_kernel or "the file of the kernel is not recorded"
            raise NotEmulated(why, source_missing=not point.no_kernel)
        if self.kernels is None:
            raise NotEmulated(f"{source.file}::{source.function}", source_missing=True)
        return self.kernels, source

    def unseen(self, point: PublishedPoint) -> Bench:
        """The bench of a model whose constants were fitted without `point`; itself where that changes
        nothing. Points that leave the same constants behind share one."""
        costs = self.system(point.system).costs
        left = tuple(
            (name, fit["held_out"][point.id])
            for name, fit in constants(costs)
            if point.id in fit.get("held_out", {}) and fit["held_out"][point.id] != fit["value"]
        )
        if not left:
            return self
        key = (point.generation, left)
        if key not in self._refits:
            self._refits[key] = Bench(
                self.registry,
                kernels=self.kernels,
                without=point.id,
                assumptions=self.assumptions,
                recorder=self.kernel_model.recorder,
            )
        return self._refits[key]

    def table(self, name: str) -> CostTable:
        """Instruction and transfer costs of the core of system `name`."""
        return self.kernel_model.table(self.system(name))

    def peak(self, point: PublishedPoint) -> float | None:
        """FLOP/s that the point is a share of by its source's MFU; None where it is something else."""
        if point.quantity is not Quantity.SHARE or "MFU" not in point.metric:
            return None
        return self.system(point.system).fact(Scope.CORE, "peak_flops", dtype=point.dtype)

    def observe(
        self, kernel: str, system: str, point: Mapping[str, Any], scope: Scope, extent: Extent
    ) -> tuple[Observation, dict[str, float]]:
        """One case of a kernel as the emulator sees it, and the work it counts.

        Raises `NotEmulated` for a kernel that is not installed and a case the emulator refuses.
        """
        machine = self.system(system)
        described = self.registry.kernels.get(kernel)
        if described is None:
            raise NotEmulated(f"kernel {kernel} is not installed")
        key = CaseKey(
            kernel=kernel,
            family=described.family,
            instance=machine.name,
            generation=machine.generation.name,
            scope=scope,
            point=dict(point),
        )
        case = Case(key=key, kernel=described, extent=extent, explain=False)
        if why := self.backend.unsupported(case, machine):
            raise NotEmulated(why)
        try:
            seen = self.backend.observe(case, machine)
        except TrnbenchError as error:
            raise NotEmulated(f"{error.what}{f' ({error.cause})' if error.cause else ''}") from None
        if seen.time_s is None or seen.time_s <= 0:
            raise NotEmulated(seen.reason_text or "the emulator gave no time")
        if seen.evidence.grade is Grade.DERIVED:
            raise NotEmulated(f"no source of {kernel} takes this point: only a formula answers")
        return seen, described.work(point, extent).as_counts()


def fits_of(costs: Mapping[str, Any], point: PublishedPoint) -> tuple[str, ...]:
    """Names of the constants that were fitted on this point."""
    named = tuple(name for name, fit in constants(costs) if seen_by(fit, point.id))
    return (*named, *point.fitted)


def can_refit(costs: Mapping[str, Any], point: PublishedPoint) -> bool:
    """Whether the cost file says what every constant fitted on this point is without it."""
    fits = [fit for _, fit in constants(costs) if seen_by(fit, point.id)]
    return bool(fits) and not point.fitted and all(point.id in fit.get("held_out", {}) for fit in fits)


def seen_by(fit: Mapping[str, Any], id: str) -> bool:
    """Whether a constant was fitted on point `id`; "t2-nccom-*" in its list stands for many."""
    return any(fnmatchcase(id, each) for each in fit["points"])


STEP = "step"
"""Where a cost table has the constants of a model's step (`registry.costs`)."""


def constants(costs: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every constant of a cost table fitted on measurements: rows of [[fits]], and tables with `value` and
    `points`. Those of a model's step are fitted on published steps (`fidelity.workloads`)."""
    for fit in costs.get("fits", ()):
        yield str(fit.get("name", "")), fit
    for key, table in costs.items():
        if isinstance(table, Mapping) and key != STEP:
            yield from _nested(key, table)


def _nested(name: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "value" in table and isinstance(table.get("points"), list):
        yield name, table
        return
    for key, inner in table.items():
        if isinstance(inner, Mapping):
            yield from _nested(f"{name}.{key}", inner)


def refitted(costs: Mapping[str, Any], id: str) -> dict[str, Any]:
    """The cost table with each constant at the value it has when point `id` is left out of its fit."""

    def turned(value: Any) -> Any:
        if isinstance(value, Mapping):
            inner = {key: turned(each) for key, each in value.items()}
            return inner | {"value": value["held_out"][id]} if id in value.get("held_out", {}) else inner
        return [turned(each) for each in value] if isinstance(value, list) else value

    return {key: turned(value) for key, value in costs.items()}


def with_values(costs: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, Any]:
    """The cost table with these values in place of those of [[fits]]."""
    rows = [{**fit, "value": values.get(fit["name"], fit["value"])} for fit in costs.get("fits", ())]
    return {**costs, "fits": rows}


_OURS = ("trnbench_fidelity", "trnbench.kernels", "trnbench_steps")


def inputs_of(registry: Registry, generations: Collection[str]) -> object:
    """Files and their times, and the very objects that answer: another of any is another question."""
    return (
        tuple(generations),
        tuple((str(path), path.stat().st_mtime_ns) for path in _files(registry, generations)),
        type(registry.backend(EMULATOR)),
        tuple(registry.kernels),
    )


def inputs_digest(registry: Registry, generations: Collection[str]) -> bytes:
    """The same by content, and all code that has a say: good in any process. Raises `OSError`."""
    backend = registry.backend(EMULATOR)
    code = backend.worked_out_with() if isinstance(backend, Reproducible) else ()
    said = backend.environment() if backend is not None else {}
    builders = {
        package_of(instance.topology)
        for name in generations
        for instance in registry.generations[name].instances
    }
    kernels = {package_of(kernel.work) for kernel in registry.kernels.values()} - {"trnbench"}
    return digest_of(
        files_digest(_files(registry, generations)),
        packages_digest({*code, *_OURS, *builders, *kernels}),
        repr((type(backend), sorted(said.items()), list(generations), sorted(registry.kernels), sys.version)),
    )


def remembered(cache: Cache | None, key: Callable[[], bytes], kind: type[T], made: Callable[[], T]) -> T:
    """What `made` gives, from `cache` where it stands there by `key`."""
    if cache is None:
        return made()
    digest = key()
    content = cache.get(digest)
    if content is not None:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # else it is made anew
            return msgspec.msgpack.decode(content, type=kind)
    answer = made()
    cache.put(digest, msgspec.msgpack.encode(answer))
    return answer


def lineage(registry: Registry, generation: str) -> list[Generation]:
    """The generation, then those whose costs it inherits, as far as they are installed."""
    chain: dict[str, Generation] = {}
    while generation in registry.generations and generation not in chain:
        chain[generation] = registry.generations[generation]
        generation = chain[generation].base
    return list(chain.values())


def _files(registry: Registry, generations: Collection[str]) -> list[Path]:
    return sorted(
        {
            path
            for name in generations
            for each in lineage(registry, name)
            for path in (
                *each.facts,
                each.costs,
                each.points_file,
                each.steps_file,
                each.untouched_file,
                each.workloads,
                each.answers,
            )
            if path is not None
        }
    )
