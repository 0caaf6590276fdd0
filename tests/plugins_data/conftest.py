"""The built-in generations, read once for all tests of their data."""

from __future__ import annotations

import pytest

from trnbench import FactBook, Generation
from trnbench.facts.load import load_book
from trnbench.registry import Registry

BUILT_IN = ("trn1", "trn2", "trn3")


@pytest.fixture(scope="session")
def generations(registry: Registry) -> dict[str, Generation]:
    return {name: registry.generations[name] for name in BUILT_IN}


@pytest.fixture(scope="session")
def books(generations: dict[str, Generation]) -> dict[str, FactBook]:
    return {name: load_book(each.facts) for name, each in generations.items()}


@pytest.fixture(scope="session")
def costs(registry: Registry) -> dict[str, dict[str, object]]:
    return {name: registry.costs(name) for name in BUILT_IN}
