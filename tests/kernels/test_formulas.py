"""What must always hold of what kernels ask for: counts, footprints, busbw factors, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_extents import CORE, KERNELS, MIB, ranks
from stored_run import text_of

from trnbench.errors import UnknownName, UsageError
from trnbench.facts.fact import Scope
from trnbench.kernels.work import FLOATS, Extent, busbw_factor, item_bytes, result_dtype
from trnbench_kernels.fabric import PATTERNS
from trnbench_kernels.matrix import density

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
    from trnbench.kernels.work import Spread

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


@given(size=st.integers(1, 1 << 40), count=st.integers(2, 30_000), name=st.sampled_from(sorted(PATTERNS)))
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
    for name in (*PATTERNS, "moe_dispatch"):
        point = {axis.name: axis.values[-1] for axis in KERNELS[name].axes}
        assert KERNELS[name].refuses(point, cluster(1)) == "a cluster of one host has no network to cross"
        assert KERNELS[name].refuses(point, cluster(2)) == ""


def test_a_tensor_too_small_to_split_is_refused_in_numbers():
    refuses = KERNELS["all_gather"].refuses
    assert refuses({"dtype": "bf16", "size": 32}, ranks(16)) == ""
    assert refuses({"dtype": "bf16", "size": 1024}, ranks(30_000)) == (
        "1,024 bytes split over 30,000 ranks leave each less than one bf16 element"
    )
    assert KERNELS["all_reduce"].refuses({"dtype": "bf16", "size": 1}, ranks(30_000)) == ""


def test_top_k_needs_as_many_ranks():
    point = {"dtype": "bf16", "tokens": 1, "hidden": 1, "top_k": 8}
    assert KERNELS["moe_dispatch"].refuses(point, ranks(8)) == ""
    assert KERNELS["moe_dispatch"].refuses(point, ranks(4)) == (
        "top_k = 8 experts on different ranks need as many; there are 4"
    )


def test_a_ragged_product_has_a_ragged_side():
    valid = KERNELS["gemm_ragged"].valid
    assert valid({"dtype": "bf16", "m": 128, "n": 256, "k": 100}) == ""
    assert valid({"dtype": "bf16", "m": 128, "n": 256, "k": 384}) == (
        "M, N and K are all multiples of 128: gemm and gemm_skinny cover that"
    )


def test_sparsity_patterns():
    assert density({"sparsity": "1:2"}) == (0.5, 0.25)
    assert density({}) == (1.0, 0.0)
    for wrong in ("5:4", "0:4", "half", "1", ":"):
        with pytest.raises(UsageError, match="no sparsity pattern"):
            density({"sparsity": wrong})


def test_an_unknown_dtype_is_named_with_its_neighbours():
    assert (
        text_of(UnknownName, item_bytes, "bf61")
        == "unknown dtype 'bf61'\n  cause: did you mean bf16, fp64, fp16?"
    )
