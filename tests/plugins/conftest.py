"""Distributions made on the spot: a module and its metadata in a folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from forks import Forks
from plugin_parts import Install, Trnbench


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on `sys.path`, here and in processes started from here."""
    folder = tmp_path / "site"
    folder.mkdir()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(folder))
    existing = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *([existing] if existing else [])]))
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def install(site: Path) -> Install:
    """`install("acme", "module text", version=…, plugins={name: target}, commands={…})`."""

    def make(
        distribution: str,
        source: str = "",
        *,
        version: str = "1.0",
        plugins: dict[str, str] | None = None,
        commands: dict[str, str] | None = None,
    ) -> Path:
        module = distribution.replace("-", "_")
        if plugins is None:
            plugins = {} if commands else {distribution: module}
        if source:
            (site / f"{module}.py").write_text(dedent(source), encoding="utf-8")
        info = site / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n\nWords: not a header\n"
        )
        lines = []
        for group, entries in (("trnbench", plugins), ("trnbench.commands", commands or {})):
            lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()), ""]
        (info / "entry_points.txt").write_text("\n".join(lines))
        return site / f"{module}.py"

    return make


@pytest.fixture
def trnbench(forks: Forks, tmp_path: Path) -> Trnbench:
    """The command in an empty folder, in a process that knows no plugin yet: tests/third_party start one."""

    def call(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
        given = {**os.environ, **env}
        done = forks(
            tmp_path,
            *args,
            env={"TRNBENCH_STORE": None, **given},
            path=[each for each in given.get("PYTHONPATH", "").split(os.pathsep) if each],
        )
        return subprocess.CompletedProcess(args, done.code, done.stdout, done.stderr)

    return call
