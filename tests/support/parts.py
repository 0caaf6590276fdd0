"""Tests that ask for more of trnbench than the core, its reports, one generation and the host."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def part(name: str) -> Any:
    """A module of a part; where that part is not installed, the test module that asks is skipped."""
    package = name.partition(".")[0]
    if find_spec(package) is None:
        pytest.skip(_reason(package), allow_module_level=True)
    return import_module(name)


@cache
def lacking() -> tuple[str, ...]:
    """The packages of the wheel that cannot be imported here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return tuple(name for path in packages if find_spec(name := Path(path).name) is None)


def skip_without_parts(item: pytest.Item) -> None:
    """Skips a test marked `parts` where a part of trnbench is not installed."""
    if item.get_closest_marker("parts") and lacking():
        pytest.skip(_reason(", ".join(lacking())))


def _reason(packages: str) -> str:
    return f"asks for {packages}, not installed here"
