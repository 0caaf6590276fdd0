"""docs/plugins.md says what the code does: every hook with its signature, every check, every switch."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import trnbench
from trnbench.distribution import NO_EXTERNAL
from trnbench.errors import DEBUG
from trnbench.registry import hookspecs
from trnbench.registry.hookspecs import COMMAND_GROUP, GROUP
from trnbench.registry.loader import HOOKS, SLOW_IMPORT_S, TRACE
from trnbench.testing import CHECKS
from trnbench.version import CONTRACT_VERSION


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "plugins.md").read_text(encoding="utf-8")


def test_hooks_are_all_that_is_specified() -> None:
    specified = [
        name for name, each in vars(hookspecs).items() if getattr(each, "trnbench_spec", None) is not None
    ]
    assert list(HOOKS) == specified
    assert len(HOOKS) == 10


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_documented_with_its_exact_signature(hook: str, page: str) -> None:
    function = getattr(hookspecs, hook)
    signature = f"{hook}{inspect.signature(function)}".replace("'", "")
    assert f"### `{signature}`" in page
    assert f"def {hook}(" in page.partition(f"### `{signature}`")[2].partition("###")[0]
    for part in ("Example::", "Returns:", "Since: contract"):
        assert part in (inspect.getdoc(function) or "")


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_has_a_test(hook: str, root: Path) -> None:
    tests = [
        path.read_text() for path in (root / "tests" / "plugins").glob("test_*.py") if path != Path(__file__)
    ]
    assert any(f"{hook}=" in text or f"def {hook}" in text or f'"{hook}"' in text for text in tests)


def test_documented_hooks_exist(page: str) -> None:
    assert set(re.findall(r"\bdef (trnbench_[a-z]+)\(", page)) == set(HOOKS)


@pytest.mark.parts
def test_checks_are_documented(page: str) -> None:
    table = page.partition("## Checking")[2].partition("The same as pytest")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.M) == list(CHECKS)


def test_numbers_and_names_of_the_page_are_those_of_the_code(page: str) -> None:
    assert f"contract {CONTRACT_VERSION}." in page
    assert f"more than {SLOW_IMPORT_S} s to import" in page
    assert f"[project.entry-points.{GROUP}]" in page
    assert f'[project.entry-points."{COMMAND_GROUP}"]' in page
    for switch in (NO_EXTERNAL, TRACE, DEBUG):
        assert f"`{switch}=1`" in page


def test_what_authors_are_told_to_call_is_public(root: Path) -> None:
    page = (root / "docs" / "measuring.md").read_text(encoding="utf-8").partition("## Your own stack")[2]
    names = set(re.findall(r"\btrnbench\.(\w[\w.]*)", page))
    assert {"Program", "observe", "Calibration"} <= names
    assert names <= set(trnbench.__all__)
