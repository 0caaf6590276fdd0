"""The contract's second version: what was written for the first one, and what plugins import."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from plugin_parts import KERNEL, Install, Trnbench

from trnbench.registry import load_registry
from trnbench.testing.checks.code import Deep, deep_imports
from trnbench.testing.project import write_project

NUMBERS = itertools.count()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(f"reach-n{next(NUMBERS)}", tmp_path / "project").folder


def test_a_plugin_of_the_first_contract_loads_with_defaults(install: Install) -> None:
    install(
        "first-one",
        dedent(KERNEL)
        + dedent(
            """
            trnbench_contract = 1

            @trnbench.hookimpl
            def trnbench_kernels():
                yield kernel("first_one")
            """
        ),
    )
    registry = load_registry()
    assert registry.kernels["first_one"].tests == ()
    assert [each for each in registry.problems if each.plugin == "first-one"] == []


@pytest.mark.parametrize(
    "line", ["from trnbench.instances import Instance", "from trnbench.generation import Trn0"]
)
def test_a_plugin_that_counts_on_a_module_that_moved_is_told_what_to_import(install: Any, line: str) -> None:
    install("left-behind", line)
    (problem,) = [each for each in load_registry().problems if each.plugin == "left-behind"]
    assert problem.what == "plugin 'left-behind' of left-behind 1.0 cannot be imported: left_behind"
    module = line.split()[1]
    assert problem.try_ == (
        f"import it from trnbench or trnbench.topology: since contract 2 no plugin counts on {module} "
        "(docs/plugins.md)"
    )


def test_one_that_lacks_something_of_others_is_told_to_reinstall(install: Install) -> None:
    install("elsewhere", "import nobody_has_this")
    (problem,) = [each for each in load_registry().problems if each.plugin == "elsewhere"]
    assert problem.try_ == "reinstall or remove elsewhere, or leave it out: --no-plugin elsewhere"


SOURCE = b"""
import trnbench, trnbench.topology
import trnbench.run.api as api
from trnbench import Kernel, generation
from trnbench.errors import TopologyError
from trnbench.topology import Figures
from trnbench.topology.figures import Figures, scaled
from trnbench.testing import CHECKS
from trnbench.nki import record
from trnbench.testing.fixtures import conformance
from .trnbench.run import other
import trnbench_trn1
"""


@pytest.mark.parts
def test_imports_below_the_two_packages_are_found() -> None:
    deep = sorted(deep_imports(SOURCE))
    assert deep == [
        Deep(3, "trnbench.run.api"),
        Deep(4, "trnbench.generation"),
        Deep(5, "trnbench.errors", ("TopologyError",)),
        Deep(7, "trnbench.topology.figures", ("Figures", "scaled")),
    ]
    exported = "what a plugin needs is exported from trnbench and trnbench.topology: docs/plugins.md"
    assert [each.instead for each in deep] == [
        exported,
        exported,
        "from trnbench import TopologyError",
        "from trnbench.topology import Figures, scaled",
    ]
    assert list(deep_imports(b"import trnbench.run.api\nno python at all")) == []


def test_the_check_warns_of_them_and_passes(project: Path, trnbench: Trnbench) -> None:
    (path,) = project.rglob("topology.py")
    path.write_text(
        path.read_text().replace("import trnbench\n", "from trnbench.errors import FactError\n", 1)
    )
    done = trnbench("plugin", "check", str(project), "--only", "imports")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "imports: topology.py:5\n"
        "  warning: from trnbench.errors import FactError: no part of the contract, so that any release may "
        "move it\n"
        "  try:   from trnbench import FactError\n"
    )
    assert "all well, 1 warning (looked at: imports" in done.stderr


def test_a_plugin_of_one_file_is_looked_at_too(install: Install, trnbench: Trnbench) -> None:
    install("acme-one", "from trnbench.errors import FactError\n")
    done = trnbench("plugin", "check", "acme-one", "--only", "imports")
    assert done.stdout.startswith(
        "imports: acme_one.py:1\n  warning: from trnbench.errors import FactError: "
    )


def test_our_own_import_nothing_below_them() -> None:
    root = Path(__file__).parents[2]
    for name in ("trn1", "trn2", "trn3", "host", "cuda"):
        for path in sorted((root / "plugins" / f"trnbench_{name}").rglob("*.py")):
            assert list(deep_imports(path.read_bytes())) == [], path
    for path in sorted((root / "reports").rglob("*.py")):
        assert list(deep_imports(path.read_bytes())) == [], path


def test_what_our_own_import_of_the_core_is_listed_as_public() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "plugins.md").read_text(encoding="utf-8")
    section = page.partition("## Public modules")[2].partition("\n## ")[0]
    listed = set(re.findall(r"`(trnbench(?:\.\w+)*)`", section))
    files = [path for folder in ("plugins", "reports") for path in (root / folder).rglob("*.py")]
    imported = {module for path in files for module in _core_modules(path)}
    assert imported - listed == set(), "list them in docs/plugins.md, or import from a module that is listed"
    assert listed - imported == {"trnbench.testing.fixtures"}, "nobody imports these: they need not be public"


def _core_modules(path: Path) -> Iterator[str]:
    """Modules of the core that a file imports from; what plugins give under trnbench is none of it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "trnbench")
