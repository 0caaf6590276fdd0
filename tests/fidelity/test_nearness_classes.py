"""The class of the nearest published evidence, for each group of families."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import listed
from evidence_point import point, subject
from fabric_command import rows

import trnbench
from trnbench import Nearness, Scope, System
from trnbench.kernels.kernel import Case
from trnbench.registry import Registry
from trnbench.results.expectation import above
from trnbench.results.measurement import Metric
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench_emulator.nki import TensorSpec
from trnbench_fidelity.nearness import Nearby, best_of, nearby
from trnbench_fidelity.nearness.evidence import Evidence, Subject, of_case, of_kernel, same_size
from trnbench_fidelity.point import Quantity

TRN1, TRN2, ULTRA, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen2-ultraserver"
CLUSTER = "trn1-ultracluster:2"


@pytest.fixture(scope="module")
def near(registry: Registry) -> Nearby:
    return nearby(registry)


@dataclass(frozen=True)
class Asked:
    """A case, by kernel and axes, and the class that it must have."""

    kernel: str
    instance: str
    kind: Nearness
    axes: dict[str, Any] = field(default_factory=dict)
    scope: Scope = Scope.CORE
    first: str = ""

    def __str__(self) -> str:
        return f"{self.kernel}-{self.instance}-{self.scope}-{self.kind}"


def _system(kernel: str, instance: str, kind: Nearness, first: str = "", **axes: Any) -> Asked:
    scope = Scope.ULTRASERVER if instance in (ULTRA, TRN3) else Scope.INSTANCE
    return Asked(kernel, instance, kind, axes, Scope.CLUSTER if instance == CLUSTER else scope, first)


SAME, KERNEL, OPERATION, FAMILY, ELSEWHERE, NONE = Nearness
CASES = (
    # Core: our kernels are other programs than the published ones.
    Asked("gemm", TRN1, OPERATION, {"dtype": "bf16", "size": 4096}, first="t1-gemm-4096-bf16-blocked"),
    Asked("gemm", TRN1, FAMILY, {"dtype": "fp16", "size": 4096}),
    Asked("gemm", TRN3, OPERATION, {"dtype": "bf16", "size": 4096}, first="t3-gemm-bf16-4096x4096x4096"),
    Asked("attention", TRN2, OPERATION, {"dtype": "bf16", "seq": 1024, "head_dim": 128, "mask": "full"}),
    Asked("attention", TRN3, FAMILY, {"dtype": "bf16", "seq": 1024, "head_dim": 128, "mask": "full"}),
    Asked("selective_scan", TRN1, OPERATION, {"tokens": 512}),
    Asked("softmax", TRN1, FAMILY, {"dtype": "fp32", "columns": 2048}),
    # Streams: whoever writes them, they are the same; trn2 and trn3 must not borrow trn1's.
    Asked("hbm_read", TRN1, SAME, {"size": 2**30}, first="t1-hbm-read-1c-1GiB"),
    Asked("hbm_read", TRN1, KERNEL, {"size": 2**20}),
    Asked("hbm_triad", TRN1, FAMILY, {"size": 2**30}),
    Asked("hbm_read", TRN2, ELSEWHERE, {"size": 2**30}),
    Asked("hbm_read", TRN3, ELSEWHERE, {"size": 2**30}),
    # Transfers and instructions.
    Asked("dma_sweep", TRN2, SAME, {"bytes_per_partition": 2048}, first="t2-dma-128x1024"),
    Asked("dma_sweep", TRN3, FAMILY, {"bytes_per_partition": 2048}),
    Asked("dma_sweep", TRN1, ELSEWHERE, {"bytes_per_partition": 2048}),
    Asked("tensor_throughput", TRN2, SAME, {"dtype": "bf16", "columns": 512}),
    Asked("tensor_throughput", TRN2, SAME, {"dtype": "bf16", "columns": 64}),
    Asked("tensor_throughput", TRN2, KERNEL, {"dtype": "bf16", "columns": 32}),
    Asked("tensor_latency", TRN2, OPERATION, {"dtype": "bf16"}),
    Asked("vector_throughput", TRN2, KERNEL, {"op": "tensor_scalar", "dtype": "fp32", "elements": 2048}),
    Asked("vector_throughput", TRN2, OPERATION, {"op": "copy", "dtype": "fp32", "elements": 128}),
    Asked("gpsimd_throughput", TRN2, FAMILY, {"op": "copy", "dtype": "fp32", "elements": 128}),
    Asked("vector_throughput", TRN3, FAMILY, {"op": "copy", "dtype": "fp32", "elements": 128}),
    # Host copies.
    Asked("host_to_device", TRN1, KERNEL, {"size": 64 * 2**20}, Scope.DEVICE),
    Asked("host_to_device", TRN2, ELSEWHERE, {"size": 64 * 2**20}, Scope.DEVICE),
    # Links: a kernel is a collective with its kind of rank and its context.
    _system("all_reduce", TRN2, SAME, size=2**30, first="t2-nccom-allreduce-bf16-1024M"),
    _system("all_reduce", TRN2, KERNEL, size=4096),
    _system("all_reduce", TRN1, KERNEL, size=2**30),
    _system("all_to_all", TRN2, OPERATION, size=2**30),
    _system("all_reduce", ULTRA, NONE, size=2**30),
    _system("all_reduce", TRN3, NONE, size=2**30),
    _system("point_to_point", TRN2, OPERATION, size=2**20, reach="neighbour"),
    _system("point_to_point", ULTRA, NONE, size=2**20, reach="other-host"),
    _system("point_to_point", CLUSTER, NONE, size=2**20, reach="other-host"),
    _system("point_to_point", TRN3, ELSEWHERE, size=2**20, reach="neighbour"),
)


def case_of(registry: Registry, asked: Asked) -> tuple[Case, System]:
    chosen = Selection.of(
        kernels=(asked.kernel,),
        instances=(asked.instance,),
        scopes=(str(asked.scope),),
        axes=[f"{name}={value}" for name, value in asked.axes.items()],
    )
    planned = plan(registry, chosen)
    return planned.cases[0], next(iter(planned.systems.values()))


@pytest.mark.parametrize("asked", CASES, ids=str)
def test_the_class_of_a_case(asked: Asked, registry: Registry, near: Nearby) -> None:
    case, system = case_of(registry, asked)
    found = near.of(of_case(case, system), version=near_version(near))
    assert found.kind is asked.kind
    assert (found.band is not None) is asked.kind.banded
    assert bool(found.points) is (asked.kind is not NONE)
    assert bool(found.note) is not asked.kind.banded
    if asked.first:
        assert found.points[0] == asked.first


def near_version(near: Nearby) -> str:
    """Of the model that the shipped bands are of."""
    (version,) = {bands.version for bands in near.bands.values() if not isinstance(bands, str)}
    return version


def test_a_cluster_of_collectives_has_its_own_evidence(registry: Registry, near: Nearby) -> None:
    case, system = case_of(registry, _system("all_reduce", CLUSTER, SAME, size=2**30))
    found = near.of(of_case(case, system), version=near_version(near))
    assert found.kind.banded
    assert all(id.startswith(("t1-nccom-ar64", "t1-efa", "t1-adt")) for id in found.points)


def test_bands_are_of_one_model(registry: Registry, near: Nearby) -> None:
    case, system = case_of(registry, CASES[0])
    found = near.of(of_case(case, system), version="another")
    assert (found.kind, found.band) == (OPERATION, None)
    said = f"bands are of model {near_version(near)}, this number is of another"
    assert found.note == f"{said} (in a checkout of trnbench: .ci/renew answers)"


def test_facts_of_ones_own_have_the_band_of_the_shipped_model(registry: Registry) -> None:
    case, system = case_of(registry, CASES[0])
    own = msgspec.structs.replace(system, costs={**system.costs, "mine": {}})
    changed = nearby(registry, {own.name: own})
    found = changed.of(of_case(case, own), version=near_version(changed), system=own.name)
    assert found.band is not None
    assert found.note == "band of the shipped model"
    same = nearby(registry, {system.name: system})
    assert same.of(of_case(case, system), version=near_version(same), system=system.name).note == ""


class TestSizes:
    def test_a_factor_of_two_in_each_axis_is_the_same(self) -> None:
        one = subject(M=1024, N=512)
        assert same_size(one, subject(M=2048, N=256))
        assert not same_size(one, subject(M=2049, N=512))
        assert not same_size(one, subject(M=1024, N=255))

    def test_a_size_unknown_is_not_the_same(self) -> None:
        assert not same_size(subject(M=1024), subject(M=1024, N=512))
        assert not same_size(subject(), subject())

    def test_another_type_is_another_size(self) -> None:
        assert not same_size(subject(M=8), subject(M=8, dtype="fp32"))
        kind, _ = Evidence([point("p", subject(M=8, dtype="fp32"))]).classify(subject(M=8))
        assert kind is KERNEL


class TestKernels:
    POINTS = (
        point("p", subject("trn2 / gemm / lib/deep/gemm.py / product", M=8)),
        point("q", subject("other", "attention")),
    )

    def test_a_published_file_and_function_is_the_kernel(self) -> None:
        known = msgspec.structs.replace(self.POINTS[0], kernel=("deep/gemm.py", "product"))
        for source, program in (
            ("/home/me/lib/deep/gemm.py::product", known.subject.program),
            ("/home/me/lib/gemm.py::product", ""),
            ("/home/me/lib/deep/gemm.py::other", ""),
        ):
            found = of_kernel("trn2", source, "bf16", (known, self.POINTS[1]))
            assert found.program == program
            kind, _ = Evidence((known, self.POINTS[1])).classify(found)
            assert kind is (KERNEL if program else FAMILY)

    def test_the_operation_is_what_one_says_it_is(self) -> None:
        found = of_kernel("trn2", "mine.py::f", "bf16", self.POINTS, "gemm")
        assert Evidence(self.POINTS).classify(found)[0] is OPERATION


class TestBest:
    RATE = Metric(name="flops_per_s", value=88.0, unit="FLOP/s", better="higher", scope=Scope.CORE)

    def test_it_is_of_the_same_type_scope_and_metric(self) -> None:
        of = subject()
        flops = Quantity.FLOPS
        points = (
            point("good", of, value=76.0, quantity=flops),
            point("better", of, value=80.0, quantity=flops),
            point("two-cores", of, value=160.0, quantity=flops, scope=Scope.LOGICAL_CORE),
            point("fp8", subject(dtype="fp8"), value=150.0, quantity=flops),
            point("time", of, value=1e-3),
        )
        found = best_of(points, KERNEL, of, self.RATE)
        assert (found.id, found.value, found.kind) == ("better", 80.0, KERNEL)
        assert best_of(points, FAMILY, of, self.RATE) is None

    def test_its_size_is_named_where_it_is_more_than_a_factor_of_2_away(self) -> None:
        of = subject(M=4096)
        for m, at in ((2048, ""), (8192, ""), (8200, "M 8,200")):
            published = point("p", subject(M=m), value=80.0, quantity=Quantity.FLOPS)
            assert best_of([published], OPERATION, of, self.RATE).at == at

    @pytest.mark.parametrize(
        ("kind", "value", "said"),
        [
            (SAME, 80.0 * 1.10, ""),
            (SAME, 80.0 * 1.11, "11 % above the best published (p)"),
            (KERNEL, 80.0 * 1.5, "50 % above the best published at M 4,096 (p)"),
            (KERNEL, 80.0 * 3, "3.0 times the best published at M 4,096 (p)"),
            (OPERATION, 80.0 * 3, ""),
        ],
    )
    def test_more_than_a_tenth_above_is_said(self, kind: Nearness, value: float, said: str) -> None:
        of = subject(M=4096)
        best = best_of([point("p", of, value=80.0, quantity=Quantity.FLOPS)], kind, of, self.RATE)
        assert above(value, self.RATE, best) == said

    def test_a_rate_of_a_small_size_bounds_none_of_a_large_one(self) -> None:
        """Of points of other sizes those count that are as large; where none is, no multiple is said."""
        small = point("small", subject(M=64), value=2.0, quantity=Quantity.FLOPS)
        large = point("large", subject(M=8192), value=80.0, quantity=Quantity.FLOPS)
        fast = point("fast", subject(M=1024), value=90.0, quantity=Quantity.FLOPS)
        asked = subject(M=4096)
        found = best_of([small, large, fast], KERNEL, asked, self.RATE)
        assert (found.id, found.at, found.reaches) == ("large", "M 8,192", True)
        assert above(88.5, self.RATE, found) == "11 % above the best published at M 8,192 (large)"
        found = best_of([small, fast], KERNEL, asked, self.RATE)
        assert (found.id, found.reaches) == ("fast", False)
        assert above(880.0, self.RATE, found) == "the best published is at M 1,024 only (fast)"

    def test_of_a_collective_ranks_are_named_and_have_to_be_as_many(self) -> None:
        def of(**sizes: float) -> Subject:
            return Subject(generation="trn1", group="collective", program="p", operation="nccom", sizes=sizes)

        rate = Metric(name="busbw_bytes_per_s", value=9e10, unit="B/s", better="higher", scope=Scope.DEVICE)
        one = of(bytes=65536.0, ranks=32.0, nodes=1.0)
        two = of(bytes=2.0**30, ranks=64.0, nodes=2.0)
        points = [
            point("small", one, value=177e6, quantity=Quantity.BUSBW),
            point("more", of(bytes=2.0**30, ranks=128.0, nodes=4.0), value=3e10, quantity=Quantity.BUSBW),
        ]
        found = best_of(points, KERNEL, of(bytes=2.0**30, ranks=32.0, nodes=1.0), rate)
        assert above(9e10, rate, found) == (
            "the best published is at 1 GiB, 128 ranks of 4 instances only (more)"
        )
        found = best_of(points[:1], KERNEL, of(bytes=2.0**30, ranks=32.0, nodes=1.0), rate)
        assert above(9e10, rate, found) == "the best published is at 64 KiB, 32 ranks only (small)"
        found = best_of(points, KERNEL, two, rate)
        assert (
            above(9e10, rate, found)
            == "3.0 times the best published at 1 GiB, 128 ranks of 4 instances (more)"
        )

    def test_of_a_time_the_very_same_size_counts(self) -> None:
        time = Metric(name="latency_s", value=1e-3, unit="s", better="lower", scope=Scope.CORE)
        points = [point("p", subject(M=8), value=2e-3), point("q", subject(M=16), value=1e-3)]
        found = best_of(points, SAME, subject(M=8), time)
        assert found.id == "p"
        assert above(1e-3, time, found) == "2.0 times the best published (p)"


# One question has one answer: `run`, `nki run`, `fabric run` and Python name the same evidence ---------


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def run_case(kernel: str, *axes: str, scope: str, instance: str = TRN2) -> trnbench.Measurement:
    run = trnbench.bench(kernels=[kernel], instances=[instance], axes=axes, scopes=[scope])
    (found,) = run.measurements
    assert found.evidence.nearest is not None
    return found


def test_run_and_nki_run_agree() -> None:
    case = run_case("gemm", "size=512", "dtype=bf16", scope="core")
    told = listed("nki", "run", "gemm", "-i", TRN2, "--arg", "size=512", "--arg", "dtype=bf16")
    assert told["latency_s"] == case.time_s
    assert told["evidence"]["nearest"] == plain(case.evidence.nearest)
    assert told["expected_s"] == plain(trnbench.expected_time(case.evidence, case.time_s))


@pytest.mark.parametrize(
    ("kernel", "axes", "instance", "by_judged"),
    [
        ("softmax", ("rows=512", "columns=1024", "dtype=fp32"), "trn1.32xlarge", True),
        # Vector needs longer than the memory by which softmax is judged, DMA longer than the products.
        ("softmax", ("rows=4096", "columns=2048", "dtype=bf16"), "trn1.32xlarge", False),
        ("gemm_naive", ("size=1024", "dtype=tf32"), TRN2, False),
    ],
)
def test_documents_bound_what_nki_run_expects_as_they_do_of_a_run(
    kernel: str, axes: tuple[str, ...], instance: str, by_judged: bool
) -> None:
    case = run_case(kernel, *axes, scope="core", instance=instance)
    arguments = [word for axis in axes for word in ("--arg", axis)]
    told = listed("nki", "run", kernel, "-i", instance, *arguments)
    expected = trnbench.expected_time(case.evidence, case.time_s, trnbench.least_time(case))
    assert expected[0] > trnbench.expected_time(case.evidence, case.time_s)[0], "documents bound it"
    assert told["expected_s"] == pytest.approx(expected)
    judged = trnbench.least_time(msgspec.structs.replace(case, detail={}))
    assert expected[0] == pytest.approx(judged) if by_judged else expected[0] > 1.1 * judged


@pytest.mark.parametrize("kernel", ["gemm", "gemm_shared"])
def test_programs_that_share_a_problem_are_bound_by_one(kernel: str) -> None:
    words = ("-i", TRN2, "--arg", "size=2048", "--arg", "dtype=bf16", "--grid", "8")
    told, other = (listed("nki", "run", name, *words) for name in (kernel, "gemm_shared"))
    assert told["latency_s"] == other["latency_s"]
    assert told["expected_s"] == pytest.approx(other["expected_s"])
    assert told["expected_s"][0] < 0.9 * told["latency_s"]


def test_run_and_fabric_run_agree() -> None:
    case = run_case("all_reduce", "size=64M", scope="instance")
    nearest = case.evidence.nearest
    size = ("-b", "64M", "-e", "64M", "-d", "bf16")
    (told,) = rows("run", "all_reduce", "-i", TRN2, *size, "--ranks", "logical-core")
    assert told["nearness"] == str(nearest.kind)
    assert told["best_published_id"] == nearest.best.id
    interval = trnbench.expected_time(case.evidence, case.time_s)
    assert told["expected_low_s"] == pytest.approx(interval[0])
    assert told["expected_high_s"] == pytest.approx(interval[1])


def test_a_kernel_of_ones_own_has_its_family(root: Path) -> None:
    shapes = {"a": TensorSpec((256, 256), "bfloat16"), "b": TensorSpec((256, 512), "bfloat16")}
    file = root / "docs" / "examples" / "kernel.py"
    run = trnbench.emulate_kernel(f"{file}::matmul", shapes, instance=TRN2, nki="trnbench")
    nearest = run.evidence.nearest
    assert nearest.kind is trnbench.Nearness.FAMILY
    assert run.expected_s[0] < run.expected_s[1]
    assert nearest.best is None
