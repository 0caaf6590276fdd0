"""All that an answer of the model about a generation follows from."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.backend import Reproducible
from trnbench.digest import digest_of
from trnbench.store.source_digest import files_digest, package_of, packages_digest
from trnbench_fidelity.bench import EMULATOR

if TYPE_CHECKING:
    from trnbench.generation import Generation
    from trnbench.registry import Registry

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


def lineage(registry: Registry, generation: str) -> list[Generation]:
    """The generation, then those whose costs it inherits, as far as they are installed."""
    chain: dict[str, Generation] = {}
    while generation in registry.generations and generation not in chain:
        chain[generation] = registry.generations[generation]
        generation = chain[generation].base
    return list(chain.values())


def _more(each: Generation) -> tuple[Path | None, ...]:
    return each.points_file, each.steps_file, each.untouched_file, each.workloads, each.answers


def _files(registry: Registry, generations: Collection[str]) -> list[Path]:
    return sorted(
        {
            path
            for name in generations
            for each in lineage(registry, name)
            for path in (*each.facts, each.costs, *_more(each))
            if path is not None
        }
    )
