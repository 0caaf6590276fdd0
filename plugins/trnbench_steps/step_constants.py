"""What no document prints of a step: named constants of a generation, fitted on published steps.

`workloads.toml` beside a generation's plugin has a table for each, with its value, range, unit, the points it
was fitted on and how. A generation without the file has none: its steps are what kernels and links take.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trnbench import FactError, System
from trnbench.bounded import TABLE, parse_toml, read_file
from trnbench.record import Record


class Constant(Record, kw_only=True, forbid_unknown_fields=True):
    """A value with its range, both in `unit`; `points` it was fitted on, none where it is assumed.

    `held_out` has, by model (as published steps are voted), what it is when all points of that model are left
    out of the fit.
    """

    value: float
    low: float
    high: float
    unit: str
    method: str
    points: tuple[str, ...] = ()
    held_out: dict[str, float] = {}


class StepConstants(Record, kw_only=True):
    """Three for all software families together, in seconds and shares; each is a part of a step.

    `operator_s`: between two operators of a graph, for each in series; the host's work is in it.
    `collective_residue`: of what collectives take beside their start, added: no mechanism explains it, and
    `fabric run --context graph` adds the same. `engine_share`: of the engines' time that the compiler is
    responsible for, kernels of the software left out, added: what it leaves on the table.
    """

    operator_s: float = 0.0
    collective_residue: float = 0.0
    engine_share: float = 0.0


NONE = StepConstants()
UNITS = {"operator_s": ("us", 1e-6), "collective_residue": ("1", 1.0), "engine_share": ("1", 1.0)}
"""Of each constant, the unit that its table has, and what that is in seconds (or as a share)."""


def read_constants(path: Path) -> dict[str, Constant]:
    """The tables of `path` by name. Raises `FactError` for a name, a unit or a value that makes no sense."""
    tables = parse_toml(read_file(path, most=TABLE), str(path))
    return _constants(tables.get("constants", {}), str(path))


def _constants(tables: Mapping[str, Any], where: str) -> dict[str, Constant]:
    constants: dict[str, Constant] = {}
    for name, table in tables.items():
        if name not in UNITS:
            raise FactError(
                f"{where}: [constants.{name}] is no constant of a step",
                cause=f"they are {', '.join(UNITS)}",
                try_="one of these names",
            )
        constants[name] = _checked(name, table, where)
    return constants


def _checked(name: str, table: Any, where: str) -> Constant:
    try:
        constant = msgspec.convert(table, Constant)
    except msgspec.ValidationError as error:
        raise FactError(
            f"{where}: [constants.{name}]: {error}",
            cause="a constant has value, low, high, unit, method and points",
            try_="add what is missing",
        ) from None
    unit, _ = UNITS[name]
    if constant.unit != unit or not 0 <= constant.low <= constant.value <= constant.high:
        raise FactError(
            f"{where}: [constants.{name}] has {constant.low:g} ≤ {constant.value:g} ≤ {constant.high:g} "
            f"{constant.unit}",
            cause=f"its unit is {unit!r}, and its value lies between its ends, none of them below 0",
            try_="correct it",
        )
    return constant


def named_constants(system: System) -> dict[str, Constant]:
    """Those of the system's generation, which inherits them with its costs; none where nobody brings them.

    Raises `FactError`.
    """
    return _constants(system.costs.get("step", {}), f"constants of {system.generation.name}")


def constants_of(system: System) -> StepConstants:
    """The values of `named_constants`, in seconds and shares."""
    return in_seconds(named_constants(system))


def in_seconds(named: Mapping[str, Constant], without: str = "") -> StepConstants:
    """The values, in seconds and shares; those of a fit without the model `without` where they are known."""
    return StepConstants(
        **{name: each.held_out.get(without, each.value) * UNITS[name][1] for name, each in named.items()}
    )
