"""The plan: which cases, in which order, and what those that cannot run say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny_machine as tiny
from lab_plugin import cases, skips
from messages import pairs

import trnbench
from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Axis
from trnbench.registry import Registry, load_registry
from trnbench.run.plan import plan
from trnbench.run.selection import Selection


@pytest.mark.parts
def test_a_default_run_is_as_large_as_a_reader_can_learn_from(default):
    assert 1200 <= len(default.cases) <= 2600
    assert len(default.systems) == 7


def test_ids_are_unique_and_point_orders_are_the_kernels(default):
    assert len({case.id for case in default.cases}) == len(default.cases)
    for case in default.cases:
        assert list(case.key.point) == [axis.name for axis in case.kernel.axes]
        assert case.key.instance in default.systems


def test_two_plans_are_alike(default):
    again = plan(load_registry())
    assert [(case.id, case.skip) for case in again.cases] == [(case.id, case.skip) for case in default.cases]
    assert list(again.systems) == list(default.systems)


def test_cases_that_cannot_run_say_why_in_a_sentence(default):
    assert default.skipped
    assert all(len(case.skip.split()) >= 3 for case in default.skipped)
    assert len(default.runnable) + len(default.skipped) == len(default.cases)


def test_every_case_has_work_and_every_kernel_and_system_a_case(registry, default):
    for case in default.cases:
        assert case.work.as_counts()
    own = {name for name, each in registry.kernels.items() if set(each.implementations) <= {"numpy", "c"}}
    assert {case.key.kernel for case in default.cases} == set(registry.kernels) - own
    assert {case.key.instance for case in default.cases} == set(default.systems)


@pytest.mark.parts
def test_the_whole_system_is_called_by_its_own_scope(lab):
    found = {
        case.key.instance: case for case in cases(lab, kernels="hbm_read", scopes="system", axes="size=1K")
    }
    assert {name: case.key.scope for name, case in found.items()} == {
        "single": Scope.INSTANCE,
        "box": Scope.INSTANCE,
        "rack": Scope.ULTRASERVER,
        "field": Scope.CLUSTER,
    }
    box, field = found["box"].extent, found["field"].extent
    assert (box.cores, box.devices, box.hosts, box.ranks) == (8, 4, 1, 1)
    assert (field.cores, field.devices, field.hosts, field.ranks) == (8000, 4000, 1000, 1)
    assert found["field"].id == "field::hbm_read[size=1024]@cluster:replicated"


@pytest.mark.parts
def test_scopes_are_those_asked_for(lab):
    assert {case.key.scope for case in cases(lab, kernels="gemm_skinny")} == {Scope.CORE}
    assert {case.key.scope for case in cases(lab, kernels="gemm_skinny", scopes="device")} == {Scope.DEVICE}
    only = cases(lab, kernels="hbm_read", scopes="ultraserver")
    assert {case.key.instance for case in only} == {"rack"}
    one = cases(lab, kernels="hbm_read", scopes="device", instances="box", axes="size=1K")[0]
    assert (one.extent.cores, one.extent.devices) == (2, 1)


@pytest.mark.parts
def test_a_system_made_of_a_planned_one_repeats_no_core_case(lab):
    scopes = Counter((case.key.instance, case.key.scope) for case in cases(lab, kernels="gemm"))
    assert ("box", Scope.CORE) in scopes
    assert ("rack", Scope.CORE) not in scopes
    assert ("rack", Scope.ULTRASERVER) in scopes
    assert {case.key.scope for case in cases(lab, kernels="gemm", instances="rack")} == {
        Scope.CORE,
        Scope.DEVICE,
        Scope.ULTRASERVER,
    }
    assert ("rack", Scope.CORE) in {
        (case.key.instance, case.key.scope) for case in cases(lab, kernels="gemm", scopes="core")
    }


@pytest.mark.parts
def test_ranks_are_devices_and_a_pair_is_two(lab):
    whole = cases(lab, kernels="all_reduce", instances="rack", axes="size=1M")[0].extent
    assert (whole.ranks, whole.devices, whole.hosts, whole.cores) == (8, 8, 2, 16)
    near, far = cases(lab, kernels="point_to_point", instances="rack", axes="size=1M")
    assert (near.extent.ranks, near.extent.hosts) == (2, 1)
    assert (far.extent.ranks, far.extent.hosts) == (2, 2)


@pytest.mark.parts
def test_what_a_generation_lacks_is_said_in_its_words(lab):
    assert skips(
        lab, kernels="gemm", instances="box", scopes="core", axes=("size=128", "dtype=mxfp8,bf16")
    ) == {
        "box::gemm[dtype=mxfp8,size=128]@core": "no MX types before v4",
        "box::gemm[dtype=bf16,size=128]@core": "",
    }
    assert set(skips(lab, kernels="gemm_int8", instances="box").values()) == {
        "no public instruction multiplies integers"
    }


@pytest.mark.parts
def test_collectives_need_a_second_rank_and_links_a_second_device_and_host(lab, registry):
    assert set(skips(lab, kernels="all_reduce", instances="single").values()) == {
        "needs 2 ranks, single has 1"
    }
    assert set(skips(registry, kernels="all_reduce", instances="trn2.3xlarge").values()) == {""}
    assert set(skips(lab, kernels="point_to_point", instances="single", axes="reach=neighbour").values()) == {
        "needs 2 devices, single has 1"
    }
    assert skips(lab, kernels="point_to_point", instances="box", axes="size=1K") == {
        "box::point_to_point[reach=neighbour,size=1024]@instance": "",
        "box::point_to_point[reach=other-host,size=1024]@instance": "needs 2 hosts, box has 1",
    }


@pytest.mark.parts
@pytest.mark.parametrize(("case", "told"), pairs(Path(__file__).parent / "memory.txt"))
def test_memory_is_counted(lab, case, told):
    kernel, scope, *axes = case.split()
    found = skips(lab, kernels=kernel, instances="box", axes=tuple(axes), scopes=scope)
    assert {why or "it runs" for why in found.values()} == {told}


@pytest.mark.parts
def test_memory_of_a_host_is_its_own_in_larger_systems(lab):
    for name in ("rack", "field"):
        assert set(skips(lab, kernels="host_to_device", instances=name, axes="size=2G").values()) == {""}
        assert "needs 12 GiB of the 8 GiB of host memory a host has" in set(
            skips(lab, kernels="host_to_device", instances=name, axes="size=3G").values()
        )


@pytest.mark.parts
def test_a_kernel_that_breaks_while_planned_costs_its_own_cases(lab):
    def broken(point, extent):
        raise ZeroDivisionError("oops")

    class Bad:
        @trnbench.hookimpl
        def trnbench_kernels(self):
            axes = (Axis(name="size", values=(1,)),)
            yield tiny.kernel("bad", axes=axes, footprint=broken, requires=lambda point: ())

    both = SimpleNamespace(
        kernels=dict(Registry.of(bad=Bad()).kernels) | {"gemm": lab.kernels["gemm"]},
        generations=lab.generations,
        instance=lab.instance,
        instance_names=lab.instance_names,
        sized=lab.sized,
        systems=lab.systems,
    )
    found = plan(both, Selection(instances=("box",), scopes=("core",))).cases
    assert {case.skip for case in found if case.key.kernel == "bad"} == {
        "bad could not be planned: ZeroDivisionError: oops"
    }
    assert any(not case.skip for case in found if case.key.kernel == "gemm")
