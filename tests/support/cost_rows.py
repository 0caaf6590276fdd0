"""Every instruction's row of every plugin's costs.toml, and the cycles it gives, by arithmetic of its own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "plugins_data" / "cost_rows.toml"
FUNCTIONS = {"min": min, "max": max, "ceil": math.ceil}

POINTS: dict[str, dict[str, float]] = {
    "tiny": {"N": 5, "P": 7, "F": 11, "N_stationary": 30, "N_moving": 20, "each": 3, "indices": 2, "n": 17,
             "k": 19, "dtype_bytes": 1},
    "narrow": {"N": 97, "P": 32, "F": 200, "N_stationary": 100, "N_moving": 33, "each": 8, "indices": 5,
               "n": 8, "k": 3, "dtype_bytes": 4},
    "tile": {"N": 512, "P": 128, "F": 50, "N_stationary": 128, "N_moving": 512, "each": 3, "indices": 64,
             "n": 256, "k": 8, "dtype_bytes": 2},
    "wide": {"N": 2049, "P": 101, "F": 130, "N_stationary": 61, "N_moving": 70, "each": 1, "indices": 7,
             "n": 31, "k": 5, "dtype_bytes": 4},
}  # fmt: skip
"""Sizes on both sides of every bound that a formula has: 512 and 2049 stand where ceil(N / 512) changes."""


class Row(NamedTuple):
    """One `[[instructions.NAME]]` of the file of `generation`."""

    generation: str
    instruction: str
    entry: Mapping[str, Any]

    @property
    def engines(self) -> tuple[str, ...]:
        given = self.entry["engine"]
        return (given,) if isinstance(given, str) else tuple(given)

    @property
    def name(self) -> str:
        """What the row is for, in one line: a row that is for something else is another row."""
        told = [self.generation, self.instruction, "|".join(self.engines)]
        for key, wanted in sorted(self.entry.get("when", {}).items()):
            values = "|".join(map(str, wanted)) if isinstance(wanted, list) else wanted
            told.append(key if wanted is True else f"{key}={values}")
        return " ".join([*told, *(f"({mode})" for mode in [self.entry.get("mode")] if mode)])

    @property
    def conditions(self) -> dict[str, Any]:
        """Variables with which the row fits, and no more than it asks for."""
        when = self.entry.get("when", {})
        return {key: wanted[0] if isinstance(wanted, list) else wanted for key, wanted in when.items()}


def files() -> dict[str, Path]:
    """The cost file of each plugin that has one, by generation."""
    return {
        path.parent.name.removeprefix("trnbench_"): path for path in sorted(ROOT.glob("plugins/*/costs.toml"))
    }


def rows() -> Iterator[Row]:
    for generation, path in files().items():
        for instruction, entries in tomllib.loads(path.read_text())["instructions"].items():
            for entry in entries:
                yield Row(generation, instruction, entry)


def cycles(formula: str, constants: Mapping[str, float]) -> list[float]:
    """At every point, in order. Raises whatever the formula raises."""
    code = compile(formula, "cost formula", "eval")
    return [
        float(eval(code, {"__builtins__": {}}, {**FUNCTIONS, **constants, **sizes}))
        for sizes in POINTS.values()
    ]


def kept() -> dict[str, list[float]]:
    """Row by name: the cycles it gave when someone last looked."""
    return tomllib.loads(KEPT.read_text())["cycles"]


def as_toml(found: Mapping[str, list[float]]) -> str:
    points = "\n".join(
        f"{name} = {{ {', '.join(f'{key} = {value:g}' for key, value in sizes.items())} }}"
        for name, sizes in POINTS.items()
    )
    lines = "\n".join(f'"{name}" = [{", ".join(map(repr, each))}]' for name, each in found.items())
    return (
        "# Cycles that every instruction's row of the plugins' costs.toml gives at these points, in order.\n"
        "# After a change that is meant: .ci/renew costs, and read the difference.\n\n"
        f"[points]\n{points}\n\n[cycles]\n{lines}\n"
    )
