"""Imports: what lies below `trnbench` and `trnbench.topology` may move in any release."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trnbench.api import api, submodules
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject

CORE = "trnbench"
EXPORTING = (CORE, f"{CORE}.topology")
PUBLIC = (*EXPORTING, f"{CORE}.testing")
"""What plugins import; the last one in their tests, its fixtures by name."""


class Deep(NamedTuple):
    """An import of a module that is no part of the contract. `names`: what is taken from it."""

    line: int
    module: str
    names: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        return f"from {self.module} import {', '.join(self.names)}" if self.names else f"import {self.module}"

    @property
    def instead(self) -> str:
        """What to write in its place."""
        for package in EXPORTING:
            if self.names and set(self.names) <= _exported(package):
                return f"from {package} import {', '.join(self.names)}"
        return "what a plugin needs is exported from trnbench and trnbench.topology: docs/plugins.md"


def imports(subject: Subject) -> Iterator[Finding | str]:
    """Each file of its package, read and not imported. A warning alone: it works as long as it works."""
    root = subject.loaded.origin.target.partition(":")[0].partition(".")[0]
    if root in ("", CORE) or not subject.loaded.origin.external:
        return  # what is released with the core is held to its imports by contracts of its own
    for path in _files(root):
        yield str(path)
        for each in deep_imports(path.read_bytes()):
            yield Finding(
                f"{path.name}:{each.line}",
                f"{each.written}: no part of the contract, so that any release may move it",
                each.instead,
                warning=True,
            )


def deep_imports(source: bytes) -> Iterator[Deep]:
    """Of Python source, in its order; nothing of a file that is none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _deep(alias.name):
                    yield Deep(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = tuple(alias.name for alias in node.names)
            if _deep(node.module):
                yield Deep(node.lineno, node.module, names)
            elif node.module in EXPORTING:
                known = _exported(node.module)
                for name in names:
                    if name not in known and importlib.util.find_spec(f"{node.module}.{name}") is not None:
                        yield Deep(node.lineno, f"{node.module}.{name}")


def _exported(package: str) -> set[str]:
    """Its public names; of the core those too that plugins give it."""
    own = set(importlib.import_module(package).__all__)
    return own | set(api()) if package == CORE else own


def _deep(module: str) -> bool:
    public = (PUBLIC[-1], *(f"{CORE}.{name}" for name in submodules()))
    within = any(f"{module}.".startswith(f"{name}.") for name in public)
    return module.startswith(f"{CORE}.") and module not in PUBLIC and not within


def _files(root: str) -> list[Path]:
    """The Python files of an importable package or module, in their order."""
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []
    return sorted(path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*.py"))
