"""Options that several `trnbench nki` commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.errors import FactError, UsageError

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry


def system_of(registry: Registry, instance: str | None) -> System:
    """The system called `instance`; "" names those there are. Raises `UsageError` and `UnknownName`."""
    if not instance:
        raise UsageError(
            "no --instance is given",
            cause="limits and times are those of one machine",
            try_="--instance "
            + next(iter(registry.instance_names()), "NAME")
            + "   (trnbench list instances)",
        )
    return runnable(registry.system(instance))


def runnable(system: System) -> System:
    """Raises `FactError` where no cost table says how long anything takes."""
    if not system.costs:
        raise FactError(
            f"{system.generation.name} has no cost table, so no time follows",
            cause=f"its plugin ({system.plugin or 'unknown'}) brings none",
            try_="an instance of another generation: trnbench list instances",
        )
    return system
