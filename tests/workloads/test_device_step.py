"""A decoding step of one device, among the cases that a run has unless others are named."""

from __future__ import annotations

import pytest

from trnbench import bench
from trnbench.facts.fact import Scope
from trnbench.registry import Registry, load_registry
from trnbench.results.measurement import Status
from trnbench.run.plan import plan


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


RANKS = {"trn1.32xlarge": 2, "trn2-16.48xlarge": 4, "trn3-gen2-ultraserver": 4}


@pytest.mark.parametrize("system", RANKS)
def test_all_logical_cores_of_a_device_share_it(system: str, registry: Registry) -> None:
    run = bench(["decode_step"], instances=[system], registry=registry)
    ran = [each for each in run.measurements if each.status is Status.OK]
    (step,) = ran
    assert step.case.point["tp"] == step.detail["step"]["ranks"] == RANKS[system]
    assert step.case.scope is Scope.DEVICE
    assert step.judgement is not None
    assert step.judgement.peaks.chosen.scope is Scope.DEVICE
    assert 0.1 < step.judgement.fraction < 1
    assert step.work["tokens"] == 1
    (left,) = [each for each in run.measurements if each.status is Status.SKIPPED]
    assert left.reason_text.endswith(f"each of the {RANKS[system]} logical cores of a device")


def test_it_stands_beside_products_and_attention_of_a_device(registry: Registry) -> None:
    kernels = {case.key.kernel for case in plan(registry).runnable if case.key.scope is Scope.DEVICE}
    assert {"gemm", "attention", "decode_step"} <= kernels
