"""One problem on all cores of a scope: never slower than all of it on each, held against the peak of all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from parts import part

from trnbench import bench
from trnbench.case_key import Division
from trnbench.facts.fact import Scope
from trnbench.results.measurement import Measurement, Status, stored_waterfall

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"
ASKED = {
    "gemm": ["size=4096", "dtype=bf16"],
    "gemm_skinny": ["m=16", "dtype=bf16"],
    "attention": ["seq=4096", "head_dim=128"],
    "rms_norm": ["columns=2048", "dtype=bf16"],
    "transpose": ["size=8192", "dtype=bf16"],
    "moe_experts": ["tokens=128"],
}


@pytest.fixture(scope="module", params=ASKED)
def found(request: pytest.FixtureRequest, registry: Any) -> dict[tuple[str, Any], list[Measurement]]:
    """Cases by system and division, the smallest scope first; of one core both."""
    run = bench(
        [request.param],
        instances=[TRN1, TRN2],
        axes=ASKED[request.param],
        scopes=["core", "logical-core", "device", "instance"],
        divisions=["sharded", "replicated"],
        registry=registry,
    )
    cases: dict[tuple[str, Any], list[Measurement]] = {}
    for each in run.measurements:
        if each.status is not Status.SKIPPED:
            mask = each.case.point.get("mask", "")
            for division in (each.case.division,) if each.case.division else Division:
                cases.setdefault((f"{each.case.instance} {mask}", division), []).append(each)
    return cases


def test_sharing_is_never_slower_and_more_cores_never_are(found: dict[Any, list[Measurement]]) -> None:
    for (system, division), cases in found.items():
        if division is Division.SHARDED:
            alone = found[system, Division.REPLICATED]
            assert [each.case.scope for each in cases] == [each.case.scope for each in alone]
            for shared, whole in zip(cases, alone, strict=True):
                assert shared.time_s <= whole.time_s
            for fewer, more in pairwise(cases):
                assert more.time_s <= fewer.time_s
                assert more.work == fewer.work  # one problem, however many share it


def test_it_is_held_against_the_peak_of_its_scope(found: dict[Any, list[Measurement]]) -> None:
    for (_, division), cases in found.items():
        for each in cases:
            assert each.judgement.peaks.chosen.scope is each.case.scope
            assert each.status in (Status.OK, Status.DOCUMENT_LOW)
            assert (each.judgement.of_engine_bound or 0) <= 1.0001
            if division is Division.SHARDED and each.case.scope is not Scope.CORE:
                assert each.notes[0].startswith("sharded: ")
                assert sum(cores for cores, _ in each.detail["shares"]) >= 2
                terms = stored_waterfall(each)
                assert not terms or sum(seconds for _, seconds in terms) == pytest.approx(each.time_s)


def test_programs_that_ask_for_their_share_take_the_time_of_the_largest(registry: Any) -> None:
    """A launch of two programs, each emulated, against half of the rows on one core with both at work."""
    times = [
        bench(
            [kernel],
            instances=[TRN2],
            axes=["size=2048", "dtype=bf16"],
            scopes=["logical-core"],
            registry=registry,
        )
        .measurements[0]
        .time_s
        for kernel in ("gemm", "gemm_shared")
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-3)


@pytest.mark.parametrize(("first", "every"), [(0, 2), (1, 2), (2, 3)])
def test_a_share_of_the_queries_is_that_part_of_the_result(first: int, every: int) -> None:
    module = part("trnbench_kernels.nki.references")
    drawn = np.random.default_rng(7)
    q, k = (drawn.standard_normal((1, 16, 768)) for _ in range(2))
    v = drawn.standard_normal((1, 768, 16))
    own = [row for tile in range(first, 6, every) for row in range(tile * 128, tile * 128 + 128)]
    whole = module.attention(q, k, v, causal=True)
    share = module.attention(q[:, :, own], k, v, causal=True, first=first, every=every)
    np.testing.assert_allclose(share, whole[:, own])
