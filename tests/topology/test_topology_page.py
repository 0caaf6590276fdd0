"""What the page on topologies says is true of the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from trnbench.registry import Registry
from trnbench.topology import figures
from trnbench.topology.graph import Topology


def blocks(root: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (root / "docs" / "topology.md").read_text(), re.DOTALL)


def test_the_python_example_runs(root: Path) -> None:
    names: dict[str, object] = {}
    source = blocks(root)[0]
    exec(compile(source, "docs/topology.md", "exec"), names)
    for call, result in re.findall(r"^(.*router.*?)\s+# (\d+)", source, re.MULTILINE):
        assert eval(call, names) == int(result), call


@pytest.mark.parts
def test_the_builder_of_the_page_builds(root: Path, registry: Registry) -> None:
    names: dict[str, object] = {}
    exec(compile(blocks(root)[1], "docs/topology.md", "exec"), names)
    built = names["build"](registry.system("inf2.48xlarge"))  # type: ignore[operator]
    assert isinstance(built, Topology)
    assert len(built.links) == 24


def test_every_system_is_on_the_page(root: Path, registry: Registry) -> None:
    page = (root / "docs" / "topology.md").read_text()
    assert [name for name in registry.instance_names() if f"`{name}" not in page] == []


def test_examples_import_what_plugins_may(root: Path) -> None:
    imports = re.findall(r"^from (trnbench[\w.]*)", blocks(root)[1], re.M)
    assert imports
    assert set(imports) <= {"trnbench", "trnbench.topology"}


def test_assumptions_of_link_classes_are_listed(root: Path) -> None:
    page = (root / "docs" / "topology.md").read_text().partition("## A graph of your own")[2]
    listed = set(re.findall(r"`([a-z-]+-(?:latency|bandwidth))`", page))
    source = inspect.getsource(figures)
    asked = set(re.findall(r'assumptions=\("([\w-]+)"', source)) | {"on-chip-bandwidth"}
    assert listed == asked
