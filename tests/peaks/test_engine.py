"""What the clocks allow, and where no document gives a clock."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from fact_rows import fact

from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.peaks import engine_bound, engine_rate
from trnbench.registry import Registry, load_registry

REGISTRY: Registry = load_registry()
TRN1, TRN2, TRN3 = ("trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver")
V2 = "128 rows × 128 columns × 2 × 2.8 GHz"
V3 = "128 rows × 128 columns × 2 × 2.4 GHz"

RATES = [
    # instance, dtype, sparse, TFLOP/s of one core, formula
    (TRN1, "bf16", False, 91.7504, V2),
    (TRN1, "cfp8", False, 91.7504, V2),
    (TRN1, "fp8", False, 91.7504, V2),
    (TRN1, "fp32", False, 22.9376, f"{V2} / 4 (fp32)"),
    (TRN2, "bf16", False, 78.6432, V3),
    (TRN2, "tf32", False, 78.6432, V3),
    (TRN2, "fp8", False, 157.2864, f"{V3} × 2 (fp8)"),
    (TRN2, "fp32", False, 19.6608, f"{V3} / 4 (fp32)"),
    (TRN2, "bf16", True, 314.5728, f"{V3} × 4 (sparse bf16)"),
    (TRN2, "fp8", True, 314.5728, f"{V3} × 4 (sparse fp8)"),
    (TRN3, "bf16", False, 78.6432, V3),
    (TRN3, "mxfp8", False, 314.5728, f"{V3} × 4 (mxfp8)"),
    (TRN3, "mxfp4", False, 314.5728, f"{V3} × 4 (mxfp4)"),
    (TRN3, "fp32", False, 19.6608, f"{V3} / 4 (fp32)"),
    (TRN3, "bf16", True, 314.5728, f"{V3} × 4 (sparse bf16)"),
]


@pytest.mark.parts
@pytest.mark.parametrize(("name", "dtype", "sparse", "tflops", "formula"), RATES)
def test_one_core(name: str, dtype: str, sparse: bool, tflops: float, formula: str) -> None:
    rate = engine_rate(REGISTRY.system(name), dtype, sparse)
    assert rate.value == pytest.approx(tflops * 1e12, rel=1e-5)
    assert rate.formula == formula
    assert (rate.scope, rate.evidence, rate.dtype, rate.sparse) == (Scope.CORE, "derived", dtype, sparse)
    known = {fact.id for fact in REGISTRY.system(name).book.facts}
    assert set(rate.facts) <= known


@pytest.mark.parts
@pytest.mark.parametrize(
    ("name", "dtype", "sparse"),
    [(TRN1, "int8", False), (TRN1, "bf16", True), (TRN2, "mxfp8", False), (TRN2, "int8", False)],
)
def test_a_type_without_a_documented_rate_has_no_bound(name: str, dtype: str, sparse: bool) -> None:
    assert engine_rate(REGISTRY.system(name), dtype, sparse) is None


BOUNDS: list[tuple[str, dict[str, Any], float, str]] = [
    (TRN2, {"metric": "peak_flops", "scope": Scope.DEVICE, "dtype": "bf16"}, 629.15e12, f"{V3} × 8 cores"),
    (
        TRN2,
        {"metric": "peak_flops", "scope": Scope.INSTANCE, "dtype": "bf16"},
        10.0663e15,
        f"{V3} × 8 cores × 16 devices",
    ),
    (TRN2, {"metric": "dma_bandwidth", "scope": Scope.DEVICE}, 128 * 27.2e9, "128 engines × 27.2 GB/s"),
    (TRN2, {"metric": "efa_bandwidth", "scope": Scope.INSTANCE}, 400e9, "16 adapters × 200 Gbps"),
]


@pytest.mark.parametrize(("name", "wants", "value", "formula"), BOUNDS)
def test_bounds_of_larger_scopes(name: str, wants: dict[str, Any], value: float, formula: str) -> None:
    bound = engine_bound(REGISTRY.system(name), **wants)
    assert bound.value == pytest.approx(value, rel=1e-4)
    assert bound.formula == formula
    assert bound.scope is wants["scope"]


@pytest.mark.parts
@pytest.mark.parametrize("name", [TRN1, TRN2, TRN3, "trn1-ultracluster", "u-trn2x64"])
def test_a_share_of_the_adapters_bounds_no_device(name: str) -> None:
    """A device may have all adapters of its instance for a while."""
    system = REGISTRY.system(name)
    assert engine_bound(system, metric="efa_bandwidth", scope=Scope.DEVICE) is None
    assert engine_bound(system, metric="efa_bandwidth", scope=system.instance.scope) is not None


@pytest.mark.parts
def test_a_core_is_bounded_by_its_own_dma_engines() -> None:
    bound = engine_bound(REGISTRY.system(TRN3), metric="dma_bandwidth", scope=Scope.CORE)
    assert (bound.formula, bound.value) == ("16 engines × 38.4 GB/s", pytest.approx(614.4e9))


@pytest.mark.parts
@pytest.mark.parametrize("metric", ["hbm_bandwidth", "neuronlink_bandwidth", "hbm_capacity"])
@pytest.mark.parametrize("name", [TRN1, TRN2, TRN3])
def test_memory_and_links_have_no_clock(name: str, metric: str) -> None:
    assert engine_bound(REGISTRY.system(name), metric=metric, scope=Scope.DEVICE) is None


@pytest.mark.parts
def test_a_scope_the_system_does_not_have() -> None:
    system = REGISTRY.system(TRN1)
    assert engine_bound(system, metric="peak_flops", scope=Scope.CLUSTER, dtype="bf16") is None


def without(system: System, *metrics: str) -> System:
    facts = tuple(fact for fact in system.book.facts if fact.metric not in metrics)
    return msgspec.structs.replace(system, book=msgspec.structs.replace(system.book, facts=facts))


@pytest.mark.parametrize("metric", ["clock", "array_rows", "array_columns"])
def test_without_one_of_its_terms_there_is_no_bound(metric: str) -> None:
    assert engine_rate(without(REGISTRY.system(TRN2), metric), "bf16") is None


@pytest.mark.parts
def test_the_cost_file_can_give_the_factor() -> None:
    system = without(REGISTRY.system(TRN1), "rate_factor", "peak_flops")
    assert engine_rate(system, "fp32") is None
    costed = msgspec.structs.replace(system, costs={"rate_factor": {"fp32": 0.25, "sparse-bf16": 4}})
    fp32, sparse = engine_rate(costed, "fp32"), engine_rate(costed, "bf16", sparse=True)
    assert (fp32.formula, sparse.formula) == (f"{V2} / 4 (fp32)", f"{V2} × 4 (sparse bf16)")


@pytest.mark.parts
@pytest.mark.parametrize(("sparse", "formula"), [(False, V2), (True, f"{V2} × 4 (sparse fp16)")])
def test_types_that_share_a_figure_share_a_rate(sparse: bool, formula: str) -> None:
    system = without(REGISTRY.system(TRN1), "rate_factor", "peak_flops")
    about = {"source": "trn1-arch", "dtypes": ("fp16", "bf16"), "scope": Scope.DEVICE, "sparse": sparse}
    both = fact("trainium1", "peak_flops", 190e12, **about)
    book = msgspec.structs.replace(system.book, facts=(*system.book.facts, both))
    shared = msgspec.structs.replace(system, book=book, costs={"rate_factor": {"sparse-bf16": 4}})
    rate = engine_rate(shared, "fp16", sparse)
    assert (rate.formula, rate.facts[3:]) == (formula, (both.id,))
    assert engine_rate(shared, "fp32", sparse) is None


@pytest.mark.parts
def test_a_rate_factor_about_another_engine_is_not_taken() -> None:
    system = without(REGISTRY.system(TRN1), "rate_factor")
    about = {"source": "nki-arch-v2", "qualifier": "vector copy"}
    vector = fact("neuroncore-v2", "rate_factor", 4.0, dtypes=("fp16",), **about)
    book = msgspec.structs.replace(system.book, facts=(vector, *system.book.facts))
    rate = engine_rate(msgspec.structs.replace(system, book=book), "fp16")
    assert rate.formula == V2


def test_lanes_need_what_an_operation_counts() -> None:
    """Elements per cycle and a clock give elements; the documents' FLOP per element is not printed."""
    system = REGISTRY.system(TRN2)
    wants = {"metric": "peak_flops", "scope": Scope.CORE, "dtype": "fp32", "qualifier": "vector"}
    assert engine_bound(without(system, "operations_per_element"), **wants) is None
    about = {"source": "nki-arch-v3", "qualifier": "vector"}
    counted = fact("neuroncore-v3", "operations_per_element", 2.0, **about)
    book = msgspec.structs.replace(system.book, facts=(counted, *system.book.facts))
    bound = engine_bound(msgspec.structs.replace(system, book=book), **wants)
    assert bound.formula == "256 elements per cycle × 0.96 GHz × 2 operations"
    assert bound.value == pytest.approx(256 * 0.96e9 * 2)


@pytest.mark.parts
@pytest.mark.parametrize(
    ("name", "engine", "dtype", "elements", "formula"),
    [
        (TRN1, "vector", "bf16", 128 * 1.12e9, "128 elements per cycle × 1.12 GHz"),
        (TRN1, "gpsimd", "fp32", 128 * 1.4e9, "128 elements per cycle × 1.4 GHz"),
        (TRN2, "vector", "bf16", 512 * 0.96e9, "512 elements per cycle × 0.96 GHz"),
        (TRN2, "vector", "fp32", 256 * 0.96e9, "256 elements per cycle × 0.96 GHz"),
        (TRN2, "scalar", "bf16", 128 * 1.2e9, "128 elements per cycle × 1.2 GHz"),
        (TRN3, "scalar", "bf16", 256 * 1.2e9, "256 elements per cycle × 1.2 GHz"),
        (TRN3, "gpsimd", "bf16", 128 * 1.2e9, "128 elements per cycle × 1.2 GHz"),
    ],
)
def test_elements_of_an_engine(name: str, engine: str, dtype: str, elements: float, formula: str) -> None:
    system = REGISTRY.system(name)
    fields = {"metric": "element_rate", "dtype": dtype, "qualifier": engine}
    one = engine_bound(system, scope=Scope.CORE, **fields)
    assert (one.value, one.formula, one.evidence) == (pytest.approx(elements), formula, "derived")
    all_of_them = engine_bound(system, scope=Scope.DEVICE, **fields)
    assert all_of_them.value == pytest.approx(elements * system.cores_per_device)


def test_no_document_says_how_wide_gpsimd_is_on_trainium2() -> None:
    system = REGISTRY.system(TRN2)
    assert engine_bound(system, metric="element_rate", scope=Scope.CORE, qualifier="gpsimd") is None
