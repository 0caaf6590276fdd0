"""What every kernel of the core and of its generations owes its readers, whatever it measures."""

from __future__ import annotations

import re

import pytest
from kernel_extents import KERNELS as EVERY

from trnbench.facts.fact import Scope
from trnbench.facts.metric import METRICS
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.work import Spread

KERNELS = list(EVERY.values())


def test_names_are_unique():
    names = [kernel.name for kernel in KERNELS]
    assert len(set(names)) == len(names)


def test_the_families_of_the_design_are_there():
    families = {kernel.family for kernel in KERNELS}
    assert families >= {"gemm", "hbm", "dma", "engine", "normalisation", "attention", "transpose"}
    assert families >= {"copy", "collective", "moe", "link"}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
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
            assert "devices:2" in kernel.requires(point)
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
                    assert re.fullmatch(r"(dtype|instruction|feature|link|devices|hosts):[a-z0-9_]+", need)

    def test_can_be_carried_out_in_some_way(self, kernel: Kernel):
        ways = {"nki", "nki-mx", "nki-beta1", "torch", "torch-distributed", "collective", "model"}
        assert set(kernel.implementations) <= ways
        assert kernel.implementations


def test_mx_types_ask_for_the_mx_instruction():
    gemm = next(kernel for kernel in KERNELS if kernel.name == "gemm")
    assert gemm.requires({"dtype": "mxfp4", "size": 128}) == ("dtype:mxfp4", "instruction:nc_matmul_mx")
    assert gemm.requires({"dtype": "bf16", "size": 128}) == ("dtype:bf16", "instruction:nc_matmul")


def test_busbw_is_the_rate_of_one_device_held_against_its_links():
    all_reduce = next(kernel for kernel in KERNELS if kernel.name == "all_reduce")
    assert all_reduce.primary.scope is Scope.DEVICE
    assert all_reduce.primary.peak == "neuronlink_bandwidth"
    across = all_reduce.primary_at[Scope.CLUSTER]
    assert (across.peak, across.scope, across.count) == ("efa_bandwidth", Scope.INSTANCE, "network_bytes")
