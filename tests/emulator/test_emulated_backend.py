"""The backend over every default case: complete, deterministic, below what the clocks allow, quick."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_apart import run

from trnbench import UnknownName, UsageError
from trnbench.backend import Backend
from trnbench.facts.fact import Scope
from trnbench.kernels.work import Work
from trnbench.peaks.engine import engine_bound
from trnbench.results.measurement import Evidence, Grade, Reason
from trnbench_emulator.backend import MODEL_VERSION, TICKS_PER_SECOND, EmulatedBackend
from trnbench_emulator.fabric.systems import fabric_of
from trnbench_emulator.kernel_run.assertions import assert_faster, assert_share_of_peak
from trnbench_emulator.nki import TensorSpec

QUIET = settings(max_examples=8)


def test_it_is_a_backend_that_is_always_there(backend: EmulatedBackend) -> None:
    assert isinstance(backend, Backend)
    assert backend.detect().available
    environment = backend.environment()
    assert environment["emulator_model"] == "trnbench schedule + flows"
    assert all(isinstance(value, (str, int, float)) for value in environment.values())


def test_every_default_case_has_a_time_and_its_evidence(observed: Any) -> None:
    assert len(observed) > 250
    for case, _, seen in observed:
        assert seen.reason is Reason.NONE, case.id
        assert seen.evidence.grade is Grade.EMULATED
        assert seen.time_s > 0, case.id
        if case.key.family == "workload":  # a step is put together of others
            continue
        assert seen.samples == (seen.time_s,)
        assert seen.stop_reason == "deterministic model"
        ticks = seen.time_s * TICKS_PER_SECOND
        assert math.isclose(ticks, round(ticks), rel_tol=1e-12, abs_tol=1e-3), case.id
        assert seen.bound in {part.name for part in seen.parts}, case.id
        assert seen.implementation.partition(":")[0] in ("nki", "model", "collective")


def test_the_longest_part_bounds_and_no_part_exceeds_the_time(observed: Any) -> None:
    for case, _, seen in observed:
        parts = {part.name: part.seconds for part in seen.parts}
        assert max(parts.values()) <= seen.time_s * (1 + 1e-12), case.id
        busy = {name: s for name, s in parts.items() if name not in ("fill", "launch")}
        if seen.bound in busy:
            # An engine has to wait for its first tile; memory has not.
            assert busy[seen.bound] + parts.get("fill", 0.0) >= max(busy.values()), case.id


def test_never_above_what_the_clocks_allow(observed: Any) -> None:
    held = 0
    for case, system, seen in observed:
        work = case.work.as_counts()
        checks = [("flops", "peak_flops", "")]
        checks += [(f"{engine}_flops", "peak_flops", engine) for engine in ("vector", "scalar", "gpsimd")]
        if case.kernel.primary.peak == "dma_bandwidth":
            checks.append(("hbm_bytes", "dma_bandwidth", ""))
        for count, metric, qualifier in checks:
            bound = engine_bound(
                system,
                metric=metric,
                scope=case.key.scope,
                # fp32 by bf16 halves: what is multiplied, and counted, is bf16.
                dtype="bf16" if case.key.point.get("by") == "bf16-halves" else case.key.dtype or "fp32",
                sparse=case.kernel.primary.sparse,
                qualifier=qualifier,
                extent=case.extent,
            )
            if work.get(count) and bound is not None:
                held += 1
                assert work[count] / seen.time_s <= bound.value, case.id
    assert held > 150


def test_what_no_document_gives_is_named(observed: Any) -> None:
    for case, system, seen in observed:
        assumed = [
            note.partition(":")[0].removeprefix("assumed ") for note in seen.notes if "assumed" in note
        ]
        assert all(name in system.book.assumptions for name in assumed), case.id
        assert not any("taken as 0" in note for note in seen.notes), case.id


def test_deterministic(observed: Any) -> None:
    fresh = EmulatedBackend()
    for case, system, seen in observed[::29]:
        again = fresh.observe(case, system)
        assert msgspec.json.encode(again) == msgspec.json.encode(seen), case.id


def test_an_instance_shares_memory_between_its_cores(make_case: Any, backend: EmulatedBackend) -> None:
    alone = backend.observe(*make_case("hbm_read", "trn2-16.48xlarge", "core", size=1 << 30))
    together = backend.observe(*make_case("hbm_read", "trn2-16.48xlarge", "device", size=1 << 30))
    parts = [{part.name: part.seconds for part in seen.parts} for seen in (alone, together)]
    assert parts[1]["hbm"] == pytest.approx(8 * parts[0]["hbm"])
    assert parts[1]["dma"] == parts[0]["dma"]


@pytest.mark.parametrize(
    ("kernel", "point"),
    [
        ("gemm", {"dtype": "bf16", "size": 1024}),
        ("gemm_skinny", {"m": 16}),
        ("hbm_copy", {"size": 1 << 24}),
        ("softmax", {"columns": 2048}),
        ("dma_sweep", {"bytes_per_partition": 512}),
        ("attention", {"seq": 1024}),
    ],
)
@given(faster=st.floats(1.0, 8.0), scope=st.sampled_from(["core", "device"]))
@QUIET
def test_more_bandwidth_is_never_slower(
    kernel: str,
    point: dict[str, Any],
    faster: float,
    scope: str,
    make_case: Any,
    backend: EmulatedBackend,
    scale: Any,
) -> None:
    case, system = make_case(kernel, "trn2-16.48xlarge", scope, **point)
    before = backend.observe(case, system).time_s
    assert backend.observe(case, scale(system, faster, "hbm_bandwidth")).time_s <= before
    assert backend.observe(case, scale(system, 1.0, dma=faster)).time_s <= before
    # Engines that are done sooner idle longer, and a tensor engine that idles cools down: with the throttle a
    # faster clock may take longer, on a device as well.
    warm = msgspec.structs.replace(
        system, costs={name: each for name, each in system.costs.items() if name != "throttle"}
    )
    before = backend.observe(case, warm).time_s
    assert backend.observe(case, scale(warm, faster, "clock")).time_s <= before
    assert backend.observe(case, scale(warm, faster, "hbm_bandwidth", "clock", dma=faster)).time_s <= before


@given(
    faster=st.floats(1.0, 8.0),
    size=st.sampled_from([1 << 10, 1 << 18, 1 << 28]),
    kernel=st.sampled_from(
        ["all_reduce", "all_gather", "all_to_all", "broadcast", "permute", "point_to_point"]
    ),
    instance=st.sampled_from(["trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen2-ultraserver"]),
)
@QUIET
def test_faster_links_are_never_slower(
    faster: float, size: int, kernel: str, instance: str, make_case: Any, backend: EmulatedBackend, scale: Any
) -> None:
    case, system = make_case(kernel, instance, "system", size=size)
    before = backend.observe(case, system).time_s
    assert backend.observe(case, scale(system, faster, "neuronlink_bandwidth")).time_s <= before
    assert (
        backend.observe(case, scale(system, faster, "neuronlink_bandwidth", "hbm_bandwidth")).time_s <= before
    )


def test_the_whole_ultracluster_needs_no_graph_of_it(make_case: Any) -> None:
    case, system = make_case("all_reduce", "trn1-ultracluster", "system", size=1 << 30)
    assert case.extent.ranks == 30_000
    fresh = EmulatedBackend()
    assert fresh.observe(case, system).time_s > 0
    # No graph of 30,000 devices is built, whatever is asked.
    fresh.observe(*make_case("point_to_point", "trn1-ultracluster", "system", reach="other-host"))
    assert {net.size for net in fabric_of(system)._small.values()} == {32}
    assert "topology" not in vars(fabric_of(system))


def test_what_has_no_model_is_refused_in_a_sentence(make_case: Any, backend: EmulatedBackend) -> None:
    case, system = make_case("hbm_read", "trn2-16.48xlarge")
    none = msgspec.structs.replace(case.kernel, work=lambda *_: Work(), implementations={})
    assert backend.unsupported(msgspec.structs.replace(case, kernel=none), system) == (
        "kernel hbm_read counts no operations and no bytes, so no time follows"
    )
    odd = msgspec.structs.replace(case.kernel, implementations={"collective": "gossip"})
    assert backend.unsupported(msgspec.structs.replace(case, kernel=odd), system) == (
        "the emulator has no model of the collective 'gossip'"
    )
    bare = msgspec.structs.replace(system, costs={})
    assert backend.unsupported(case, bare) == "trn2 has no cost table, so no time follows for a core"


def test_a_third_partys_kernel_is_emulated_from_its_work(make_case: Any, backend: EmulatedBackend) -> None:
    case, system = make_case("hbm_read", "trn2-16.48xlarge")
    stencil = msgspec.structs.replace(
        case.kernel,
        name="my_stencil",
        family="stencil",
        implementations={},
        work=lambda *_: Work(flops=1e9, engine_flops={"vector": 1e6}, bytes={"hbm": 1e6}),
    )
    seen = backend.observe(msgspec.structs.replace(case, kernel=stencil), system)
    assert {part.name for part in seen.parts} == {"tensor", "vector", "dma", "hbm", "fill", "launch"}
    assert seen.implementation == "model: roofline from the work formula"
    assert seen.evidence == Evidence(
        grade=Grade.DERIVED,
        by="roofline: max(engines + lead, DMA, device memory) + fill + launch",
        version=MODEL_VERSION,
        note="flops, vector_flops, hbm_bytes; my_stencil declares: it has no NKI source",
    )
    assert seen.stop_reason == "formula"


def test_scopes_of_single_devices(make_case: Any, backend: EmulatedBackend) -> None:
    case, system = make_case("host_to_device", "trn1.2xlarge", "device", size=1 << 30)
    seen = backend.observe(case, system)
    assert case.key.scope is Scope.DEVICE
    assert seen.bound == "link"
    assert seen.time_s == pytest.approx(2e-6 + (1 << 30) / 16e9)


# `assert_faster` and `assert_share_of_peak`, and the example of docs/comparing.md in a pytest of its own ---

ROWS = "trnbench_kernels.nki.rows:softmax"
TRN2 = "trn2-16.48xlarge"
SMALL, LARGE = ({"x": TensorSpec((rows, 512), "bfloat16")} for rows in (128, 1024))
PAGE = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")


def test_a_kernel_that_is_faster() -> None:
    assert_faster(ROWS, ROWS, SMALL, than_args=LARGE, instance=TRN2)
    assert_faster(ROWS, ROWS, SMALL, than_args=LARGE, instance=TRN2, by="10%")


def test_one_that_is_not() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_faster(ROWS, ROWS, LARGE, than_args=SMALL, instance=TRN2)
    assert re.fullmatch(
        r"softmax is not faster than softmax on trn2-16\.48xlarge: [\d.]+ µs emulated, limited by [\w ]+, "
        r"against [\d.]+ µs emulated, limited by [\w ]+",
        str(caught.value),
    )


def test_a_kernel_is_not_faster_than_itself() -> None:
    with pytest.raises(AssertionError):
        assert_faster(ROWS, ROWS, SMALL, instance=TRN2)


def test_not_by_as_much() -> None:
    with pytest.raises(AssertionError, match=r"is not faster than softmax by 99\.0 % on"):
        assert_faster(ROWS, ROWS, SMALL, than_args=LARGE, instance=TRN2, by=0.99)


def test_a_share_of_the_peak() -> None:
    assert_share_of_peak(ROWS, LARGE, instance=TRN2, at_least=0.01)
    with pytest.raises(AssertionError) as caught:
        assert_share_of_peak(ROWS, LARGE, instance=TRN2, at_least="100%")
    assert re.fullmatch(
        r"softmax reaches [\d.]+ % of the .+ peak of trn2-16\.48xlarge, and not 100\.0 %: [\d.]+ µs "
        r"emulated, limited by [\w ]+",
        str(caught.value),
    )


def test_a_peak_that_it_is_not_held_against() -> None:
    with pytest.raises(UnknownName, match="unknown peak 'magic'"):
        assert_share_of_peak(ROWS, SMALL, instance=TRN2, at_least="1%", what="magic")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "60",
            "at_least '60' is no percentage\n"
            "  cause: it is a number with % behind it, 0 to 1,000,000%\n"
            "  try:   at_least 3%",
        ),
        (60, 'at_least=60 is no share\n  cause: 0.6 is 60 %\n  try:   at_least="60%"'),
    ],
)
def test_what_is_no_share(given: float | str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        assert_share_of_peak(ROWS, SMALL, instance=TRN2, at_least=given)
    assert str(caught.value) == said


@pytest.mark.campaign("documents")
def test_the_example_of_the_page(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(from trnbench\.nki.*?)```", PAGE, re.S)
    (tmp_path / "test_lab.py").write_text(text)
    subprocess.run([sys.executable, "-m", "trnbench", "plugin", "new", "lab"], cwd=tmp_path, check=True)
    done = run(tmp_path, "test_lab.py")
    assert "2 passed" in done.stdout, done.stdout
