"""The plan: which cases, in which order, and what those that cannot run say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import trnbench
from trnbench.errors import NothingSelected, UnknownName, UsageError
from trnbench.facts.scope import Scope
from trnbench.generation import Generation, Instance
from trnbench.kernels import plugin as core_kernels
from trnbench.kernels.axis import Axis
from trnbench.kernels.kernel import Kernel, PrimaryMetric
from trnbench.kernels.work import Work
from trnbench.registry import Registry, load_registry
from trnbench.run.plan import plan
from trnbench.run.selection import Selection

FACTS = """
schema = 1

[sources.lab]
document = "Lab notes"

[[group]]
source = "lab"
locator = "page 1"
facts = [
    { subject = "box", scope = "instance", metric = "device_count", printed = "4" },
    { subject = "box", scope = "instance", metric = "host_memory", printed = "8", unit = "GiB" },
    { subject = "single", scope = "instance", metric = "device_count", printed = "1" },
    { subject = "rack", scope = "ultraserver", metric = "device_count", printed = "8" },
    { subject = "rack", scope = "ultraserver", metric = "host_count", printed = "2" },
    { subject = "rack", scope = "ultraserver", metric = "host_memory", printed = "16", unit = "GiB" },
    { subject = "chip", scope = "device", metric = "core_count", printed = "2" },
    { subject = "chip", scope = "device", metric = "hbm_capacity", printed = "32", unit = "GiB" },
    { subject = "heart", scope = "core", metric = "sbuf_capacity", printed = "24", unit = "MiB" },
]
"""

COSTS = """
schema = 1

[cannot]
"dtype:mxfp8" = "no MX types before v4"
"instruction:int8_matmul" = "no public instruction multiplies integers"
"""


def system(name: str, scope: Scope, **more) -> Instance:
    return Instance(
        name=name, title=name, scope=scope, device="chip", core="heart", topology="lab:none", **more
    )


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Registry:
    folder = tmp_path_factory.mktemp("lab")
    (folder / "facts.toml").write_text(FACTS)
    (folder / "costs.toml").write_text(COSTS)

    class Lab:
        @trnbench.hookimpl
        def trnbench_generations(self):
            yield Generation(
                name="lab1",
                title="Lab",
                order=1,
                facts=(folder / "facts.toml",),
                costs=folder / "costs.toml",
                instances=(
                    system("single", Scope.INSTANCE),
                    system("box", Scope.INSTANCE, aliases=("crate",)),
                    system("rack", Scope.ULTRASERVER, parent="box"),
                    system("field", Scope.CLUSTER, parent="box", sizable=True, default_size=1000),
                    system("spare", Scope.INSTANCE, default=False),
                ),
            )

    return Registry.of(lab=Lab(), kernels=core_kernels)


def cases(registry: Registry, **selection):
    chosen = {
        name: (value,) if isinstance(value, str) and name != "keyword" else value
        for name, value in selection.items()
    }
    return plan(registry, Selection(**chosen)).cases


def skips(registry: Registry, **selection) -> dict[str, str]:
    return {case.id: case.skip for case in cases(registry, **selection)}


def refusal(registry: Registry, **selection) -> str:
    with pytest.raises((NothingSelected, UsageError)) as caught:
        cases(registry, **selection)
    return str(caught.value)


# ---- invariants of the default plan, on what is installed


@pytest.fixture(scope="module")
def installed() -> Registry:
    return load_registry()


@pytest.fixture(scope="module")
def default(installed):
    return plan(installed)


def test_a_default_run_is_as_large_as_a_reader_can_learn_from(default):
    assert 1200 <= len(default.cases) <= 2100
    assert len(default.systems) == 7


def test_ids_are_unique_and_point_orders_are_the_kernels(default):
    assert len({case.id for case in default.cases}) == len(default.cases)
    for case in default.cases:
        assert list(case.key.point) == [axis.name for axis in case.kernel.axes]
        assert case.key.instance in default.systems


def test_two_plans_are_alike(installed, default):
    again = plan(load_registry())
    assert [(case.id, case.skip) for case in again.cases] == [(case.id, case.skip) for case in default.cases]
    assert list(again.systems) == list(default.systems)


def test_cases_that_cannot_run_say_why_in_a_sentence(default):
    assert default.skipped
    assert all(len(case.skip.split()) >= 3 for case in default.skipped)
    assert len(default.runnable) + len(default.skipped) == len(default.cases)


def test_every_case_has_work_and_every_kernel_and_system_a_case(installed, default):
    for case in default.cases:
        assert case.kernel.work(case.key.point, case.extent).as_counts()
    own = {name for name, each in installed.kernels.items() if set(each.implementations) <= {"numpy", "c"}}
    assert {case.key.kernel for case in default.cases} == set(installed.kernels) - own
    assert {case.key.instance for case in default.cases} == set(default.systems)


def test_integers_and_sparsity_are_skipped_wherever_a_system_says_so(default):
    for case in default.cases:
        if case.key.kernel == "gemm_int8" and default.systems[case.key.instance].lacks(
            "instruction:int8_matmul"
        ):
            assert case.skip


def test_one_device_has_no_links(default):
    one = [
        case for case in default.cases if case.key.instance == "trn1.2xlarge" and case.kernel.spread.linked
    ]
    assert {case.skip for case in one} == {"needs 2 devices, trn1.2xlarge has 1"}


# ---- scopes and extents


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
    assert found["field"].id == "field::hbm_read[size=1024]@cluster"


def test_scopes_are_those_asked_for(lab):
    assert {case.key.scope for case in cases(lab, kernels="gemm_skinny")} == {Scope.CORE}
    assert {case.key.scope for case in cases(lab, kernels="gemm_skinny", scopes="device")} == {Scope.DEVICE}
    only = cases(lab, kernels="hbm_read", scopes="ultraserver")
    assert {case.key.instance for case in only} == {"rack"}
    one = cases(lab, kernels="hbm_read", scopes="device", instances="box", axes="size=1K")[0]
    assert (one.extent.cores, one.extent.devices) == (2, 1)


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


def test_ranks_are_devices_and_a_pair_is_two(lab):
    whole = cases(lab, kernels="all_reduce", instances="rack", axes="size=1M")[0].extent
    assert (whole.ranks, whole.devices, whole.hosts, whole.cores) == (8, 8, 2, 16)
    near, far = cases(lab, kernels="point_to_point", instances="rack", axes="size=1M")
    assert (near.extent.ranks, near.extent.hosts) == (2, 1)
    assert (far.extent.ranks, far.extent.hosts) == (2, 2)


# ---- what cannot run


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


def test_links_need_a_second_device_and_host(lab):
    assert set(skips(lab, kernels="all_reduce", instances="single").values()) == {
        "needs 2 devices, single has 1"
    }
    assert skips(lab, kernels="point_to_point", instances="box", axes="size=1K") == {
        "box::point_to_point[reach=neighbour,size=1024]@instance": "",
        "box::point_to_point[reach=other-host,size=1024]@instance": "needs 2 hosts, box has 1",
    }


@pytest.mark.parametrize(
    ("kernel", "axis", "scope", "why"),
    [
        ("hbm_read", "size=16G", "core", ""),
        ("hbm_read", "size=16G", "device", ""),
        ("hbm_triad", "size=16G", "core", "needs 48 GiB of the 16 GiB of device memory a core has"),
        ("hbm_triad", "size=16G", "system", "needs 48 GiB of the 16 GiB of device memory a core has"),
        ("gemm", "size=128K", "core", "needs 96 GiB of the 16 GiB of device memory a core has"),
        ("dma_sweep", "bytes_per_partition=192K", "core", ""),
        ("dma_sweep", "bytes_per_partition=256K", "core", "needs 32 MiB of the 24 MiB of SBUF a core has"),
        ("all_gather", "size=25G", "system", ""),
        ("all_gather", "size=26G", "system", "needs 32.5 GiB of the 32 GiB of device memory a device has"),
        ("host_to_device", "size=2G", "system", ""),
        ("host_to_device", "size=3G", "system", "needs 12 GiB of the 8 GiB of host memory a host has"),
        ("host_to_device", "size=3G", "device", ""),
        ("device_to_host", "size=9G", "device", "needs 9 GiB of the 8 GiB of host memory a host has"),
    ],
)
def test_memory_is_counted(lab, kernel, axis, scope, why):
    found = skips(
        lab,
        kernels=kernel,
        instances="box",
        axes=(axis, *(["dtype=bf16"] * (kernel == "gemm"))),
        scopes=scope,
    )
    assert set(found.values()) == {why}


def test_memory_of_a_host_is_its_own_in_larger_systems(lab):
    for name in ("rack", "field"):
        assert set(skips(lab, kernels="host_to_device", instances=name, axes="size=2G").values()) == {""}
        assert "needs 12 GiB of the 8 GiB of host memory a host has" in set(
            skips(lab, kernels="host_to_device", instances=name, axes="size=3G").values()
        )


def test_a_kernel_that_breaks_while_planned_costs_its_own_cases(lab):
    def broken(point, extent):
        raise ZeroDivisionError("oops")

    class Bad:
        @trnbench.hookimpl
        def trnbench_kernels(self):
            yield Kernel(
                name="bad",
                family="bad",
                title="Bad",
                about="Breaks.",
                axes=(Axis(name="size", values=(1,)),),
                scopes=(Scope.CORE,),
                primary=PrimaryMetric(name="latency_s", unit="s", better="lower"),
                work=lambda point, extent: Work(),
                footprint=broken,
                requires=lambda point: (),
            )

    both = SimpleNamespace(
        kernels=dict(Registry.of(bad=Bad()).kernels) | {"gemm": lab.kernels["gemm"]},
        generations=lab.generations,
        instance=lab.instance,
        instance_names=lab.instance_names,
        system=lab.system,
    )
    found = plan(both, Selection(instances=("box",), scopes=("core",))).cases
    assert {case.skip for case in found if case.key.kernel == "bad"} == {
        "bad could not be planned: ZeroDivisionError: oops"
    }
    assert any(not case.skip for case in found if case.key.kernel == "gemm")


# ---- selection


def test_names_globs_tags_and_families_narrow_each_other_down(lab):
    def names(**selection):
        return {case.key.kernel for case in cases(lab, **selection)}

    assert names(kernels=("gemm", "hbm_*")) == {"gemm", "hbm_read", "hbm_write", "hbm_copy", "hbm_triad"}
    assert names(families="hbm", tags="copy") == {"hbm_copy"}
    assert names(tags=("triad", "dma")) == {"hbm_triad", "dma_sweep"}
    assert names(keyword="gemm and not ladder and not skinny and fp32") == {"gemm", "gemm_ragged"}


def test_keyword_speaks_of_cases(lab):
    found = cases(lab, keyword="gemm and not fp32 and core", instances="box")
    assert {case.key.scope for case in found} == {Scope.CORE}
    assert "fp32" not in {case.key.dtype for case in found}
    assert {case.key.instance for case in cases(lab, keyword="crate and softmax")} == {"box"}


def test_instances_by_name_alias_glob_and_size(lab):
    def systems(**selection):
        return list(plan(lab, Selection(kernels=("hbm_read",), **selection)).systems)

    assert systems() == ["single", "box", "rack", "field"]
    assert systems(instances=("field", "crate")) == ["box", "field"]
    assert systems(instances=("s*",)) == ["single", "spare"]
    assert systems(instances=("field:7", "field", "field:1000")) == ["field:7", "field"]
    assert systems(instances=("cr*",), generations=("lab1",)) == ["box"]
    assert (
        plan(lab, Selection(instances=("field:7",), kernels=("hbm_read",))).systems["field:7"].devices == 28
    )


def test_dtypes_drop_what_has_none(lab):
    found = cases(lab, dtypes="fp8", instances="box")
    assert {case.key.dtype for case in found} == {"fp8"}
    assert "hbm_read" not in {case.key.kernel for case in found}
    assert "all_reduce" in {case.key.kernel for case in found}


MESSAGES = [
    (
        {"kernels": "gem"},
        "unknown kernel 'gem'\n  cause: did you mean gemm, gemm_int8?\n  try:   trnbench list kernels",
    ),
    (
        {"kernels": "gmem*"},
        "no kernel fits 'gmem*'\n"
        "  cause: nearest: gemm, gemm_int8, gemm_naive\n"
        "  try:   trnbench list kernels",
    ),
    (
        {"tags": "vectr"},
        "unknown tag 'vectr'\n  cause: did you mean vector?\n  try:   trnbench list tags",
    ),
    (
        {"families": "hbn"},
        "unknown family 'hbn'\n  cause: did you mean hbm?\n  try:   trnbench list families",
    ),
    (
        {"families": "hbm", "tags": "fabric"},
        "no kernel is selected\n"
        "  cause: no kernel fits all of: --tag fabric --family hbm\n"
        "  try:   trnbench list kernels",
    ),
    (
        {"instances": "bax"},
        "unknown instance 'bax'\n  cause: did you mean box?\n  try:   trnbench list instances",
    ),
    (
        {"instances": "bax*"},
        "no instance fits 'bax*'\n  cause: nearest: box\n  try:   trnbench list instances",
    ),
    (
        {"instances": "box:2"},
        "instance 'box' cannot be given a size\n"
        "  cause: 'box:2' asks for size '2'; it is one machine, not a number of them\n"
        "  try:   box",
    ),
    (
        {"generations": "lab2"},
        "unknown generation 'lab2'\n  cause: did you mean lab1?\n  try:   trnbench list instances",
    ),
    (
        {"scopes": "chip"},
        "unknown scope 'chip'\n"
        "  cause: known: cluster, core, device, instance, logical-core, system, ultraserver",
    ),
    (
        {"kernels": "gemm", "keyword": "fp23"},
        "nothing selected by gemm -k 'fp23'\n"
        "  cause: -k 'fp23' fits none of the 208 cases of 1 kernel on 4 systems; "
        "not known there: fp23 (nearest: fp32, fp8, tf32)\n"
        "  try:   trnbench list kernels, trnbench list tags: the words it knows",
    ),
    (
        {"kernels": "all_reduce", "scopes": "core"},
        "nothing selected by all_reduce --scope core\n"
        "  cause: nothing of 1 kernel on 4 systems runs at scope core\n"
        "  try:   --scope system for the whole of each system; trnbench list kernels shows the scopes",
    ),
    (
        {"kernels": "gemm_ragged", "axes": ("m=128", "n=128", "k=128")},
        "nothing selected by gemm_ragged -a m=128 -a n=128 -a k=128\n"
        "  cause: gemm_ragged: points left out: M, N and K are all multiples of 128: "
        "gemm and gemm_skinny cover that\n"
        "  try:   other values on those axes",
    ),
    (
        {"kernels": "gemm", "excludes": "size>0"},
        "nothing selected by gemm --exclude size>0\n"
        "  cause: no point of 1 kernel on 4 systems is left\n"
        "  try:   trnbench list kernels",
    ),
]


@pytest.mark.parametrize(
    ("selection", "message"), MESSAGES, ids=[str(selection) for selection, _ in MESSAGES]
)
def test_what_an_empty_or_mistaken_selection_says(lab, selection, message):
    assert refusal(lab, **selection) == message


def test_exit_codes_of_selection(lab):
    with pytest.raises(NothingSelected) as nothing:
        cases(lab, kernels="gmem*")
    with pytest.raises(UnknownName) as unknown:
        cases(lab, kernels="gmem")
    assert (nothing.value.exit_code, unknown.value.exit_code) == (5, 2)


def test_without_a_plugin_nothing_is_installed():
    assert refusal(Registry.of()) == (
        "no kernel is selected\n  cause: none is installed\n  try:   trnbench list kernels"
    )
    assert refusal(Registry.of(kernels=core_kernels)) == (
        "no instance is selected\n  cause: no plugin brings one\n  try:   trnbench list instances"
    )


def test_extra_facts_reach_the_systems(lab, tmp_path: Path):
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'schema = 1\n[sources.mine]\ndocument = "Mine"\n[[group]]\nsource = "mine"\nlocator = "here"\n'
        'facts = [{ subject = "box", scope = "instance", metric = "vcpu_count", printed = "12" }]\n'
    )
    found = plan(lab, Selection(kernels=("hbm_read",), instances=("box",)), extra_facts=(mine,))
    assert found.systems["box"].book.value("box", "vcpu_count") == 12


def test_a_selection_is_kept_as_typed():
    import msgspec

    selection = Selection(kernels=("gemm",), axes=("size[pow2]=1:3",), keyword="bf16")
    assert msgspec.json.decode(msgspec.json.encode(selection), type=Selection) == selection
    assert selection.asked() == "gemm -k 'bf16' -a size[pow2]=1:3"
