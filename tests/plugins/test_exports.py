"""What plugins import: `trnbench` and `trnbench.topology`, complete, sorted, and nothing imported for it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = ("trnbench", "trnbench.topology")


def checked_imports(package: str) -> dict[str, str]:
    """Name → where a type checker finds it: `from module import attribute as name`."""
    tree = ast.parse(Path(str(import_module(package).__file__)).read_text(encoding="utf-8"))
    (block,) = (each for each in tree.body if isinstance(each, ast.If))
    return {
        alias.asname or alias.name: f"{statement.module}:{alias.name}"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there_and_is_what_type_checkers_see(package: str) -> None:
    module, seen = import_module(package), checked_imports(package)
    assert set(module.__all__) == set(seen)
    for name, place in seen.items():
        home, _, attribute = place.partition(":")
        assert getattr(module, name) is getattr(import_module(home), attribute), name


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_sorted(package: str) -> None:
    def key(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    names = list(import_module(package).__all__)
    assert names == sorted(names, key=key)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_not_exported_is_said(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing_of_it'"):
        _ = import_module(package).nothing_of_it


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_imports_none_of_its_modules(package: str) -> None:
    code = (
        f"import sys, {package}; "
        "print(sorted(name for name in sys.modules if name.startswith('trnbench') and "
        f"not {package!r}.startswith(name)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")
