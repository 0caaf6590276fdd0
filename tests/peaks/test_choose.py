"""Peaks: four policies, every scope, the arithmetic in words."""

from __future__ import annotations

from typing import Any

import pytest
from fact_rows import fact
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from trnbench.errors import FactError
from trnbench.facts.fact import Direction, PeakChoice, PeakPolicy, Scope
from trnbench.facts.metric import METRICS
from trnbench.facts.units import show
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.peaks import choose_peak
from trnbench.registry import Registry, load_registry

pytestmark = pytest.mark.parts
REGISTRY: Registry = load_registry()
SEED, DEVICE, ENGINE, LATEST = PeakPolicy


def system(name: str) -> System:
    return REGISTRY.system(name)


def choose(name: str, metric: str, scope: Scope, **more: Any) -> PeakChoice:
    return choose_peak(system(name), metric=metric, scope=scope, **more)


def shown(choice: PeakChoice) -> str:
    unit = "OP/s" if choice.chosen.dtype == "int8" else METRICS[choice.chosen.metric].unit
    return show(choice.chosen.value, unit, 4)


WHOLE = [
    # instance, dtype, sparse, then what each policy takes of the whole system
    ("trn1.2xlarge", "bf16", False, "210 TFLOPS", "190 TFLOPS", "183.5 TFLOPS", "190 TFLOPS"),
    ("trn1.32xlarge", "bf16", False, "3.36 PFLOPS", "3.04 PFLOPS", "2.936 PFLOPS", "3.04 PFLOPS"),
    ("trn1.32xlarge", "fp32", False, "840 TFLOPS", "760 TFLOPS", "734 TFLOPS", "760 TFLOPS"),
    ("trn1.32xlarge", "int8", False, "6.08 POPS", "6.08 POPS", "6.08 POPS", "6.08 POPS"),
    ("trn1-ultracluster", "bf16", False, "6.3 EFLOPS", "5.7 EFLOPS", "5.505 EFLOPS", "5.7 EFLOPS"),
    ("trn2-16.48xlarge", "bf16", False, "10 PFLOPS", "10.67 PFLOPS", "10.07 PFLOPS", "10.7 PFLOPS"),
    ("trn2-16.48xlarge", "fp8", False, "20 PFLOPS", "20.78 PFLOPS", "20.13 PFLOPS", "20.8 PFLOPS"),
    ("trn2-16.48xlarge", "fp8", True, "40 PFLOPS", "41.01 PFLOPS", "40.27 PFLOPS", "41 PFLOPS"),
    ("u-trn2x64", "fp32", False, "11.6 PFLOPS", "11.58 PFLOPS", "10.07 PFLOPS", "11.6 PFLOPS"),
    ("trn3-gen1-ultraserver", "mxfp8", False, "161.1 PFLOPS", "161.1 PFLOPS", "161.1 PFLOPS", "161.1 PFLOPS"),
    ("trn3-gen2-ultraserver", "mxfp4", False, "362.4 PFLOPS", "362.4 PFLOPS", "362.4 PFLOPS", "362.4 PFLOPS"),
    ("trn3-gen2-ultraserver", "bf16", False, "96.62 PFLOPS", "96.62 PFLOPS", "90.6 PFLOPS", "96.62 PFLOPS"),
]
SYSTEMS = tuple(dict.fromkeys(row[0] for row in WHOLE))


@pytest.mark.parametrize(("name", "dtype", "sparse", "seed", "device", "engine", "latest"), WHOLE)
def test_the_whole_system_by_each_policy(
    name: str, dtype: str, sparse: bool, seed: str, device: str, engine: str, latest: str
) -> None:
    scope = system(name).instance.scope
    taken = [
        shown(choose(name, "peak_flops", scope, dtype=dtype, sparse=sparse, policy=policy))
        for policy in PeakPolicy
    ]
    assert taken == [seed, device, engine, latest]


@pytest.mark.parametrize(
    ("name", "metric", "scope", "value", "formula", "source"),
    [
        ("trn1.32xlarge", "peak_flops", "core", 105e12, "3,360 TFLOPS / 16 devices / 2 cores", "seed-trn1"),
        ("trn1.32xlarge", "peak_flops", "device", 210e12, "3,360 TFLOPS / 16 devices", "seed-trn1"),
        ("trn1.32xlarge", "dma_bandwidth", "instance", 16e12, "1 TB/sec × 16 devices", "seed-trainium"),
        ("trn1-ultracluster", "peak_flops", "cluster", 6.3e18, "3,360 TFLOPS × 1,875 instances", "seed-trn1"),
        ("trn1-ultracluster", "efa_bandwidth", "device", 6.25e9, "800 Gbps / 16 devices", "seed-trn1"),
        (
            "trn2-16.48xlarge",
            "hbm_bandwidth",
            "core",
            362.5e9,
            "46.4 TB/sec / 16 devices / 8 cores",
            "seed-trn2",
        ),
        ("u-trn2x64", "peak_flops", "core", 78.125e12, "40 PFLOPS / 64 devices / 8 cores", "seed-trn2"),
        ("trn3-gen2-ultraserver", "efa_bandwidth", "device", 25e9, "28,800 Gbps / 144 devices", "seed-trn3"),
    ],
)
def test_figures_of_another_scope_are_derived_by_stated_arithmetic(
    name: str, metric: str, scope: str, value: float, formula: str, source: str
) -> None:
    dtype = "bf16" if metric == "peak_flops" else ""
    chosen = choose(name, metric, Scope(scope), dtype=dtype).chosen
    assert (chosen.value, chosen.formula, chosen.source) == (pytest.approx(value), formula, source)
    assert chosen.evidence == "derived"
    assert chosen.scope is Scope(scope)
    assert chosen.facts


def test_a_printed_figure_is_documented_and_its_source_can_be_looked_up() -> None:
    choice = choose("trn2-16.48xlarge", "peak_flops", Scope.INSTANCE, dtype="bf16")
    assert (choice.chosen.evidence, choice.chosen.formula) == ("documented", "")
    assert choice.chosen.superseded_by == "trn2-arch"
    assert choice.note == "superseded by trn2-arch"
    [identifier] = choice.chosen.facts
    assert identifier in {fact.id for fact in system("trn2-16.48xlarge").book.facts}


def test_alternatives_keep_every_policy_and_every_other_figure() -> None:
    choice = choose("trn1.32xlarge", "peak_flops", Scope.INSTANCE, dtype="bf16", policy=LATEST)
    figures = {show(each.value, "FLOP/s", 4): each for each in choice.alternatives}
    assert figures["3.36 PFLOPS"].policy is SEED
    assert figures["3.36 PFLOPS"].superseded_by == "trn1-arch"
    assert figures["2.936 PFLOPS"].policy is ENGINE
    assert {"3 PFLOPS", "3.056 PFLOPS"} <= set(figures)  # the product page; 16 × 191
    assert choice.chosen.value not in {each.value for each in choice.alternatives if not each.superseded_by}


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_policys_choice_is_in_view_whatever_the_policy(name: str) -> None:
    scope = system(name).instance.scope
    choices = {p: choose(name, "peak_flops", scope, dtype="bf16", policy=p) for p in PeakPolicy}
    for choice in choices.values():
        visible = [choice.chosen, *choice.alternatives]
        for other in choices.values():
            assert any(each.value == pytest.approx(other.chosen.value) for each in visible)


def test_where_the_policy_has_no_figure_the_note_says_what_was_taken() -> None:
    choice = choose("trn1.32xlarge", "neuronlink_bandwidth", Scope.DEVICE, direction=Direction.ONE_WAY)
    assert choice.chosen.value == 384 * 2.0**30
    assert choice.note == (
        "the seed documents print no such figure; the newest document's figure is taken; "
        "the document does not say whether it counts one direction or both"
    )
    choice = choose("trn2-16.48xlarge", "hbm_bandwidth", Scope.INSTANCE, policy=ENGINE)
    assert choice.note == (
        "no document gives the clocks that would bound this; the newest document's figure is taken"
    )
    choice = choose("trn1.32xlarge", "efa_bandwidth", Scope.INSTANCE, policy=DEVICE)
    assert choice.note == "the device page prints no such figure; the newest document's figure is taken"
    trn2 = system("trn2-16.48xlarge")
    older = replace(trn2.book, facts=tuple(replace(each, superseded_by="nki") for each in trn2.book.facts))
    superseded = choose_peak(
        replace(trn2, book=older), metric="hbm_bandwidth", scope=Scope.INSTANCE, policy=LATEST
    )
    assert superseded.note == (
        "every document's figure is superseded; the seed's figure is taken; superseded by nki"
    )


def test_the_seeds_device_page_stands_in_for_its_instance_table() -> None:
    choice = choose("trn1.32xlarge", "peak_flops", Scope.INSTANCE, dtype="int8")
    assert choice.chosen.formula == "380 TOPS × 16 devices"
    assert choice.note == (
        "the seed's instance table has no such figure; its device page has; "
        "derived from the figure of the device"
    )


def test_a_share_of_something_shared_says_so() -> None:
    note = choose("trn2-16.48xlarge", "hbm_bandwidth", Scope.CORE).note
    assert (
        note == "derived from the figure of the instance; an even share; a part that runs alone may draw more"
    )


def test_a_system_no_seed_speaks_of_is_not_given_a_seeds_figure() -> None:
    choice = choose("trn1n.32xlarge", "peak_flops", Scope.INSTANCE, dtype="bf16")
    assert (choice.chosen.source, choice.chosen.value) == ("trn1-arch", 3.04e15)


def test_link_levels_add_up_to_the_whole() -> None:
    whole = choose("u-trn2x64", "neuronlink_bandwidth", Scope.DEVICE)
    assert whole.chosen.formula == "1,024 GB/sec/device + 256 GB/sec/device"
    assert (whole.chosen.value, whole.chosen.evidence) == (1.28e12, "derived")
    inside = choose("trn2-16.48xlarge", "neuronlink_bandwidth", Scope.DEVICE)
    assert inside.chosen.value == 1.024e12
    assert inside.note == "the document's figure is for intra-instance links"
    level = choose("u-trn2x64", "neuronlink_bandwidth", Scope.DEVICE, qualifier="inter-instance")
    assert level.chosen.value == 256e9
    of_all = choose("u-trn2x64", "neuronlink_bandwidth", Scope.ULTRASERVER).chosen
    assert of_all.formula == "(1,024 GB/sec/device + 256 GB/sec/device) × 64 devices"
    assert of_all.value == 64 * 1.28e12


def test_generations_with_one_level_of_links_have_one_figure() -> None:
    choice = choose("trn1.32xlarge", "neuronlink_bandwidth", Scope.DEVICE, qualifier="intra-instance")
    assert choice.chosen.value == 384 * 2.0**30
    assert choice.note.startswith("no document gives intra-instance links a figure of their own")


@pytest.mark.parametrize(
    ("printed", "wanted", "formula", "value"),
    [
        (Direction.BOTH_WAYS, Direction.ONE_WAY, "(100 + 50) / 2 directions / 2 cores", 37.5),
        (Direction.ONE_WAY, Direction.BOTH_WAYS, "(100 + 50) × 2 directions / 2 cores", 150.0),
        (Direction.ONE_WAY, Direction.ONE_WAY, "(100 + 50) / 2 cores", 75.0),
        (Direction.UNSTATED, Direction.ONE_WAY, "(100 + 50) / 2 cores", 75.0),
    ],
)
def test_a_figure_of_other_directions_is_turned(
    printed: Direction, wanted: Direction, formula: str, value: float
) -> None:
    trn1 = system("trn1.32xlarge")
    link = {"source": "trn1-arch", "scope": Scope.DEVICE, "direction": printed}
    levels = [
        fact("trainium1", "neuronlink_bandwidth", figure, qualifier=f"{level}-instance", **link)
        for level, figure in (("intra", 100.0), ("inter", 50.0))
    ]
    others = [each for each in trn1.book.facts if each.metric != "neuronlink_bandwidth"]
    book = replace(trn1.book, facts=(*others, *levels))
    choice = choose_peak(
        replace(trn1, book=book), metric="neuronlink_bandwidth", scope=Scope.CORE, direction=wanted
    )
    shown = (choice.chosen.formula, choice.chosen.value, choice.chosen.direction)
    assert shown == (formula, value, printed if printed is Direction.UNSTATED else wanted)


def test_one_device_has_nothing_to_link_to() -> None:
    assert choose_peak(system("trn1.2xlarge"), metric="neuronlink_bandwidth", scope=Scope.DEVICE) is None


def test_a_logical_core_is_as_many_cores_as_its_extent() -> None:
    two = Extent(scope=Scope.LOGICAL_CORE, cores=2)
    choice = choose("trn2-16.48xlarge", "peak_flops", Scope.LOGICAL_CORE, dtype="bf16", extent=two)
    assert choice.chosen.value == pytest.approx(156.25e12)
    assert choice.chosen.formula == "10 PFLOPS / 16 devices / 4 logical cores"
    assert choice.engine_bound.formula == "128 rows × 128 columns × 2 × 2.4 GHz × 2 cores"
    unsaid = Extent(scope=Scope.LOGICAL_CORE)  # two, as the runtime makes them
    assert choose("trn2-16.48xlarge", "peak_flops", Scope.LOGICAL_CORE, dtype="bf16", extent=unsaid) == choice


def test_the_size_of_a_cluster_scales_its_figures() -> None:
    small = choose("trn1-ultracluster:64", "peak_flops", Scope.CLUSTER, dtype="bf16")
    assert small.chosen.value == pytest.approx(64 * 3.36e15)
    assert small.chosen.formula == "3,360 TFLOPS × 64 instances"
    one = choose("trn1-ultracluster:64", "peak_flops", Scope.INSTANCE, dtype="bf16")
    assert one.chosen.value == 3.36e15


def test_an_ultraservers_instance_has_figures_too() -> None:
    choice = choose("u-trn2x64", "efa_bandwidth", Scope.ULTRASERVER)
    assert show(choice.chosen.value, "B/s") == "400 GB/s"  # 3,200 Gbps, as the seed prints it
    assert 1.6e12 in [each.value for each in choice.alternatives]  # four instances of 3,200 Gbps


@pytest.mark.parametrize("scope", [Scope.ULTRASERVER, Scope.CLUSTER])
def test_a_scope_the_system_does_not_have(scope: Scope) -> None:
    assert choose_peak(system("trn1.32xlarge"), metric="hbm_bandwidth", scope=scope) is None


def test_what_no_document_prints_has_no_peak() -> None:
    wants = {"metric": "peak_flops", "scope": Scope.DEVICE}
    assert choose_peak(system("trn2-16.48xlarge"), dtype="int8", **wants) is None
    assert choose_peak(system("trn1.32xlarge"), dtype="fp8", sparse=True, **wants) is None
    assert choose_peak(system("trn1.32xlarge"), dtype="mxfp8", **wants) is None


def test_an_unknown_metric_is_an_error() -> None:
    with pytest.raises(FactError, match="unknown metric 'hbm_bandwith'"):
        choose_peak(system("trn1.32xlarge"), metric="hbm_bandwith", scope=Scope.DEVICE)


@given(
    st.sampled_from(SYSTEMS),
    st.sampled_from(list(PeakPolicy)),
    st.sampled_from(["peak_flops", "hbm_bandwidth", "dma_bandwidth", "efa_bandwidth"]),
)
def test_policies_keep_the_scope_and_add_up(name: str, policy: PeakPolicy, metric: str) -> None:
    """Figures derived from one fact are in proportion to the devices in scope."""
    at = system(name)
    dtype = "bf16" if metric == "peak_flops" else ""
    whole = choose_peak(at, metric=metric, scope=at.instance.scope, dtype=dtype, policy=policy)
    one = choose_peak(at, metric=metric, scope=Scope.DEVICE, dtype=dtype, policy=policy)
    assert (whole.chosen.scope, one.chosen.scope) == (at.instance.scope, Scope.DEVICE)
    if whole.chosen.facts == one.chosen.facts:
        assert whole.chosen.value == pytest.approx(one.chosen.value * at.devices)
