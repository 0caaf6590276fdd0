"""What the stack cannot take: each is said before anything is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Case
from trnbench.registry import Registry, load_registry
from trnbench_neuron.backend import NeuronBackend
from trnbench_neuron.settings import Settings

POINT = {"dtype": "bf16", "size": 256}


def test_another_instance_is_not_measured(
    backend: NeuronBackend, registry: Registry, case: Callable[..., Case]
) -> None:
    made = case("gemm", instance="trn1.32xlarge", **POINT)
    assert backend.unsupported(made, registry.system("trn1.32xlarge")) == (
        "this machine is trn2-16.48xlarge; a measured run is of the machine in front of you"
    )


@pytest.mark.parametrize(
    ("kernel", "scope", "point", "why"),
    [
        ("gemm", Scope.CORE, {"dtype": "tf32", "size": 256}, "NumPy has no tfloat32"),
        (
            "gemm",
            Scope.CORE,
            {"dtype": "mxfp8", "size": 192},
            "the NKI source of gemm does not take this point",
        ),
        ("gemm_int8", Scope.CORE, {"dtype": "int8", "size": 1024}, "kernel gemm_int8 has no NKI source"),
        ("gemm", Scope.LOGICAL_CORE, POINT, "its source is written for one physical core (LNC=1)"),
        (
            "gemm_shared",
            Scope.DEVICE,
            POINT,
            "its programs share one problem, and each core would be given the whole of it here",
        ),
        ("broadcast", Scope.INSTANCE, {"dtype": "bf16", "size": 1024}, "nccom-test has no broadcast"),
        ("moe_dispatch_combine", Scope.INSTANCE, None, "nccom-test runs plain collectives only"),
    ],
)
def test_what_it_cannot_take_is_said(
    kernel: str,
    scope: Scope,
    point: dict[str, object] | None,
    why: str,
    backend: NeuronBackend,
    registry: Registry,
    case: Callable[..., Case],
) -> None:
    if kernel not in registry.kernels:
        kernel = next(name for name in registry.kernels if name.startswith("moe"))
    found = registry.kernels[kernel]
    point = point or {axis.name: axis.values[0] for axis in found.axes}
    assert backend.unsupported(case(kernel, scope, **point), registry.system("trn2-16.48xlarge")).startswith(
        why
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"nki_python": ""}, "nki is not installed in this environment"),
        ({"nrtpy_python": "nki"}, "nki and nrtpy are installed in one environment"),
        ({"nki_python": "/no/such/python"}, "NKI_PYTHON: /no/such/python cannot be started"),
        ({"nrtpy_python": "beta1"}, "nrtpy is not installed in the interpreter named"),
    ],
)
def test_missing_interpreters_are_said(
    change: dict[str, str],
    why: str,
    settings: Settings,
    python: Callable[[str], str],
    registry: Registry,
    case: Callable[..., Case],
) -> None:
    both = "one environment" in why
    made = {
        name: python("nki+nrtpy" if both else value) if value and "/" not in value else value
        for name, value in change.items()
    }
    if both:
        made["nki_python"] = made["nrtpy_python"]
    backend = NeuronBackend(load_registry(), msgspec.structs.replace(settings, **made))
    said = backend.unsupported(case("gemm", **POINT), registry.system("trn2-16.48xlarge"))
    assert said.startswith(why)
    assert "PYTHON" in said


def test_an_old_nki_is_refused(tmp_path: Path) -> None:
    from trnbench_neuron.conversation import find

    site = tmp_path / "site" / "nki-0.2.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: nki\nVersion: 0.2.0\n")
    import sys

    script = tmp_path / "python-old"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{site.parent}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    assert find(Settings(nki_python=str(script))).nki.why == "nki 0.2.0 is older than 0.3"
