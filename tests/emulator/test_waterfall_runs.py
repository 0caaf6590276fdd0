"""A waterfall takes fewer runs than it has causes; each term is what a run would have found."""

from __future__ import annotations

from typing import Any

import pytest
from drawn_kernels import kernels, source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trnbench_emulator.core import waterfall
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.launch import LaunchSchedule, schedule_launch
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.recording import Launch, Recording, record_launch
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel

TRN1, TRN2, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"


def _told(
    recording: Recording, pace: Pace, held: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[str, int]], int]:
    """The waterfall, and how many runs it took."""
    runs = []

    def counted(*args: Any, **options: Any) -> LaunchSchedule:
        runs.append(options)
        return schedule_launch(*args, **options)

    monkeypatch.setattr(waterfall, "schedule_launch", counted)
    launched = schedule_launch(recording, pace)
    found = waterfall.waterfall_of(recording, pace, launched, launch=0, held=held, fold=True)
    return found, len(runs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("waterfalls")


@given(
    body=kernels(),
    where=st.sampled_from([TRN1, TRN2, TRN3]),
    held=st.sampled_from(["", "tensor", "vector", "scalar", "gpsimd", "dma", "hbm"]),
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=40,
)
def test_a_term_without_a_run_is_that_of_a_run(
    registry: Any, folder: Any, body: str, where: str, held: str
) -> None:
    file = folder / f"kernel_{len(list(folder.iterdir()))}.py"
    file.write_text(source(body))
    system = registry.system(where)
    kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    recording = record_launch(
        kernel, (TensorSpec((128, 8192), "float32"),), Machine.of(system), Launch(fold=False)
    )
    pace = Pace(CostTable(system))
    with pytest.MonkeyPatch.context() as patch:
        fewer, few = _told(recording, pace, held, patch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waterfall, "_HOLDING", {})
        patch.setattr(waterfall, "_apart", lambda *_: False)
        every, many = _told(recording, pace, held, patch)
    assert fewer == every
    assert few <= many


def test_engines_are_taken_away_without_a_run(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, _, _ = load_kernel("trnbench_kernels.nki.gemm:gemm_blocked", nki="trnbench")
    system = registry.system(TRN2)
    recording = record_launch(kernel, (TensorSpec((1024, 1024), "bf16"),) * 2, Machine.of(system), Launch())
    _, runs = _told(recording, Pace(CostTable(system)), "", monkeypatch)
    assert runs == 4  # warming up, semaphores, starts, latencies
