"""The steps of one product in the report: what each reaches, and what the last one gains."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import trnbench
from trnbench import Run
from trnbench_reports import view
from trnbench_reports.losses import NAMES, rungs
from trnbench_reports.sections import losses

pytestmark = pytest.mark.parts


@pytest.fixture(scope="module")
def climbed() -> Run:
    return trnbench.bench(
        instances=["trn2-16.48xlarge"],
        kernels=["gemm_naive", "gemm_blocked", "gemm"],
        axes=["size=128,1024", "dtype=bf16,fp8"],
        scopes=["core"],
    )


def test_one_row_for_each_data_type_at_its_largest_size(climbed: Run) -> None:
    found = rungs(climbed)
    assert [(each.kernel, each.first.case.dtype, each.first.case.point["size"]) for each in found] == [
        ("gemm", "bf16", 1024),
        ("gemm", "fp8", 1024),
    ]
    for each in found:
        assert [case.case.kernel for case in each.cases if case] == ["gemm_naive", "gemm_blocked", "gemm"]
        times = [case.time_s for case in each.cases if case]
        assert times == sorted(times, reverse=True)  # every step is faster than the one before
        assert each.gain == pytest.approx(times[0] / times[-1])


def test_the_section_shows_the_shares_and_links_to_the_cases(climbed: Run) -> None:
    text = str(losses.render([climbed]))
    assert "What writing it well brings" in text
    table = text[text.index('aria-label="What writing it well brings"') :]
    assert [table.count(f'">{name}</th>') for name in NAMES.values()] == [1, 1, 1]
    for rung in rungs(climbed):
        for case in rung.cases:
            assert case is not None
            link = view.figure_of(0, case, view.SHARE).replace("&", "&amp;")
            assert f'<a class="figure" href="#{link}">' in table


@pytest.mark.parametrize("missing", ["gemm_naive", "gemm"])
def test_no_ladder_without_its_steps(climbed: Run, missing: str) -> None:
    kept: Any = tuple(each for each in climbed.measurements if each.case.kernel != missing)
    assert rungs(msgspec.structs.replace(climbed, measurements=kept)) == []
