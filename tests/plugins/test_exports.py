"""What plugins import: `trnbench` and `trnbench.topology`, complete, sorted, and nothing imported for it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import trnbench
from trnbench.api import api
from trnbench.distribution import NO_EXTERNAL, EntryPoint

PACKAGES = ("trnbench", "trnbench.topology")


def checked_imports(package: str) -> dict[str, str]:
    """Name → where a type checker finds it: `from module import attribute as name`."""
    source = Path(str(import_module(package).__file__))
    stub = source.with_suffix(".pyi")
    tree = ast.parse((stub if stub.exists() else source).read_text(encoding="utf-8"))
    blocks = [tree.body] if stub.exists() else [each.body for each in tree.body if isinstance(each, ast.If)]
    return {
        alias.asname or alias.name: f"{statement.module}:{alias.name}"
        for block in blocks
        for statement in block
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_every_name_of_the_topology_is_there_and_is_what_type_checkers_see() -> None:
    module, seen = import_module("trnbench.topology"), checked_imports("trnbench.topology")
    assert set(module.__all__) == set(seen)
    for name, place in seen.items():
        home, _, attribute = place.partition(":")
        assert getattr(module, name) is getattr(import_module(home), attribute), name


@pytest.mark.parts
def test_the_stub_has_every_name_of_the_core_and_of_plugins() -> None:
    seen = checked_imports("trnbench")
    own = {entry.name for entry in api().values() if entry.distribution == "trnbench"}
    assert set(seen) == {*trnbench.__all__, *own, "__version__"}
    for name, place in seen.items():
        home, _, attribute = place.partition(":")
        wanted = import_module("trnbench.nki") if name == "nki" else getattr(import_module(home), attribute)
        assert getattr(trnbench, name) is wanted, name


def test_the_stub_is_what_its_command_writes(root: Path) -> None:
    done = subprocess.run([sys.executable, root / ".ci" / "stubs", "--check"], timeout=60)
    assert done.returncode == 0, "run .ci/stubs"


@pytest.mark.parts
def test_a_submodule_of_a_plugin_exists_once_under_both_names() -> None:
    from trnbench.nki import language, record
    from trnbench_emulator import nki

    assert import_module("trnbench.nki") is nki
    assert (
        import_module("trnbench.nki.language") is language is import_module("trnbench_emulator.nki.language")
    )
    assert record is nki.record
    assert nki.__name__ == "trnbench_emulator.nki"
    assert nki.__spec__.name == "trnbench_emulator.nki"


def test_a_submodule_that_nobody_gives_is_not_there() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'trnbench\.nothing_of_it'"):
        import_module("trnbench.nothing_of_it")


def test_a_name_whose_package_is_missing_says_which_package_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = EntryPoint("trnbench.api", "lost", "acme_lost.parts:lost", "acme-lost", "2.1")
    module = EntryPoint("trnbench.api", "lost_parts", "acme_lost.parts", "acme-lost", "2.1")
    monkeypatch.setattr("trnbench.api.api", lambda: {"lost": lost, "lost_parts": module})
    with pytest.raises(ImportError, match=r"trnbench\.lost comes with acme_lost \(acme-lost 2\.1\)"):
        _ = trnbench.lost
    with pytest.raises(ImportError, match=r"trnbench\.lost_parts comes with acme_lost \(acme-lost 2\.1\)"):
        import_module("trnbench.lost_parts")


def test_names_of_our_own_go_before_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = [("b-acme", "both"), ("a-acme", "both"), ("a-acme", "ours"), ("TRNBENCH", "ours")]
    entries = [EntryPoint("trnbench.api", name, f"of:{owner}", owner, "1") for owner, name in owners]
    monkeypatch.setattr("trnbench.distribution.entry_points", lambda groups: entries)
    given = {}
    for left_out in ("", "1"):
        monkeypatch.setenv(NO_EXTERNAL, left_out)
        given[left_out] = [(name, each.value) for name, each in api.__wrapped__().items()]
    assert given == {"": [("ours", "of:TRNBENCH"), ("both", "of:a-acme")], "1": [("ours", "of:TRNBENCH")]}


def test_names_of_the_topology_are_sorted() -> None:
    def key(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    names = list(import_module("trnbench.topology").__all__)
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
