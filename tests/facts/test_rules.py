"""Each rule of the checker: what it finds, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.facts.check import FINDERS
from trnbench.facts.disagreement import RULES, Disagreement, claim, same_words
from trnbench.facts.fact import Assembly, Direction, Fact, FactBook, Provenance, Scope, Source
from trnbench.facts.units import normalise

BOX = Assembly(subject="box", scope=Scope.INSTANCE, device="chip", core="core")
RACK = Assembly(subject="rack", scope=Scope.ULTRASERVER, device="chip", core="core", parent="box")
SCOPES = {"box": Scope.INSTANCE, "rack": Scope.ULTRASERVER, "chip": Scope.DEVICE, "core": Scope.CORE}


def fact(subject: str, metric: str, printed: str, unit: str = "", source: str = "a", **more: Any) -> Fact:
    words = unit == "text"
    return Fact(
        subject=subject,
        metric=metric,
        printed=printed,
        printed_unit="" if words else unit,
        value=None if words else normalise(printed, unit)[0],
        source=source,
        locator=f"table of {source}",
        **{"scope": SCOPES[subject], **more},
    )


def flops(subject: str, printed: str, source: str = "a", **more: Any) -> Fact:
    return fact(subject, "peak_flops", printed, "TFLOPS", source, dtypes=("bf16",), **more)


def hbm(subject: str, printed: str, unit: str, source: str = "a", **more: Any) -> Fact:
    return fact(subject, "hbm_bandwidth", printed, unit, source, **more)


def link(subject: str, printed: str, unit: str, source: str = "a", **more: Any) -> Fact:
    return fact(subject, "neuronlink_bandwidth", printed, unit, source, **more)


def efa(subject: str, printed: str, source: str = "a", **more: Any) -> Fact:
    return fact(subject, "efa_bandwidth", printed, "Gbps", source, **more)


def book(*facts: Fact) -> FactBook:
    return FactBook(sources={name: Source(id=name, document=name) for name in "abc"}, facts=facts)


def find(rule: str, facts: Iterable[Fact]) -> list[Disagreement]:
    return FINDERS[rule](book(*facts), (BOX, RACK))


def said(found: Disagreement) -> list[tuple[str, str]]:
    return [(each.text, each.source) for each in found.claims]


def test_every_rule_of_the_rulebook_has_its_function() -> None:
    assert list(FINDERS) == list(RULES)
    for name, finder in FINDERS.items():
        assert finder.__name__ == name.replace("-", "_")
        assert finder.__doc__


def test_value_finds_two_documents_apart() -> None:
    [found] = find(
        "value",
        [
            fact("box", "peak_flops", "10", "PFLOPS", dtypes=("bf16", "fp16")),
            fact("box", "peak_flops", "10.7", "PFLOPS", "b", dtypes=("fp16", "bf16", "tf32")),
        ],
    )
    assert said(found) == [("10 PFLOPS", "a"), ("10.7 PFLOPS", "b")]
    assert (found.rule, found.subject, found.metric, found.dtypes) == (
        "value",
        "box",
        "peak_flops",
        ("bf16", "fp16"),
    )
    assert found.ratio == pytest.approx(1.07)
    assert found.claims[0].locator == "table of a"


@pytest.mark.parametrize(
    "other",
    [
        {"printed": "2.94"},  # both round to 2.9
        {"printed": "2.9"},
        {"printed": "3"},  # one digit: rule rounded
        {"printed": "181", "qualifier": "vector"},
        {"printed": "181", "subject": "chip"},
    ],
)
def test_value_leaves_alone_what_may_be_one_figure(other: dict[str, Any]) -> None:
    subject = other.pop("subject", "box")
    facts = [
        hbm("box", "2.9", "TB/s"),
        fact(subject, "hbm_bandwidth", other.pop("printed"), "TB/s", "b", **other),
    ]
    assert not find("value", facts)


def test_value_does_not_mix_dense_and_sparse_or_directions() -> None:
    assert not find(
        "value",
        [
            fact("box", "peak_flops", "10", "PFLOPS", dtypes=("fp8",)),
            fact("box", "peak_flops", "40", "PFLOPS", "b", dtypes=("fp8",), sparse=True),
        ],
    )
    one, both = ({"direction": Direction.ONE_WAY}, {"direction": Direction.BOTH_WAYS})
    links = [link("chip", "64", "GB/s", **one)]
    assert not find("value", [*links, link("chip", "128", "GB/s", "b", **both)])
    assert find("value", [*links, link("chip", "128", "GB/s", "b", **one)])


def test_bounds_disagree_with_other_bounds_and_with_values_beyond_them() -> None:
    def limited(printed: str, source: str, limit: str = "up-to") -> Fact:
        return fact("box", "efa_bandwidth", printed, "Gbps", source, limit=limit)

    assert find("value", [limited("25", "a"), limited("12.5", "b")])
    assert not find("value", [limited("25", "a"), limited("20", "b", "")])
    assert find("value", [limited("25", "a"), limited("30", "b", "")])
    assert not find("value", [limited("25", "a", "over"), limited("30", "b", "")])
    assert find("value", [limited("25", "a", "over"), limited("20", "b", "")])
    bound, below = limited("25", "a"), limited("20", "b", "")  # no rounding of the one makes the other
    assert not find("rounded", [bound, below])
    assert not find("rounded", [below, bound])


def test_count_has_no_rounding() -> None:
    facts = [fact("chip", "cc_core_count", "16"), fact("chip", "cc_core_count", "20", source="b")]
    [found] = find("count", facts)
    assert said(found) == [("16", "a"), ("20", "b")]
    assert not find("value", facts)
    bounds = [
        fact("box", "cluster_device_count", number, source=source, limit="over")
        for number, source in (("30,000", "a"), ("100,000", "b"))
    ]
    [found] = find("count", bounds)
    assert said(found) == [("over 30,000", "a"), ("over 100,000", "b")]


def test_prose_holds_a_document_against_itself() -> None:
    facts = [
        fact("rack", "hbm_capacity", "20,736", "GiB"),
        fact("rack", "hbm_capacity", "20", "TB", part="prose"),
    ]
    [found] = find("prose", facts)
    assert said(found) == [("20,736 GiB", "a"), ("20 TB", "a")]
    assert found.ratio == pytest.approx(20736 * 2**30 / 20e12)
    assert not find("value", facts)


def test_unit_base_needs_the_same_digits() -> None:
    [found] = find("unit-base", [hbm("chip", "820", "GiB/sec"), hbm("chip", "820", "GB/s", "b")])
    assert found.ratio == pytest.approx(1.073741824)
    assert found.note == "the same digits, powers of 1024 against powers of 1000"
    assert not find("unit-base", [hbm("chip", "820", "GiB/sec"), hbm("chip", "880", "GB/s", "b")])
    assert not find("unit-base", [hbm("chip", "820", "GiB/sec"), hbm("chip", "820", "TB/s", "b")])
    assert not find("unit-base", [hbm("chip", "820", "GB/sec"), hbm("chip", "820", "GB/s", "b")])


def test_rounded_wants_more_than_one_percent() -> None:
    def bandwidth(printed: str, source: str) -> Fact:
        return hbm("chip", printed, "TB/s", source)

    [found] = find("rounded", [bandwidth("2.9", "a"), bandwidth("3", "b")])
    assert (found.note, found.ratio) == ("one document prints fewer digits", pytest.approx(3 / 2.9))
    assert not find("rounded", [bandwidth("705.6", "a"), bandwidth("706", "b")])
    assert not find("rounded", [bandwidth("2.9", "a"), bandwidth("3.4", "b")])


def test_words_compares_names_whatever_their_spelling() -> None:
    def named(printed: str, source: str, **more: Any) -> Fact:
        return fact("box", "topology_name", printed, "text", source, **more)

    [found] = find(
        "words",
        [named("4D-HyperCube", "a", qualifier="prose"), named("2D Torus", "a"), named("2d torus", "b")],
    )
    assert [each.text for each in found.claims] == ["4D-HyperCube", "2D Torus", "2d torus"]
    assert found.ratio is None
    assert not find("words", [named("4x4, 2D Torus", "a"), named("2D-Torus", "b")])
    features = [fact("box", "feature", text, "text", source) for text, source in (("one", "a"), ("two", "b"))]
    assert not find("words", features)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Trn2 UltraServer", "trn2-ultraserver", True),
        ("2D torus", "4x4 2D torus", True),
        ("ring", "string", False),
        ("second", "first", False),
    ],
)
def test_same_words(one: str, other: str, same: bool) -> None:
    assert same_words(one, other) is same
    assert same_words(other, one) is same


DEVICES = [
    fact("box", "device_count", "16"),
    fact("chip", "core_count", "8"),
    fact("rack", "host_count", "4"),
]


def test_devices_sum() -> None:
    part = flops("chip", "190", "b")
    [found] = find("devices-sum", [*DEVICES, flops("box", "3,360"), part])
    assert said(found) == [("3,360 TFLOPS", "a"), ("16 devices × 190 TFLOPS", "b")]
    assert found.ratio == pytest.approx(210 / 190)
    assert not find("devices-sum", [*DEVICES, flops("box", "3,040"), part])


def test_a_sum_that_fits_one_current_part_is_left_alone() -> None:
    whole = hbm("box", "46.4", "TB/s")
    parts = [hbm("chip", "2.9", "TB/s"), hbm("chip", "2.5", "TB/s", "b")]
    assert not find("devices-sum", [*DEVICES, whole, *parts])
    old = [hbm("chip", "2.9", "TB/s", superseded_by="b"), parts[1]]
    assert find("devices-sum", [*DEVICES, whole, *old])


def test_derived_figures_are_not_held_against_what_they_come_from() -> None:
    derived = {"provenance": Provenance.DERIVED, "formula": "8 × 79"}
    whole = flops("chip", "640", **derived)
    assert not find("cores-sum", [*DEVICES, whole, flops("core", "79")])


def test_cores_sum() -> None:
    [found] = find("cores-sum", [*DEVICES, flops("chip", "667"), flops("core", "79", "b")])
    assert said(found) == [("667 TFLOPS", "a"), ("8 cores × 79 TFLOPS", "b")]


def test_hosts_sum() -> None:
    [found] = find(
        "hosts-sum",
        [
            *DEVICES,
            efa("rack", "3,200"),
            efa("box", "3,200"),
            fact("rack", "vcpu_count", "768"),
            fact("box", "vcpu_count", "192"),
        ],
    )
    assert said(found) == [("3,200 Gbps", "a"), ("4 instances × 3,200 Gbps", "a")]
    assert (found.metric, found.ratio) == ("efa_bandwidth", 4.0)


def test_per_device() -> None:
    facts = [link("rack", "2,048", "GiB/sec/device", scope=Scope.DEVICE), link("chip", "2.56", "TB/s", "b")]
    [found] = find("per-device", facts)
    assert said(found) == [("2,048 GiB/sec/device", "a"), ("2.56 TB/s", "b")]


def test_link_sum_adds_levels_of_one_source() -> None:
    def level(printed: str, qualifier: str, source: str = "a") -> Fact:
        return link("rack", printed, "GB/s", source, qualifier=qualifier, scope=Scope.DEVICE)

    levels = [level("256", "intra-server"), level("320", "inter-server"), level("128", "inter-rack")]
    [found] = find("link-sum", [*levels, link("chip", "2,560", "GB/s", "b")])
    assert said(found) == [("2,560 GB/s", "b"), ("256 GB/s + 320 GB/s + 128 GB/s", "a")]
    assert (found.subject, found.ratio) == ("rack", pytest.approx(2560 / 704))
    assert not find("link-sum", [*levels, link("chip", "704", "GB/s", "b")])
    assert not find("link-sum", [levels[0], link("chip", "704", "GB/s", "b")])


def test_link_sum_multiplies_neighbours() -> None:
    ports = fact("chip", "neuronlink_port_count", "4")
    total = link("box", "384", "GB/s", scope=Scope.DEVICE)
    each = {"qualifier": "per-neighbour", "scope": Scope.DEVICE}
    assert not find("link-sum", [ports, total, link("box", "96", "GB/s", **each)])
    [found] = find("link-sum", [ports, total, link("box", "90", "GB/s", **each)])
    assert said(found) == [("384 GB/s", "a"), ("4 neighbours × 90 GB/s", "a")]


def test_product() -> None:
    units = [
        fact("core", "dma_engine_count", "16"),
        fact("core", "dma_engine_bandwidth", "27.2", "GB/s", "b"),
    ]
    [found] = find("product", [*units, fact("core", "dma_bandwidth", "272", "GB/s")])
    assert said(found) == [("272 GB/s", "a"), ("16 engines × 27.2 GB/s", "b")]
    assert not find("product", [*units, fact("core", "dma_bandwidth", "435", "GB/s")])


def test_clock() -> None:
    core = [
        fact("core", "array_rows", "128"),
        fact("core", "array_columns", "128"),
        fact("core", "clock", "2.4", "GHz", qualifier="tensor"),
    ]
    [found] = find("clock", [*DEVICES, *core, flops("chip", "667", "b")])
    assert said(found) == [("667 TFLOPS", "b"), ("8 cores × 128 rows × 128 columns × 2 × 2.4 GHz", "a")]
    assert not find("clock", [*DEVICES, *core, flops("core", "79", "b")])


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_agreeing_is_mutual(one: int, other: int) -> None:
    a = claim(hbm("chip", str(one), "GB/s"))
    b = claim(hbm("chip", str(other), "GB/s", "b"))
    assert a.agrees(b) is b.agrees(a)
    assert a.agrees(b) is (one == other or abs(one - other) < min(0.5, one / 20) + min(0.5, other / 20))


@given(st.integers(2, 500), st.integers(1, 64))
def test_an_exact_multiple_is_never_a_disagreement(each: int, count: int) -> None:
    facts = [
        fact("box", "device_count", str(count)),
        fact("chip", "hbm_capacity", str(each), "GiB"),
        fact("box", "hbm_capacity", str(each * count), "GiB"),
    ]
    assert not find("devices-sum", facts)
