"""A decoding step of one device, among the cases that a run has unless others are named."""

from __future__ import annotations

import pytest

from trnbench import bench
from trnbench.facts.fact import Scope
from trnbench.kernels.work import Extent
from trnbench.registry import Registry
from trnbench.results.measurement import Status
from trnbench.run.plan import plan
from trnbench_steps import HEADS, MODEL, DeviceStep
from trnbench_steps.shipped_models import load_model

RANKS = {"trn1.32xlarge": 2, "trn2-16.48xlarge": 4, "trn3-gen2-ultraserver": 4}


@pytest.mark.parametrize("system", RANKS)
def test_all_logical_cores_of_a_device_share_it(system: str, registry: Registry) -> None:
    run = bench(["decode_step"], instances=[system], registry=registry)
    (step,) = run.measurements  # nothing is skipped that nobody asked for
    assert step.status is Status.OK
    assert step.detail["step"]["ranks"] == RANKS[system]
    assert step.case.scope is Scope.DEVICE
    assert step.judgement.peaks.chosen.scope is Scope.DEVICE
    assert 0.1 < step.judgement.fraction < 1
    assert step.work["tokens"] == 1


def test_its_heads_are_those_of_its_model() -> None:
    assert {kind.attention.heads for kind in load_model(MODEL).kinds} == {HEADS}


def test_cores_that_do_not_divide_its_heads_are_refused() -> None:
    step = DeviceStep()
    cores = {ranks: Extent(scope=Scope.DEVICE, ranks=ranks) for ranks in (4, 5)}
    assert step.refuses({}, cores[4]) == ""
    assert step.refuses({}, cores[5]) == "the 32 heads of llama-3-8b do not lie on 5 logical cores"


def test_it_stands_beside_products_and_attention_of_a_device(registry: Registry) -> None:
    kernels = {case.key.kernel for case in plan(registry).runnable if case.key.scope is Scope.DEVICE}
    assert {"gemm", "attention", "decode_step"} <= kernels
