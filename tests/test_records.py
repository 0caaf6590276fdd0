"""The records of the core: none changes, many fields have names, and documents hold nothing unknown."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec
import pytest

import trnbench
from trnbench import FactBook, Run
from trnbench.compare.gate.baseline import Acceptance
from trnbench.run.selection import Selection
from trnbench.run.snapshot import Shipped
from trnbench.store.answers import Answers
from trnbench.topology.graph import Document, Topology

POSITIONAL = {
    *("Batch", "Brought", "Discovered", "Link", "Node", "Origin", "Parts"),
    *("Shipped", "Term", "_Cause", "_Head", "_Part", "_Processor"),
}
"""Records of few fields, which need not be named."""
DOCUMENTS = (Acceptance, Answers, Document, FactBook, Run, Selection, Shipped)
"""What is read from files: a field that nobody reads there is a mistake of whoever wrote it."""


@pytest.fixture(scope="module")
def records() -> list[type[msgspec.Struct]]:
    for module in pkgutil.walk_packages(trnbench.__path__, "trnbench."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    kinds = [msgspec.Struct]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return [kind for kind in kinds if kind.__module__.startswith("trnbench.")]


def structs(description: Any) -> Iterator[type[msgspec.Struct]]:
    """Every struct that a described type holds, except in a graph, which only `to_json` writes."""
    if isinstance(description, list | tuple):
        for part in description:
            yield from structs(part)
    elif isinstance(description, msgspec.inspect.StructType):
        yield description.cls
        if description.cls is not Topology:
            yield from structs([field.type for field in description.fields])
    elif isinstance(description, msgspec.inspect.Type):
        yield from structs(list(msgspec.structs.asdict(description).values()))


def test_no_record_changes_once_it_is_made(records: list[type[msgspec.Struct]]) -> None:
    assert {kind.__name__ for kind in records if not kind.__struct_config__.frozen} == set()


def test_records_of_many_fields_are_made_by_names(records: list[type[msgspec.Struct]]) -> None:
    assert {kind.__name__ for kind in records if kind.__match_args__} == POSITIONAL


def test_documents_and_nothing_else_refuse_unknown_fields(records: list[type[msgspec.Struct]]) -> None:
    strict = {kind for kind in records if kind.__struct_config__.forbid_unknown_fields}
    read = set(structs(msgspec.inspect.multi_type_info(DOCUMENTS)))
    assert strict == (read - {Topology}) | set(FactBook.__subclasses__())
