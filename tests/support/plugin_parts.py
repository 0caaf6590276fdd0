"""The parts of a plugin in as few words as will do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trnbench
from trnbench.kernels.work import Work
from trnbench.registry import Registry

Install = Callable[..., Path]
"""`install` of tests/plugins: a distribution made on the spot; the path of its module."""
Trnbench = Callable[..., "subprocess.CompletedProcess[str]"]
"""`trnbench` of tests/plugins: the command, in a process that knows no plugin yet."""

KERNEL = """
    import trnbench
    from trnbench import Axis, Kernel, PrimaryMetric, Scope, Work

    def kernel(name, **changes):
        fields = dict(
            name=name, family="test", title="Test", about="Tests.",
            axes=(Axis(name="size", values=(1, 2)),), scopes=(Scope.CORE,),
            primary=PrimaryMetric(name="latency_s", unit="s", better="lower"),
            work=lambda point, extent: Work(), footprint=lambda point, extent: {},
            requires=lambda point: (),
        )
        return Kernel(**fields | changes)
"""


def kernel(name: str, **changes: Any) -> trnbench.Kernel:
    fields: dict[str, Any] = {
        "family": "test",
        "title": "Test",
        "about": "Tests.",
        "axes": (trnbench.Axis(name="size", values=(1, 2)),),
        "scopes": (trnbench.Scope.CORE,),
        "primary": trnbench.PrimaryMetric(name="latency_s", unit="s", better="lower"),
        "work": lambda point, extent: Work(),
        "footprint": lambda point, extent: {},
        "requires": lambda point: (),
    }
    return trnbench.Kernel(name=name, **{**fields, **changes})


def generation(name: str, **changes: Any) -> trnbench.Generation:
    fields: dict[str, Any] = {"title": name.title(), "order": 1, "facts": (Path("facts.toml"),)}
    return trnbench.Generation(name=name, **{**fields, **changes})


def instance(name: str, **changes: Any) -> trnbench.Instance:
    fields: dict[str, Any] = {
        "title": name,
        "scope": trnbench.Scope.INSTANCE,
        "device": "device",
        "core": "core",
        "topology": "nowhere:build",
    }
    return trnbench.Instance(name=name, **{**fields, **changes})


def plugin(**hooks: Callable[[], Any]) -> Any:
    """An object with these hooks, marked."""
    body: dict[str, Any] = {"trnbench_contract": 1}
    for name, function in hooks.items():
        body[name] = staticmethod(trnbench.hookimpl(function))
    return type("Plugin", (), body)()


def texts(registry: Registry) -> list[str]:
    registry.collect()
    return [str(problem) for problem in registry.problems]


def pip_install(project: Path, target: Path) -> None:
    """Offline: no index, no dependencies, the build backend that is installed here."""
    pytest.importorskip("hatchling", reason="building a project needs hatchling")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [*command, "--target", str(target), str(project)], check=True, capture_output=True, timeout=120
    )
