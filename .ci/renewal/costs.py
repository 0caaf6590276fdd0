"""The cycles that tests compare every row of the cost tables with."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from renewal import ROOT, write

if TYPE_CHECKING:
    from trnbench.registry import Registry


def renew(registry: Registry) -> None:
    """By arithmetic of the tests' own: read what changes."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    cost_rows: Any = import_module("cost_rows")

    cycles: dict[str, list[float]] = {}
    for row in cost_rows.rows():
        constants = registry.costs(row.generation)["constants"]
        cycles[row.name] = cost_rows.cycles(row.entry["cycles"], constants)
    write(cost_rows.KEPT, cost_rows.as_toml(cycles))
