"""Every kernel that names an NKI source: compiled, executed, checked and timed by one path."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from campaigns import sweep

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Case
from trnbench.registry import Registry, load_registry
from trnbench.results.measurement import Reason
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench_emulator.nki import Machine, load_kernel, problem, provide, record
from trnbench_neuron import verification
from trnbench_neuron.backend import NeuronBackend
from trnbench_neuron.verification import disagreement

SYSTEM = "trn2-16.48xlarge"
QUICK = 5e7
"""Operations of a case that is executed here whole."""

SMALL: dict[str, dict[str, Any]] = {
    "attention": {"dtype": "bf16", "heads": 2, "head_dim": 64, "seq": 256},
    "moe_experts": {"dtype": "bf16", "experts": 3, "tokens": 20, "hidden": 192, "columns": 160},
    "tensor_throughput": {"dtype": "bf16", "columns": 64, "instructions": 8},
    "gemm_naive": {"dtype": "bf16", "size": 256},
    "gemm_blocked": {"dtype": "bf16", "size": 256},
    "gemm_best": {"dtype": "bf16", "size": 256},
    "gemm_skinny": {"dtype": "bf16"},
}
"""Points for kernels whose own are too much to execute in a test."""


def _cases() -> dict[str, tuple[dict[str, Any], float]]:
    """The smallest point of each kernel that the stack takes, and its operations."""
    registry = load_registry()
    planned = plan(registry, Selection(instances=(SYSTEM,), scopes=("core",)))
    found: dict[str, tuple[dict[str, Any], float]] = {}
    for case in planned.cases:
        if case.skip or "nki" not in case.kernel.implementations or problem.source_of(case) is None:
            continue
        operations = problem.operations(case)
        name = case.kernel.name
        if name not in found or operations < found[name][1]:
            found[name] = (dict(case.key.point), operations)
    return found


CASES = _cases()
ONE_OF_EACH_FAMILY = set({load_registry().kernels[name].family: name for name in sorted(CASES)}.values())


def _point(name: str) -> dict[str, Any]:
    point, operations = CASES[name]
    if operations <= QUICK:
        return point
    return {**point, **{key: value for key, value in SMALL.get(name, {}).items() if key in point}}


def _executed(
    case: Case, registry: Registry, instance: str = SYSTEM
) -> tuple[problem.Source, list[Any], list[Any]]:
    source = problem.source_of(case)
    values = problem.fill(source, 1)
    kernel, _, _ = load_kernel(source.ref.replace("::", ":", 1), nki="trnbench")
    with provide("trnbench"):
        trace = record(
            kernel, [*values, *source.plain], machine=Machine.of(registry.system(instance)), functional=True
        )
    return source, values, list(trace.outputs)


def _referenced(source: problem.Source, registry: Registry) -> bool:
    """Whether a reference stands beside the kernel, and is computed whole for arguments of this size."""
    if not hasattr(problem.beside(source.module, "nki"), f"{source.function}_reference"):
        return False
    shapes = [*source.inputs, *problem.outputs_of(source, registry.system(SYSTEM))]
    return sum(math.prod(shape) for shape, _ in shapes) <= verification.REFERENCE_LIMIT


def test_there_are_kernels_of_every_family_that_has_a_source() -> None:
    registry = load_registry()
    families = {each.family for each in registry.kernels.values() if "nki" in each.implementations}
    assert {registry.kernels[name].family for name in CASES} == families
    assert len(families) >= 8


@pytest.mark.parametrize("name", sweep(sorted(CASES), ONE_OF_EACH_FAMILY.__contains__))
def test_its_check_takes_what_the_source_computes_and_nothing_else(
    name: str, case: Callable[..., Case], registry: Registry
) -> None:
    made = case(name, Scope.CORE, **_point(name))
    system = registry.system(SYSTEM)
    source, values, outputs = _executed(made, registry)
    # Exponentials of exponentials are infinite soon; no number at all would compare with nothing.
    assert not any(np.isnan(each.astype(np.float64)).all() for each in outputs)
    assert [dtype for _, dtype in problem.outputs_of(source, system)] == [each.dtype.name for each in outputs]
    wrong, how = verification.wrong(source, made, system, values, outputs)
    assert (wrong, bool(how)) == ("", True)
    spoilt = [each.copy() for each in outputs]
    flat = spoilt[0].reshape(-1)
    flat[: max(1, flat.size // 4)] = np.array(91.0).astype(flat.dtype)
    assert verification.wrong(source, made, system, values, spoilt)[0] != ""


@pytest.mark.parametrize("dtype", ["mxfp8", "mxfp4"])
@pytest.mark.parametrize("name", ["gemm", "gemm_naive", "gemm_blocked"])
def test_microscaled_products_are_checked_with_their_scales(
    name: str, dtype: str, case: Callable[..., Case], registry: Registry
) -> None:
    instance = "trn3-gen1-ultraserver"
    made = case(name, Scope.CORE, instance, dtype=dtype, size=256)
    system = registry.system(instance)
    source, values, outputs = _executed(made, registry, instance)
    wrong, how = verification.wrong(source, made, system, values, outputs)
    assert (wrong, bool(how)) == ("", True)
    # The scales of one group twice as large: a result that took no notice of them is found.
    other = [each.copy() for each in values]
    other[2][0] = (other[2][0].astype(np.float32) * 2).astype(other[2].dtype)
    assert "times a random vector" in verification.wrong(source, made, system, other, outputs)[0]
    assert problem.outputs_of(source, system) == (((256, 256), "bfloat16"),)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_default_case_of_any_size_can_be_checked(name: str, registry: Registry) -> None:
    """Nothing measured is left without a check because it is too large to be executed here."""
    planned = plan(registry, Selection(instances=(SYSTEM,), scopes=("core",), kernels=(name,)))
    for each in planned.cases:
        if each.skip or (source := problem.source_of(each)) is None:
            continue
        product = each.kernel.family == "gemm" and len(source.inputs) == 2
        quick = problem.operations(each) <= verification.EMULATED_LIMIT
        assert verification.known(source.ref) or product or quick or _referenced(source, registry), each.id


@pytest.mark.parametrize(
    "name",
    sweep(
        ["attention", "hbm_triad", "layer_norm", "moe_experts", "selective_scan", "vector_latency"],
        ("attention", "hbm_triad").__contains__,
    ),
)
def test_it_is_compiled_timed_and_proven(name: str, backend: Any, case: Any, registry: Registry) -> None:
    made, system = case(name, Scope.CORE, **_point(name)), registry.system(SYSTEM)
    assert backend.unsupported(made, system) == ""
    seen = backend.observe(made, system)
    assert (seen.reason, seen.reason_text) == (Reason.NONE, "")
    assert seen.time_s > 0.0
    assert seen.clock == "device"
    assert seen.proof.output


def test_a_wrong_result_of_any_kernel_is_found(
    backend: NeuronBackend, case: Callable[..., Case], registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NRTPY", "wrong")
    seen = backend.observe(case("softmax", Scope.CORE, **_point("softmax")), registry.system(SYSTEM))
    assert seen.reason is Reason.WRONG_RESULT
    assert "an element is" in seen.reason_text


def test_what_is_no_finite_number_has_to_be_the_same_one() -> None:
    nan, inf = float("nan"), float("inf")
    want = np.array([1.0, inf, nan])
    assert disagreement(want, want.copy(), "float32") == ""
    for have in ([nan, inf, nan], [1.0, -inf, nan], [1.0, inf, 2.0]):
        assert disagreement(want, np.array(have), "float32").startswith("it is no finite number")
    assert disagreement(want, np.ones(2), "float32") == "shape (2,), not (3,)"


def test_integers_have_no_rounding() -> None:
    want = np.array([90.0, 200.0])
    assert disagreement(want, want.copy(), "uint8") == ""
    assert disagreement(want, np.array([91.0, 200.0]), "uint8") == "1 of 2 integers differ"
