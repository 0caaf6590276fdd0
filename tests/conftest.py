"""What every test stands on: no setting, plugin or store of the machine leaks in."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import campaigns
import pytest
from closed_files import closed_files
from forks import Forks
from hypothesis import HealthCheck, settings
from longest import LONGEST
from made_once import made_once
from parts import skip_without_parts
from quick_workers import _copying, _quick_workers
from spoken import messages_are_whole

import trnbench
from trnbench.registry import Registry

__all__ = ["_copying", "_quick_workers", "closed_files", "messages_are_whole"]

# How long an example takes is the machine's, and what else runs there: no test fails of it.
# A fixture that all examples of a test share is one that none of them changes.
settings.register_profile(
    "trnbench",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=25,
)
settings.register_profile("campaign", settings.get_profile("trnbench"), max_examples=400)
settings.load_profile("trnbench")

# Products of small matrices on one thread: on more, threads that wait for each other take twice the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What a background job or nohup ignores, programs that tests start would ignore too. No handler is inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _each in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_each) is signal.SIG_IGN:
        signal.signal(_each, lambda *_: None)

FOLDERS = ("CONFIG", "DATA", "CACHE", "STATE")
"""XDG's."""

_NUMBER = count()


_LEFT_OUT = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--campaign-sample",
        metavar="SEED",
        help="beside the other tests a few of each campaign, drawn by SEED",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Workers that take a module at a time take them in our order, not those with most tests first."""
    config.stash[_LEFT_OUT] = Counter()
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end: no search for garbage goes over all of it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """No campaign that nobody asked for; the longest first, so that none is left to one worker at the end."""
    if unasked := campaigns.left_out(config, items):
        config.stash[_LEFT_OUT] = Counter(map(campaigns.kind_of, unasked))
        config.hook.pytest_deselected(items=unasked)
        names = {item.nodeid for item in unasked}
        items[:] = (item for item in items if item.nodeid not in names)
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(LONGEST)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    skip_without_parts(item)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of a parallel run tells what it left out; all of them left out the same."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["campaigns"] = dict(session.config.stash[_LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_LEFT_OUT] |= Counter(getattr(node, "workeroutput", {}).get("campaigns", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if counts := config.stash[_LEFT_OUT]:
        terminalreporter.write_line(campaigns.summary(counts))


@pytest.fixture(scope="session")
def _worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("xdg")


@pytest.fixture(autouse=True)
def _own_world(_worlds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh XDG folders and no TRNBENCH_* variable, so that tests neither read nor write the user's."""
    home = f"{_worlds}/{next(_NUMBER)}"  # words, not paths: ten thousand tests do this
    os.mkdir(home)
    for name in FOLDERS:
        folder = f"{home}/{name.lower()}"
        os.mkdir(folder)
        monkeypatch.setenv(f"XDG_{name}_HOME", folder)
    for name in list(os.environ):
        if name.startswith("TRNBENCH_") and not name.startswith("TRNBENCH_TEST_"):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")  # one that is "dumb" has no width


@pytest.fixture(scope="session")
def default_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `trnbench --store results.db run -q` was typed: every documented system, emulated,
    kept and reported. What it printed is in `stdout`. Tests that ask for it are campaigns."""
    return _run_made_once(tmp_path_factory, "default")


@pytest.fixture(
    scope="session", params=["one system", pytest.param("default", marks=pytest.mark.campaign("default run"))]
)
def emulated_run(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder like that of `default_run`: of trn2-16.48xlarge alone, and in a campaign of all systems."""
    words = {"one system": ("-i", "trn2-16.48xlarge")}.get(request.param, ())
    return _run_made_once(tmp_path_factory, request.param, *words)


def _run_made_once(factory: pytest.TempPathFactory, name: str, *words: str) -> Path:
    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "trnbench", "--store", "results.db", "run", "-q", *words]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TRNBENCH_")}
        world = {f"XDG_{name}_HOME": str(folder / "world" / name.lower()) for name in FOLDERS}
        done = subprocess.run(command, cwd=folder, env={**clean, **world}, check=True, stdout=subprocess.PIPE)
        (folder / "stdout").write_bytes(done.stdout)

    return made_once(factory, name, make)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Commands in forked processes, where one costs some hundredths of a second."""
    with Forks() as started:
        yield started


@pytest.fixture(scope="session")
def headline_run(tmp_path_factory: pytest.TempPathFactory) -> trnbench.Run:
    """What the headline of a run without arguments rests on, of every generation."""

    def make(folder: Path) -> None:
        kept = folder.parent / "default" / "results.db.cache"
        if kept.with_name("stdout").exists():  # the default run has been: its answers are these
            shutil.copy(kept, folder / "r.db.cache")
        run = trnbench.bench(("gemm", "hbm_copy", "all_reduce"), axes=("dtype=bf16",), store=folder / "r.db")
        (folder / "run.json").write_bytes(trnbench.dumps(run))

    return trnbench.loads((made_once(tmp_path_factory, "headline", make) / "run.json").read_bytes())


@pytest.fixture(scope="session")
def registry() -> Registry:
    """The installed plugins, loaded once. A folder whose tests need another one has its own."""
    return trnbench.load_registry()


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return Path(__file__).parent.parent


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
