"""The order in which causes are removed decides what each is charged with: it is the documented one."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from drawn_kernels import kernels, source
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench import bench
from trnbench.cli.main import cli
from trnbench.registry import Registry
from trnbench_emulator.core import waterfall
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.launch import LaunchSchedule, schedule_launch
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.recording import Launch, Recording, record_launch
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"

ORDER = [
    "launch",
    "tensor engine warming up",
    "conflicts on a bank of PSUM",
    "engines that exclude each other",
    "waiting for buffers",
    "semaphores",
    "start of transfers",
    "latency of instructions",
    "waiting for operands",
    "gpsimd engine",
    "scalar engine",
    "vector engine",
    "tensor engine",
    "DMA engines",
    "device memory",
]
"""As docs/emulator.md says, from what is removed first; a waterfall is read the other way round."""

KERNEL = (Path(__file__).parent / "kernels" / "delayed.txt").read_text()


@pytest.fixture(scope="module")
def causes(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What waterfalls are made of, each from its end: the cause removed first comes first."""
    file = tmp_path_factory.mktemp("order") / "kernels.py"
    file.write_text(KERNEL)
    told = []
    for where in (TRN1, TRN2):
        words = ["nki", "run", f"{file}::delayed", "-i", where, "--format", "json"]
        words += [word for name in ("x", "y") for word in ("--arg", f"{name}=128x1024:bf16")]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, result.stderr
        told.append([each["name"] for each in json.loads(result.stdout)["waterfall"]])
    for kernel, where, axes in (
        ("selective_scan", TRN1, ["tokens=512"]),
        ("selective_scan", TRN2, ["tokens=512"]),
        ("layer_norm", TRN2, ["dtype=bf16", "columns=512"]),
    ):
        run = bench([kernel], instances=[where], scopes=["core"], axes=axes, registry=registry)
        told += [[name for name, _ in each.detail["waterfall"]] for each in run.measurements]
    return [[name for name in reversed(each) if name in ORDER] for each in told]


def test_causes_are_removed_in_the_documented_order(causes: list[list[str]]) -> None:
    assert len(causes) == 5
    for found in causes:
        assert found == sorted(found, key=ORDER.index)


def test_no_two_neighbours_of_the_order_could_change_places_unnoticed(causes: list[list[str]]) -> None:
    seen = {pair for found in causes for pair in pairwise(found)}
    delays = ORDER[: ORDER.index("waiting for operands") + 1]
    assert set(pairwise(delays)) <= seen
    assert {("gpsimd engine", "scalar engine"), ("vector engine", "DMA engines")} <= seen


def test_the_page_lists_the_causes_in_that_order(root: Path) -> None:
    page = " ".join((root / "docs" / "emulator.md").read_text().split())
    assert (
        "without the launch, the warm-up, bank conflicts, exclusions, buffers, semaphores, starts of "
        "transfers, latencies, dependencies, then without each other engine and memory" in page
    )


# A waterfall takes fewer runs than it has causes; each term is what a run would have found -----------


def _told(recording: Recording, pace: Pace, held: str, monkeypatch: Any) -> tuple[list[tuple[str, int]], int]:
    """The waterfall, and how many runs it took."""
    runs = []

    def counted(*args: Any, **options: Any) -> LaunchSchedule:
        runs.append(options)
        return schedule_launch(*args, **options)

    monkeypatch.setattr(waterfall, "schedule_launch", counted)
    launched = schedule_launch(recording, pace)
    found = waterfall.waterfall_of(recording, pace, launched, launch=0, held=held)
    return found, len(runs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("waterfalls")


@given(
    body=kernels(),
    where=st.sampled_from([TRN1, TRN2, "trn3-gen2-ultraserver"]),
    held=st.sampled_from(["", "tensor", "vector", "scalar", "gpsimd", "dma", "hbm"]),
)
@settings(max_examples=40)
def test_a_term_without_a_run_is_that_of_a_run(
    registry: Any, folder: Any, body: str, where: str, held: str
) -> None:
    file = folder / f"kernel_{len(list(folder.iterdir()))}.py"
    file.write_text(source(body))
    system = registry.system(where)
    kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    recording = record_launch(kernel, (TensorSpec((128, 8192), "float32"),), Machine.of(system), Launch())
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
