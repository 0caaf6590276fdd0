"""What plugins ship of their systems' graphs holds for nothing else.

That it is what the code gives, fidelity/test_sources.py shows, where all answers are made anew.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from parts import part

from trnbench.generation import System
from trnbench.registry import Registry, load_registry
from trnbench.run import snapshot
from trnbench.topology.properties import summarise

pytestmark = pytest.mark.parts
part("trnbench_fidelity.point")  # what renews answers stands on it
as_json, answers = import_module("renewal.answers").as_json, import_module("altered_answers").answers

SHIPPED = tuple(name for name, each in load_registry().generations.items() if each.answers is not None)


@pytest.fixture
def torus(registry: Registry) -> System:
    """A small system."""
    return registry.system("trn1.32xlarge")


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the graphs that are summarised."""
    names: list[str] = []

    def noted(topology: object) -> object:
        names.append(topology.name)  # type: ignore[attr-defined]
        return summarise(topology)  # type: ignore[arg-type]

    monkeypatch.setattr("trnbench.topology.properties.summarise", noted)
    return names


def with_answers(system: System, path: Path) -> System:
    return msgspec.structs.replace(
        system, generation=msgspec.structs.replace(system.generation, answers=path)
    )


def test_trainium_ships_them() -> None:
    assert SHIPPED == ("trn1", "trn2", "trn3")


def test_a_shipped_summary_is_taken_without_the_graph(torus: System, worked_out: list[str]) -> None:
    drawing, summary = snapshot.described(torus, [], None, drawn=False)
    assert (drawing, worked_out) == (None, [])
    assert (summary["name"], summary["nodes"]["device"]) == ("trn1.32xlarge", 16)
    drawing, same = snapshot.described(torus, [], None, drawn=True)
    assert drawing is not None
    assert (same, worked_out) == (summary, [])


def test_another_figure_makes_it_anew(torus: System, worked_out: list[str]) -> None:
    other = msgspec.structs.replace(torus, costs={**torus.costs, "launch": {"us": 1.0}})
    snapshot.described(other, [], None, drawn=False)
    assert worked_out == ["trn1.32xlarge"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"generation": "trn1", "sections": {"graphs": {"trn1.32xlarge": {"summary": {}}}}}',
        b'{"generation": "trn1", "sections": {"graphs": {"trn1.32xlarge": 3}}}',
        b"\xff" * 9,
    ],
)
def test_a_file_that_holds_none_is_as_good_as_none(
    content: bytes, torus: System, tmp_path: Path, worked_out: list[str]
) -> None:
    path = tmp_path / "answers.json"
    path.write_bytes(content)
    notes: list[str] = []
    _, summary = snapshot.described(with_answers(torus, path), notes, None, drawn=False)
    assert (worked_out, notes, summary["servers"]) == (["trn1.32xlarge"], [], 1)


def test_a_missing_file_is_as_good_as_none(torus: System, tmp_path: Path, worked_out: list[str]) -> None:
    snapshot.described(with_answers(torus, tmp_path / "none"), [], None, drawn=False)
    assert worked_out == ["trn1.32xlarge"]


def test_small_graphs_are_not_shipped(registry: Registry, worked_out: list[str]) -> None:
    """They are summarised in a millisecond."""
    shipped = answers(registry, "trn1").section(snapshot.SECTION, dict[str, snapshot.Shipped])
    assert "trn1.2xlarge" not in shipped
    snapshot.described(registry.system("trn1.2xlarge"), [], None, drawn=False)
    assert worked_out == ["trn1.2xlarge"]


def test_other_code_makes_it_anew(torus: System, tmp_path: Path, registry: Registry, worked_out: Any) -> None:
    code = dict.fromkeys(answers(registry, "trn1").code, f"0 {0:016x}")
    path = tmp_path / "answers.json"
    path.write_text(as_json(msgspec.structs.replace(answers(registry, "trn1"), code=code)))
    snapshot.described(with_answers(torus, path), [], None, drawn=False)
    assert worked_out == ["trn1.32xlarge"]
