"""An instance made of stand-ins: programs, interpreters and the driver's folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trnbench.backend import Observation
from trnbench.case_key import CaseKey
from trnbench.facts.fact import PeakPolicy, Scope
from trnbench.kernels.kernel import Case
from trnbench.kernels.work import Extent
from trnbench.registry import Registry
from trnbench.run.judge import Judge
from trnbench_neuron.backend import NeuronBackend
from trnbench_neuron.settings import Settings

HERE = Path(__file__).parent
TOOLS = ("neuron-ls", "neuron-monitor", "nccom-test", "neuron-explorer")


@pytest.fixture
def recorded() -> Callable[[str], str]:
    """The text of a recorded output."""
    return lambda name: (HERE / "recorded" / name).read_text()


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder of stand-ins for the vendor's programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        word = name.replace("-", "_")
        script = HERE / "standins" / "tools.py"
        executable(
            folder / name, f'#!/bin/sh\nSTANDIN_AS={word} exec "{sys.executable}" -S -E "{script}" "$@"\n'
        )
    return folder


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """An interpreter with one of the stand-in packages: "nki", "nrtpy", "beta1", or several with "+"."""

    folder = tmp_path_factory.mktemp("pythons")

    def make(names: str) -> str:
        path = os.pathsep.join(str(HERE / "standins" / f"{name}_site") for name in names.split("+"))
        script = folder / f"python-{names}"
        return str(executable(script, f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "$@"\n'))

    return make


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The driver's folder for 16 devices of 8 cores, as the user guide draws it."""
    root = tmp_path / "neuron_device"
    for index in range(16):
        device = root / f"neuron{index}"
        architecture = device / "info" / "architecture"
        architecture.mkdir(parents=True)
        for name, text in (("device_name", "Trainium2"), ("arch_type", "v3"), ("instance_type", "Trn2")):
            (architecture / name).write_text(f"{text}\n")
        (device / "info" / "serial_number").write_text("SERIAL-0123456789\n")
        power = device / "stats" / "power"
        power.mkdir(parents=True)
        (power / "utilization").write_text("POWER_STATUS_VALID,1763632800,20.5,80.25,61.5\n")
        for word in ("mem_ecc_uncorrected", "sram_ecc_uncorrected"):
            _counter(device / "stats" / "hardware" / word, 3)
        for core in range(8):
            stats = device / f"neuron_core{core}" / "stats"
            for word in ("success", "failure", "timeout"):
                _counter(stats / "status" / word, 7 if word == "success" else 0)
            (stats / "other_info").mkdir()
            (stats / "other_info" / "flop_count").write_text("1000\n")
    monkeypatch.setenv("STANDIN_SYSFS", str(root))
    return root


def _counter(path: Path, value: int) -> None:
    path.mkdir(parents=True)
    (path / "total").write_text(f"{value}\n")
    (path / "present").write_text("0\n")


@pytest.fixture
def settings(tools: Path, python: Callable[[str], str], sysfs: Path) -> Settings:
    """Everything there is, on a trn2.48xlarge; no profiler, which tests of it switch on."""
    return Settings(
        tools=str(tools),
        nki_python=python("nki"),
        nrtpy_python=python("nrtpy"),
        sysfs=str(sysfs),
        profile=False,
    )


@pytest.fixture
def backend(settings: Settings, registry: Registry) -> NeuronBackend:
    return NeuronBackend(registry, settings)


@pytest.fixture
def case(registry: Registry) -> Callable[..., Case]:
    """A case of a kernel on trn2-16.48xlarge."""

    def make(
        kernel: str, scope: Scope = Scope.CORE, instance: str = "trn2-16.48xlarge", **point: object
    ) -> Case:
        found = registry.kernels[kernel]
        generation, system = registry.instance(instance)[0], registry.system(instance)
        devices = {Scope.CORE: 1, Scope.DEVICE: 1}.get(scope, system.devices)
        cores = 1 if scope is Scope.CORE else devices * system.cores_per_device
        return Case(
            key=CaseKey(
                kernel=kernel,
                family=found.family,
                instance=system.name,
                generation=generation.name,
                scope=scope,
                point=point,  # type: ignore[arg-type]  # values of axes
            ),
            kernel=found,
            extent=Extent(
                scope=scope, cores=cores, devices=devices, ranks=devices if found.spread.linked else 1
            ),
        )

    return make


@pytest.fixture
def see(backend: NeuronBackend, registry: Registry, case: Any) -> Callable[..., tuple[Observation, Any]]:
    """Observe a case, and judge it."""

    def make(kernel: str = "gemm", scope: Scope = Scope.CORE, use: Any = None, **point: object) -> Any:
        made = case(kernel, scope, **(point or {"dtype": "bf16", "size": 256}))
        system = registry.system("trn2-16.48xlarge")
        stack = use or backend
        assert stack.unsupported(made, system) == ""
        seen = stack.observe(made, system)
        return seen, Judge(PeakPolicy.SEED).judge(made, seen, system)

    return make
