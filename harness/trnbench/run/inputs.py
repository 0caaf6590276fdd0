"""The texts that a run's numbers follow from: sources of its kernels, and cost files of its generations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.bounded.file import MIB, read_file
from trnbench.errors import TrnbenchError
from trnbench.generation import Generation
from trnbench.registry.entry_points import own_packages
from trnbench.run.identity import scrub, scrub_private
from trnbench.run.written import sources

if TYPE_CHECKING:
    from trnbench.run.plan import Plan

COSTS = "costs/"
"""Begins the name of a cost file; the generation that it speaks of follows."""


def inputs_of(plan: Plan, generations: Mapping[str, Generation], *, costs: bool) -> dict[str, str]:
    """Texts by name, sorted: `package/module.py`, `costs/trn3/package/costs.toml`; none tells the machine.

    `costs`: with the cost files of each generation, those of what it is based on among them. Files of more
    than 1 MiB, and those that are no text, are left out.
    """
    found = sources(plan)
    if costs:
        for name in {system.generation.name for system in plan.systems.values()}:
            found |= _costs(name, generations)
    return dict(sorted(_texts(found)))


def _texts(files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    own = own_packages()
    for name, content in files.items():
        if len(content) <= MIB:
            with suppress(UnicodeDecodeError):
                text = content.decode("utf-8")
                # What ships with trnbench has to read the same on every machine, whatever its user is called.
                yield scrub(name), scrub_private(text) if own.intersection(name.split("/")) else scrub(text)


def _costs(name: str, generations: Mapping[str, Generation]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    step, passed = generations.get(name), set[str]()
    while step is not None and step.name not in passed:
        passed.add(step.name)
        if step.costs is not None:
            with suppress(TrnbenchError):  # a case that needs it says so
                files[f"{COSTS}{name}/{_name(step.costs)}"] = read_file(step.costs, most=MIB)
        step = generations.get(step.base)
    return files


def _name(path: Path) -> str:
    """From the outermost package that holds the file; its last folder where none does."""
    top = path.parent
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    return path.relative_to(top.parent).as_posix()
