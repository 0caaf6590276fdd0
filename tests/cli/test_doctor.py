"""doctor: what works, what does not, what to do; 1 only when something is broken."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from command import typed
from parts import part

import trnbench
from trnbench.backend import Detection
from trnbench.cli import doctor
from trnbench.registry import Registry

ray_plugin = part("trnbench_ray")


class Machine:
    """A backend that detects what a test says."""

    def __init__(self, name: str, seen: Detection | Exception) -> None:
        self.name, self.seen = name, seen

    def detect(self) -> Detection:
        if isinstance(self.seen, Exception):
            raise self.seen
        return self.seen

    def environment(self) -> dict[str, Any]:
        return {}

    def unsupported(self, case: object, system: object) -> str:
        return ""

    def observe(self, case: object, system: object) -> None:
        raise AssertionError("doctor observes nothing")


def ask(*machines: Machine) -> tuple[int, dict[tuple[str, str], dict[str, str]]]:
    class Plugin:
        @trnbench.hookimpl
        def trnbench_backends(self) -> list[Machine]:
            return list(machines)

    result = typed("doctor", "--format", "json", registry=Registry.of(machines=Plugin(), ray=ray_plugin))
    rows = json.loads(result.stdout)
    return result.exit_code, {(row["part"], row["name"]): row for row in rows}


def test_machine_that_lacks_everything_is_not_broken(tmp_path: Path) -> None:
    away = Machine("neuron", Detection(available=False, why="no neuron-ls", try_="run it on a Trn2 instance"))
    here = Machine("model", Detection(available=True, unverified=("never run on a real Trn3",)))
    code, rows = ask(away, here)
    assert code == 0
    assert rows["backend", "neuron"]["state"] == "not available"
    assert (rows["backend", "neuron"]["found"], rows["backend", "neuron"]["try"]) == (
        "no neuron-ls",
        "run it on a Trn2 instance",
    )
    assert rows["backend", "model"] == {
        "part": "backend",
        "name": "model",
        "state": "unverified",
        "found": "never run on a real Trn3",
        "try": "",
    }
    assert rows["plugin", "machines (machines 0)"]["state"] == "ok"
    assert rows["python", "python"]["found"].startswith("CPython 3.")
    assert rows["library", "click"]["state"] == "ok"
    assert rows["store", str(tmp_path / "results.db")]["found"] == "made by the first run"


def test_backend_that_breaks_its_promise() -> None:
    code, rows = ask(Machine("rude", RuntimeError("no")))
    assert code == 1
    assert rows["backend", "rude"]["state"] == "broken"
    assert rows["backend", "rude"]["found"] == (
        f"backend 'rude' raises from detect(): RuntimeError: no: a bug in {Machine.__module__}.Machine"
    )


def test_broken_settings_are_reported_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trnbench.toml").write_text("polcy = 1\n")
    monkeypatch.chdir(tmp_path)
    result = typed("doctor")
    assert result.exit_code == 1
    assert "unknown setting 'polcy'" in result.stdout
    assert "did you mean policy?" in result.stdout
    assert "kernels (trnbench 0.1.0)" in result.stdout
    assert result.stderr.startswith("broken: settings")


def test_store_that_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    path.write_text("this is no database, and long enough to be looked at closely" * 20)
    result = typed("--store", str(path), "doctor", "--format", "json")
    assert result.exit_code == 1
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert rows[str(path)]["state"] == "broken"
    assert rows[str(path)]["try"]


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("8.2.1", ">=8.2", True),
        ("8.1.9", ">=8.2", False),
        ("10.0", ">=9", True),
        ("5.3", ">=5.1,<6", True),
        ("6.0.1", ">=5.1,<6", False),
        ("1.8.0rc1", ">=1.8", True),
        ("3", "", True),
    ],
)
def test_versions_against_requirements(version: str, wanted: str, fits: bool) -> None:
    assert doctor._satisfies(version, wanted) is fits


LONG = "a-plugin-with-a-name-of-more-than-forty-letters (acme 1)"
ROWS = [
    doctor._row("library", "click", "broken", "7.0; needs >=8.2,<9", "pip install 'click>=8.2,<9'"),
    doctor._row("library", "msgspec", "ok", "0.19"),
    doctor._row("plugin", LONG, "not available", "left out on purpose"),
    doctor._row("plugin", "b", "unverified", "in words that take more than one line here", "ask its author"),
]


@pytest.mark.parametrize(
    ("room", "plugins"),
    [
        (
            80,
            f"""\
  not available {LONG}
                left out on purpose
  unverified    b                                         in words that take
                                                          more than one line
                                                          here
                try: ask its author""",
        ),
        (
            77,
            f"""\
  not available {LONG}
                left out on purpose
  unverified    b
                in words that take more than one line here
                try: ask its author""",
        ),
        (
            57,
            f"""\
  not available
{LONG}
                left out on purpose
  unverified    b
                in words that take more than one line
                here
                try: ask its author""",
        ),
    ],
)
def test_what_is_found_stands_where_it_has_room(room: int, plugins: str) -> None:
    libraries = """\
library
  broken        click    7.0; needs >=8.2,<9
                try: pip install 'click>=8.2,<9'
  ok            msgspec  0.19
plugin
"""
    assert "\n".join(doctor._lines(ROWS, room)) == libraries + plugins


def test_what_is_wrong_has_a_row_with_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["click>=8", "msgspec>=99", "absent-one>=1,<2 ; python_version > '3'", "ray>=1 ; extra == 'ray'"]
    monkeypatch.setattr(metadata, "requires", lambda _: wanted)
    monkeypatch.setenv("TRNBENCH_STROE", "x")
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, rows = ask()
    found = {
        name: (row["state"], row["found"], row["try"])
        for (part, name), row in rows.items()
        if part in ("library", "settings", "store")
    }
    msgspec, click = metadata.version("msgspec"), metadata.version("click")
    assert (code, found) == (
        1,
        {
            "click": ("ok", click, ""),
            "msgspec": ("broken", f"{msgspec}; needs >=99", "pip install 'msgspec>=99'"),
            "absent-one": ("broken", "not installed; needs >=1,<2", "pip install 'absent-one>=1,<2'"),
            "settings": ("ok", "defaults", ""),
            "TRNBENCH_STROE": (
                "unverified",
                "nothing reads this variable; did you mean TRNBENCH_STORE?",
                "unset TRNBENCH_STROE",
            ),
            str(tmp_path / "results.db"): (
                "broken",
                f"{tmp_path} cannot be written",
                "--store PATH, or TRNBENCH_STORE",
            ),
        },
    )


def test_executors_are_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str, ray: str = "") -> str:
        if name != "ray":
            return real(name)
        if not ray:
            raise metadata.PackageNotFoundError(name)
        return ray

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(metadata, "version", version)
    code, rows = ask()
    assert (code, rows["executor", "process"]["state"]) == (0, "ok")
    assert rows["executor", "ray"] == {
        "part": "executor",
        "name": "ray",
        "state": "not available",
        "found": "Ray is not installed",
        "try": "pip install 'trnbench[ray]'",
    }
    monkeypatch.setattr(metadata, "version", lambda name: version(name, ray="9.1"))
    assert ask()[1]["executor", "ray"]["found"] == "Ray 9.1; this machine alone: no RAY_ADDRESS"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.4:6379")
    assert ask()[1]["executor", "ray"]["found"] == "Ray 9.1; the cluster at 10.0.0.4:6379 (RAY_ADDRESS)"
