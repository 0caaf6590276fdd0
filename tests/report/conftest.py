"""Synthetic runs and a real browser for the report's tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from hostile_run import make_hostile
from synthetic_run import make_run, with_verdicts

from trnbench import Run


@pytest.fixture(scope="session")
def run() -> Run:
    """The default run's size and shape, with one case of every status."""
    return with_verdicts(make_run())


@pytest.fixture(scope="session")
def small() -> Run:
    """One size of every kernel, for what does not depend on how many there are."""
    return with_verdicts(make_run(sizes=1, extra_kernels=0))


@pytest.fixture(scope="session")
def hostile() -> Run:
    return make_hostile(make_run(sizes=4, extra_kernels=0))


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
