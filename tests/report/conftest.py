"""Synthetic runs and a real browser for the report's tests."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trnbench import Run


def _load_synthetic() -> ModuleType:
    path = Path(__file__).with_name("synthetic_run.py")
    spec = importlib.util.spec_from_file_location("trnbench_tests_synthetic_run", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    return _load_synthetic()


@pytest.fixture(scope="session")
def run(synthetic: ModuleType) -> Run:
    """The default run's size and shape, with one case of every status."""
    made: Run = synthetic.with_verdicts(synthetic.make_run())
    return made


@pytest.fixture(scope="session")
def hostile(synthetic: ModuleType) -> Run:
    made: Run = synthetic.make_hostile(synthetic.make_run(sizes=4, extra_kernels=0))
    return made


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium as installed; nothing is downloaded."""
    path = find_chromium()
    if path is None:
        missing = "no Chromium: none of chromium, chromium-browser, google-chrome is on PATH"
        if os.environ.get("TESTS_REQUIRE_BROWSER"):
            pytest.fail(f"{missing}, and TESTS_REQUIRE_BROWSER is set")
        pytest.skip(missing)
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra: test)")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield chromium
        chromium.close()
