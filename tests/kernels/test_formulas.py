"""Counts of work and bytes of each kernel, by formula and by hand, and the families of plugins."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_extents import CORE, KERNELS, MIB, ranks
from stored_run import text_of

from trnbench.errors import UnknownName
from trnbench.facts.fact import Scope
from trnbench.facts.metric import METRICS
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.work import (
    FACTORS,
    Extent,
    Spread,
    busbw_factor,
    item_bytes,
    peak_factor,
    result_dtype,
)

SIDES = st.integers(1, 1 << 20)
CORES = st.integers(1, 1 << 17)


def cluster(hosts: int, each: int = 16) -> Extent:
    return Extent(
        scope=Scope.CLUSTER, cores=2 * each * hosts, devices=each * hosts, hosts=hosts, ranks=each * hosts
    )


def test_every_default_point_has_work_for_its_primary_metric():
    for kernel in KERNELS.values():
        point = {axis.name: axis.values[0] for axis in kernel.axes}
        work = kernel.work(point, ranks(16))
        assert kernel.primary.count in work.as_counts(), kernel.name
        assert work.formula, kernel.name


FLOATS = ("bf16", "fp16", "tf32", "fp32", "fp8", "cfp8", "mxfp8", "mxfp4")


@given(m=SIDES, n=SIDES, k=SIDES, dtype=st.sampled_from(FLOATS))
def test_a_product_is_two_operations_per_triple_and_moves_each_matrix_once(m, n, k, dtype):
    work = KERNELS["gemm_skinny"].work({"dtype": dtype, "m": m, "n": n, "k": k}, CORE)
    assert work.flops == float(2 * m * n * k)
    item, out = item_bytes(dtype), item_bytes(result_dtype(dtype))
    assert work.bytes["hbm"] == pytest.approx(item * (m * k + k * n) + out * m * n)
    footprint = KERNELS["gemm_skinny"].footprint({"dtype": dtype, "m": m, "n": n, "k": k}, CORE)
    assert footprint["hbm"] == pytest.approx(work.bytes["hbm"])


@given(cores=CORES, data=st.data())
def test_cores_multiply_the_work_and_leave_the_share_alone(cores, data):
    kernel = data.draw(st.sampled_from([k for k in KERNELS.values() if k.spread is Spread.CORES]))
    point = {axis.name: data.draw(st.sampled_from(axis.values)) for axis in kernel.axes}
    one, many = kernel.work(point, CORE), kernel.work(point, Extent(scope=Scope.INSTANCE, cores=cores))
    assert many.as_counts() == {name: pytest.approx(n * cores) for name, n in one.as_counts().items()}
    assert kernel.footprint(point, CORE) == kernel.footprint(point, Extent(scope=Scope.INSTANCE, cores=cores))


@given(data=st.data(), count=st.integers(2, 30_000))
def test_no_count_is_negative_or_without_end(data, count):
    kernel = data.draw(st.sampled_from(list(KERNELS.values())))
    point = {}
    for axis in kernel.axes:
        words = st.sampled_from(axis.choices or axis.values)
        point[axis.name] = data.draw(words if axis.kind == "str" else st.integers(1, 1 << 40))
    numbers = [
        *kernel.work(point, ranks(count)).as_counts().values(),
        *kernel.footprint(point, ranks(count)).values(),
    ]
    assert all(math.isfinite(number) and number >= 0 for number in numbers)


@given(count=st.integers(2, 100_000))
def test_busbw_factors_are_those_of_nccl_tests(count):
    n = Fraction(count)
    assert busbw_factor("all_reduce", count) == 2 * (n - 1) / n
    for name in ("all_gather", "reduce_scatter", "all_to_all"):
        assert busbw_factor(name, count) == (n - 1) / n
    for name in ("broadcast", "permute", "reduce"):
        assert busbw_factor(name, count) == 1


@pytest.mark.parametrize(
    ("collective", "count", "devices", "factor"),
    [
        ("all_reduce", 32, 16, Fraction(31, 30)),
        ("all_to_all", 32, 16, Fraction(31, 60)),  # a device sends for both of its ranks
        ("all_gather", 4, 2, Fraction(3, 2)),
        ("permute", 32, 16, Fraction(1)),
        ("all_reduce", 2, 1, None),
    ],
)
def test_busbw_of_several_countagainst_the_links_of_a_device(collective, count, devices, factor):
    assert peak_factor(collective, count, devices) == factor


@given(size=st.integers(1, 1 << 40), count=st.integers(2, 30_000), name=st.sampled_from(sorted(FACTORS)))
def test_an_all_reduce_is_never_cheaper_than_its_halves(size, count, name):
    def sent(which: str) -> float:
        return KERNELS[which].work({"dtype": "bf16", "size": size}, ranks(count)).link_bytes

    assert sent("all_reduce") == pytest.approx(sent("reduce_scatter") + sent("all_gather"))
    assert 0 < sent(name) <= 2 * size


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("all_reduce", 1.5 * MIB),  # 2·3/4
        ("all_gather", 0.75 * MIB),
        ("reduce_scatter", 0.75 * MIB),
        ("all_to_all", 12 * MIB),  # 16 ranks of 3/4
        ("broadcast", MIB),
        ("permute", MIB),
    ],
)
def test_what_a_host_sends_over_the_network(name, sent):
    point = {"dtype": "bf16", "size": MIB}
    assert KERNELS[name].work(point, cluster(4)).network_bytes == sent
    assert KERNELS[name].work(point, ranks(16)).network_bytes == 0


def test_what_a_host_dispatches_over_the_network():
    point = {"dtype": "bf16", "tokens": 128, "hidden": 4096, "top_k": 8}
    assert KERNELS["moe_dispatch"].work(point, cluster(4)).network_bytes == 12 * 8 * MIB


def test_a_cluster_of_one_host_is_refused():
    for name in (*FACTORS, "moe_dispatch"):
        point = {axis.name: axis.values[-1] for axis in KERNELS[name].axes}
        assert KERNELS[name].refuses(point, cluster(1)) == "a cluster of one host has no network to cross"
        assert KERNELS[name].refuses(point, cluster(2)) == ""


def test_a_tensor_too_small_to_split_is_refused_in_numbers():
    refuses = KERNELS["all_gather"].refuses
    assert refuses({"dtype": "bf16", "size": 32}, ranks(16)) == ""
    assert refuses({"dtype": "bf16", "size": 1024}, ranks(30_000)) == (
        "1,024 bytes split over 30,000 ranks leave each less than one bf16 element"
    )
    assert KERNELS["all_reduce"].refuses({"dtype": "bf16", "size": 2}, ranks(30_000)) == ""
    assert KERNELS["all_reduce"].refuses({"dtype": "bf16", "size": 7}, ranks(2)) == (
        "a size of 7 B is no whole number of bf16 elements, of 2 B each"
    )


def test_top_k_needs_as_many_ranks():
    point = {"dtype": "bf16", "tokens": 1, "hidden": 1, "top_k": 8}
    assert KERNELS["moe_dispatch"].refuses(point, ranks(8)) == ""
    assert KERNELS["moe_dispatch"].refuses(point, ranks(4)) == (
        "top_k = 8 experts on different ranks need as many; there are 4"
    )


def test_countof_collectives_are_logical_cores_but_where_a_document_speaks_of_devices():
    together = {name: kernel for name, kernel in KERNELS.items() if kernel.spread is Spread.TOGETHER}
    devices = {name for name, kernel in together.items() if kernel.rank == "device"}
    assert {"all_reduce", "broadcast", "permute", "moe_dispatch"} <= together.keys() - devices
    assert all(together[name].groups and together[name].tests for name in devices)


def test_a_ragged_product_has_a_ragged_side():
    valid = KERNELS["gemm_ragged"].valid
    assert valid({"dtype": "bf16", "m": 128, "n": 256, "k": 100}) == ""
    assert valid({"dtype": "bf16", "m": 128, "n": 256, "k": 384}) == (
        "M, N and K are all multiples of 128: gemm and gemm_skinny cover that"
    )


def test_a_sparse_operand_keeps_its_non_zeros_and_their_places():
    memory = KERNELS["gemm_sparse"].footprint
    point = {"dtype": "bf16", "m": 128, "n": 128, "k": 128}
    assert memory({**point, "sparsity": "1:2"}, CORE)["hbm"] == 128 * 128 * (2 + 0.5 * 2 + 0.25 + 2)
    assert memory(point, CORE) == KERNELS["gemm"].footprint(point, CORE)  # of a product that names none


def test_an_unknown_dtype_is_named_with_its_neighbours():
    assert (
        text_of(UnknownName, item_bytes, "bf61")
        == "unknown dtype 'bf61'\n  cause: did you mean bf16, fp64, fp16?"
    )


# FLOP and byte counts and footprints against numbers worked out by hand.


def values(words: str) -> dict[str, Any]:
    """Numbers as such; underscores group their digits."""
    found = (word.split("=") for word in words.split())
    return {name: int(text) if text.replace("_", "").isdigit() else text for name, text in found}


def extent(words: str) -> Extent:
    found = values(words)
    if set(found) == {"ranks"}:
        return ranks(found["ranks"])
    return Extent(scope=Scope(found.pop("scope")), **found) if found else CORE


def by_hand(file: str) -> list[Any]:
    rows = []
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            case, _, counts = line.partition(" : ")
            asked, _, where = case.partition(" @ ")
            name, _, point = asked.partition(" ")
            rows.append(pytest.param(name, values(point), extent(where), values(counts), id=case))
    return rows


@pytest.mark.parametrize(("name", "point", "extent", "counts"), by_hand("counts.txt"))
def test_counts_agree_with_those_worked_out_by_hand(name, point, extent, counts):
    assert KERNELS[name].work(point, extent).as_counts() == counts


def test_every_kernel_has_a_number_worked_out_by_hand():
    assert {row.values[0] for row in by_hand("counts.txt")} == set(KERNELS)


@pytest.mark.parametrize(("name", "point", "extent", "expected"), by_hand("footprints.txt"))
def test_footprints_are_of_one_share(name, point, extent, expected):
    assert dict(KERNELS[name].footprint(point, extent)) == expected


# What every kernel of the core and of its generations owes its readers, whatever it measures.


def test_the_families_of_the_design_are_there():
    families = {kernel.family for kernel in KERNELS.values()}
    assert families >= {"gemm", "hbm", "dma", "engine", "normalisation", "attention", "transpose"}
    assert families >= {"copy", "collective", "moe", "link"}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda kernel: kernel.name)
class TestEvery:
    def test_name_and_words_are_lower_case(self, kernel: Kernel):
        for word in (kernel.name, kernel.family, *kernel.tags, *(axis.name for axis in kernel.axes)):
            assert re.fullmatch(r"[a-z][a-z0-9_-]*", word)

    def test_says_what_it_shows_in_one_sentence(self, kernel: Kernel):
        assert kernel.about.endswith(("?", ".") if kernel.tests else ".")
        assert kernel.title

    def test_axes_hold_distinct_values_of_their_kind(self, kernel: Kernel):
        for axis in kernel.axes:
            kind = {"int": int, "float": float, "str": str}[axis.kind]
            assert axis.about
            for values in (axis.values, axis.wide, axis.choices):
                assert all(type(value) is kind for value in values)
                assert len(set(values)) == len(values)
            if axis.kind == "str":
                assert set(axis.values) <= set(axis.choices)
            else:
                assert min(axis.values) >= axis.least

    def test_wide_sweeps_are_part_of_the_core_sweep(self, kernel: Kernel):
        for axis in kernel.axes:
            assert set(axis.wide) <= set(axis.values)

    def test_zipped_axes_are_equally_long(self, kernel: Kernel):
        for group in kernel.zipped:
            assert len({len(kernel.axis(name).values) for name in group}) == 1

    def test_default_scopes_are_scopes(self, kernel: Kernel):
        assert set(kernel.default_scopes) <= set(kernel.scopes)
        assert kernel.scopes

    def test_what_lies_on_links_is_planned_for_whole_systems_only(self, kernel: Kernel):
        if kernel.spread.linked:
            assert kernel.scopes == (Scope.INSTANCE,)
            point = {axis.name: axis.values[0] for axis in kernel.axes}
            needs = {"devices:2"} if kernel.spread is Spread.PAIR else {"ranks:2", "devices:2"}
            assert needs & {*kernel.requires(point)}
        elif kernel.spread is Spread.SHARED:
            assert set(kernel.scopes) <= {Scope.LOGICAL_CORE, Scope.DEVICE}
        elif kernel.spread is Spread.CORES:
            wide = (Scope.CORE, Scope.DEVICE, Scope.INSTANCE)
            logical = (Scope.LOGICAL_CORE,) if kernel.family in ("gemm", "hbm") else ()
            assert kernel.scopes == (*wide[:1], *logical, *wide[1:])
            assert Scope.LOGICAL_CORE not in (kernel.default_scopes or wide)
            assert not logical or kernel.default_scopes

    def test_is_judged_by_a_metric_that_facts_can_have(self, kernel: Kernel):
        for primary in (kernel.primary, *kernel.primary_at.values()):
            assert primary.peak == "" or primary.peak in METRICS

    def test_requirements_are_kind_and_word(self, kernel: Kernel):
        for axis in kernel.axes:
            for value in axis.choices or axis.values:
                point = {each.name: each.values[0] for each in kernel.axes} | {axis.name: value}
                for need in kernel.requires(point):
                    assert re.fullmatch(
                        r"(dtype|instruction|feature|link|devices|hosts|ranks):[a-z0-9_]+", need
                    )

    def test_can_be_carried_out_in_some_way(self, kernel: Kernel):
        ways = {"nki", "nki-mx", "nki-beta1", "torch", "torch-distributed", "collective", "model"}
        assert set(kernel.implementations) <= ways
        assert kernel.implementations


def test_mx_types_ask_for_the_mx_instruction():
    gemm = KERNELS["gemm"]
    assert gemm.requires({"dtype": "mxfp4", "size": 128}) == ("dtype:mxfp4", "instruction:nc_matmul_mx")
    assert gemm.requires({"dtype": "bf16", "size": 128}) == ("dtype:bf16", "instruction:nc_matmul")


def test_busbw_is_the_rate_of_one_device_held_against_its_links():
    all_reduce = KERNELS["all_reduce"]
    assert all_reduce.primary.scope is Scope.DEVICE
    assert all_reduce.primary.peak == "neuronlink_bandwidth"
    across = all_reduce.primary_at[Scope.CLUSTER]
    assert (across.peak, across.scope, across.count) == ("efa_bandwidth", Scope.INSTANCE, "network_bytes")
