"""How published points are emulated, and what becomes of those that are not."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import msgspec
import pytest
from published_point import published_point

from trnbench.facts.fact import Scope
from trnbench.kernels.work import Extent
from trnbench.registry import Registry, load_registry
from trnbench.results.fidelity import Use
from trnbench_fidelity.adapters import collective, dma, hbm, instruction, source
from trnbench_fidelity.bench import Bench, can_refit, fits_of, refitted
from trnbench_fidelity.point import NotEmulated, PublishedPoint, Quantity, Usable
from trnbench_fidelity.validate import compare


@pytest.fixture(scope="module")
def bench(registry: Registry) -> Bench:
    return Bench(registry)


def point(**fields: object) -> PublishedPoint:
    return published_point(**{"family": "hbm", "usable": Usable.DIRECT, "source": "s", **fields})


def refusal(adapter: object, each: PublishedPoint, bench: Bench) -> str:
    with pytest.raises(NotEmulated) as caught:
        adapter.predict(each, bench)  # type: ignore[attr-defined]
    return caught.value.why


def test_two_cores_stream_twice_as_fast_as_one(bench: Bench) -> None:
    fields = {"operation": "hbm_read", "system": "trn1.2xlarge", "quantity": Quantity.BANDWIDTH}
    one = hbm.predict(point(**fields, shape={"bytes": 2**30, "cores": 1}), bench)
    two = hbm.predict(point(**fields, shape={"bytes_per_core": 2**30, "cores": 2}), bench)
    assert two.value == pytest.approx(2 * one.value, rel=1e-3)
    assert one.how == "hbm_read of 1,073,741,824 B per core on 1 of trn1.2xlarge, dma-bound"


def test_larger_descriptors_take_longer_and_run_faster(bench: Bench) -> None:
    times = [
        dma.predict(point(operation="descriptor", shape={"bytes": size}), bench).value
        for size in (256, 512, 4096)
    ]
    assert times == sorted(times)
    rates = [size / time for size, time in zip((256, 512, 4096), times, strict=True)]
    assert rates == sorted(rates)


def test_an_interval_is_shorter_than_a_duration(bench: Bench) -> None:
    fields = {"dtype": "bf16", "shape": {"N": 512}}
    interval = instruction.predict(point(operation="nc_matmul interval", **fields), bench)
    duration = instruction.predict(point(operation="nc_matmul", **fields), bench)
    assert interval.value == pytest.approx(512 / 2.4e9)
    assert duration.value > interval.value


def test_half_a_product_of_fp32_ends_half_an_interval_sooner(bench: Bench) -> None:
    fields = {"dtype": "fp32", "shape": {"N": 512}}
    whole, half, interval = (
        instruction.predict(point(operation=each, **fields), bench).value
        for each in ("nc_matmul", "nc_matmul half", "nc_matmul interval")
    )
    assert interval == pytest.approx(4 * 512 / 2.4e9)
    assert whole - half == pytest.approx(interval / 2)


def test_a_bus_bandwidth_is_that_of_the_time(bench: Bench) -> None:
    shape = {"ranks": 64, "nodes": 1, "lnc": 2, "bytes": 2**26}
    fields = {"operation": "all_gather", "family": "collective", "shape": shape}
    time = collective.predict(point(**fields), bench).value
    rate = collective.predict(point(**fields, quantity=Quantity.BUSBW), bench).value
    assert rate == pytest.approx(63 / 64 * 2**26 / time)


@pytest.mark.parametrize(("operation", "copied"), [("all_reduce", 2), ("reduce_scatter", 1 + 1 / 8)])
def test_a_call_of_a_kernel_copies_its_input_and_its_result(
    bench: Bench, operation: str, copied: float
) -> None:
    size, memory = 2**26, 2.9e12  # bytes; bytes/s of a device, which eight cores read and write at once
    fields = {"operation": operation, "family": "collective"}
    shape = {"ranks": 8, "nodes": 1, "lnc": 1, "bytes": size}
    alone, called = (
        collective.predict(point(**fields, shape=each), bench) for each in (shape, {**shape, "call": "nki"})
    )
    assert called.value - alone.value == pytest.approx(copied * 2 * 8 * size / memory, rel=0.02)
    assert "of copies in a kernel's call" in called.how
    assert "copies" not in alone.how


@pytest.mark.parametrize(
    ("adapter", "fields", "why"),
    [
        (hbm, {}, "a stream has a bandwidth, not latency_s"),
        (dma, {"operation": "descriptor"}, "the bytes of a descriptor are not stated"),
        (dma, {"operation": "x"}, "no model of x"),
        (instruction, {"operation": "x"}, "no instruction is known as 'x'"),
        (instruction, {"operation": "nc_matmul"}, "the elements per partition are not stated"),
        (collective, {"operation": "all_reduce"}, "ranks and message size are not both stated"),
        (
            collective,
            {"operation": "all_reduce", "shape": {"ranks": 500, "bytes": 8}},
            "500 ranks on 1 node do not fit trn2-16.48xlarge (a node has 64 ranks here)",
        ),
        (collective, {"operation": "gossip", "shape": {"ranks": 2, "bytes": 8}}, "no model of gossip"),
        (
            collective,
            {"operation": "all_reduce", "shape": {"ranks": 2, "bytes": 8}, "system": ""},
            "the system is not stated",
        ),
        (
            collective,
            {"operation": "all_reduce", "shape": {"ranks": 8, "bytes": 1000, "lnc": 1, "call": "nki"}},
            "1,000 B are no whole rows of 128 partitions to copy",
        ),
        (source, {}, "the file of the kernel is not recorded"),
    ],
)
def test_what_cannot_be_emulated_says_why(bench: Bench, adapter: object, fields: Any, why: str) -> None:
    assert refusal(adapter, point(**fields), bench) == why


class TestFits:
    COSTS: ClassVar[dict[str, Any]] = {
        "fits": [{"name": "a", "value": 1.0, "points": ["x"], "held_out": {"x": 2.0}}],
        "fabric": {"b": {"value": 3.0, "points": ["t2-*"]}},
        "other": {"value": 4.0},
    }

    def test_constants_of_rows_and_tables_are_found(self) -> None:
        assert fits_of(self.COSTS, point()) == ("a",)
        assert fits_of(self.COSTS, point(id="t2-x")) == ("fabric.b",)
        assert fits_of(self.COSTS, point(id="y", fitted=("curve",))) == ("curve",)
        assert fits_of(self.COSTS, point(id="y")) == ()

    def test_a_refit_needs_every_constant(self) -> None:
        assert can_refit(self.COSTS, point())
        assert not can_refit(self.COSTS, point(id="t2-x"))
        assert not can_refit(self.COSTS, point(fitted=("curve",)))

    def test_the_left_out_value_takes_its_place(self) -> None:
        assert refitted(self.COSTS, "x")["fits"][0]["value"] == 2.0
        assert refitted(self.COSTS, "y") == self.COSTS

    def test_a_fitted_point_is_answered_by_a_model_that_has_not_seen_it(self, registry: Registry) -> None:
        each = point(id="t2-instr-mm-bf16-512-lat", operation="nc_matmul", dtype="bf16", shape={"N": 512})
        each = msgspec.structs.replace(each, family="instruction")
        costs = registry.costs("trn2")
        (row,) = (fit for fit in costs["fits"] if each.id in fit["points"])
        fresh = load_registry()
        changed = [
            {**fit, "held_out": {each.id: 100.0}} if fit["name"] == row["name"] else fit
            for fit in costs["fits"]
        ]
        fresh._costs["trn2"] = {**costs, "fits": changed}
        (found,) = compare(each, Bench(fresh), with_same=False)
        assert (found.use, found.honesty) == (Use.EMULATED, "fitted")
        assert found.e_cross == pytest.approx(math.log((512 / 2.4e9 + 100e-9) / found.published), abs=1e-5)
        shaped = msgspec.structs.replace(each, shaped=("a.rule",))
        (seen,) = compare(shaped, Bench(fresh), with_same=False)
        assert (seen.honesty, seen.e, seen.e_cross) == ("fitted", found.e, None)  # never called held out

    def test_a_point_that_shaped_a_rule_says_so(self, registry: Registry) -> None:
        each = point(operation="descriptor", family="dma", shape={"bytes": 512}, shaped=("a.rule",))
        (found,) = compare(each, Bench(registry), with_same=False)
        assert (found.honesty, found.e_cross) == ("shaped", found.e)


def test_our_own_kernel_is_a_row_of_its_own(bench: Bench) -> None:
    each = point(
        family="gemm",
        usable=Usable.SOURCE,
        operation="gemm",
        dtype="bf16",
        shape={"M": 1024, "N": 1024, "K": 1024, "cores": 1},
    )
    first, second = compare(each, bench)
    assert first.use is Use.NEEDS_SOURCE
    assert second.use is Use.SAME_OPERATION
    assert second.emulated is not None
    assert second.how.startswith("our gemm_ragged without launch: ")


def test_a_contradicted_point_says_by_what(bench: Bench) -> None:
    each = point(operation="descriptor", family="dma", shape={"bytes": 512}, contradicts=("y",))
    each = msgspec.structs.replace(each, how_measured="a tool", notes="an older version", release="SDK 2.30")
    (found,) = compare(each, bench)
    assert found.use is Use.CONTRADICTED
    assert found.emulated is not None
    assert found.how.endswith("; release SDK 2.30, against y; measured with a tool; an older version")


def test_a_model_that_crashes_costs_its_own_point(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(dma, "predict", crash)
    (found,) = compare(point(operation="descriptor", family="dma", shape={"bytes": 512}), bench)
    assert (found.use, found.how) == (Use.NOT_EMULATED, "ZeroDivisionError: by nothing")


def test_a_formula_predicts_nothing(bench: Bench) -> None:
    """K = 100 is no multiple of what microscaled products take: declared, so that a formula stands in."""
    extent = Extent(scope=Scope.CORE)
    point = {"dtype": "mxfp8", "size": 100}
    with pytest.raises(NotEmulated) as caught:
        bench.observe("gemm", "trn3-gen2-ultraserver", point, Scope.CORE, extent)
    assert caught.value.why == "no source of gemm takes this point: only a formula answers"
