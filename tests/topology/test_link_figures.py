"""Figures of links: where they come from, how they are read, and what is missing."""

from __future__ import annotations

from collections.abc import Callable

import fact_rows
import msgspec
import pytest
from stored_run import text_of

from trnbench.errors import TopologyError
from trnbench.facts.fact import Assumption, Direction, Fact, FactBook, Scope
from trnbench.registry import Registry
from trnbench.topology.figures import Figures, neuronlink_class, neuronlink_total, scaled, total
from trnbench.topology.graph import Figure, Topology

Build = Callable[..., Topology]


def fact(value: float, source: str = "doc", *, subject: str = "box", **fields: object) -> Fact:
    given = {"printed_unit": "GB/s", "scope": Scope.DEVICE, "source": source, **fields}
    return fact_rows.fact(subject, "neuronlink_bandwidth", value * 1e9, printed=f"{value:g}", **given)


def test_an_exact_current_figure_is_taken(build_book: Callable[..., FactBook]) -> None:
    book = build_book(
        fact(1, "old", superseded_by="new"), fact(2, "vague", limit="up-to"), fact(3, "new"), fact(4, "later")
    )
    figure = Figures(book, ("box",)).require(
        "neuronlink_bandwidth", "its cables", divide=4, by="4 neighbours"
    )
    assert figure == Figure(
        value=0.75e9, origin="box/neuronlink_bandwidth@new", formula="3 GB/s / 4 neighbours"
    )
    current = Figures(book, ()).current("box", "neuronlink_bandwidth")
    assert [fact.source for fact in current] == ["new", "later"]


def test_the_most_specific_subject_wins(build_book: Callable[..., FactBook]) -> None:
    book = build_book(fact(1, subject="chip"), fact(2, subject="box"))
    assert Figures(book, ("box", "", "chip")).require("neuronlink_bandwidth", "x").value == 2e9
    assert Figures(book, ("other", "chip")).require("neuronlink_bandwidth", "x").value == 1e9


def assuming(subject: str = "") -> FactBook:
    hop = Assumption(
        id="hop", metric="latency", printed="2", printed_unit="µs", value=2e-6, low=1e-6, high=4e-6,
        reason="none is printed", subject=subject,
    )  # fmt: skip
    return FactBook(assumptions={"hop": hop})


def test_an_assumption_keeps_its_range() -> None:
    figure = Figures(assuming(), ("box",)).require("latency", "a hop", assumptions=("hop",), divide=2)
    assert figure == Figure(value=1e-6, origin="hop", formula="2 µs / 2", assumed=True, low=0.5e-6, high=2e-6)


def test_an_assumption_of_another_subject_is_not_taken() -> None:
    with pytest.raises(TopologyError):
        Figures(assuming("chip"), ("box",)).require("latency", "a hop", assumptions=("hop",))


def test_a_missing_figure_names_metric_subject_and_remedy() -> None:
    assert text_of(
        TopologyError,
        Figures(FactBook(), ("trn9.48xlarge", "trainium9")).require,
        "neuronlink_bandwidth",
        "its NeuronLink cables",
        qualifiers=("intra-instance",),
    ) == (
        "trn9.48xlarge: no neuronlink_bandwidth for its NeuronLink cables\n"
        "  cause: neither a fact nor an assumption has metric 'neuronlink_bandwidth', qualifier"
        " 'intra-instance' for subject 'trn9.48xlarge' or 'trainium9'\n"
        "  try:   add a fact to the generation's facts, or to a file for --facts"
    )


def test_a_missing_latency_names_the_assumption_that_would_do() -> None:
    figures = Figures(FactBook(), ("trn9.48xlarge", "trainium9"))
    assert text_of(TopologyError, neuronlink_class, figures, Figure(value=1e12, origin="x"), 4).endswith(
        "  try:   add a fact, or [[assumptions]] with id = 'neuronlink-hop-latency', to the generation's"
        " facts, or to a file for --facts"
    )


@pytest.mark.parts
def test_a_system_without_link_facts_cannot_be_built(registry: Registry) -> None:
    system = registry.system("trn1.32xlarge")
    left = tuple(each for each in system.book.facts if each.metric != "neuronlink_bandwidth")
    poor = msgspec.structs.replace(system, book=msgspec.structs.replace(system.book, facts=left))
    with pytest.raises(
        TopologyError, match=r"^trn1\.32xlarge: no neuronlink_bandwidth for its NeuronLink cables"
    ):
        poor.topology()


def test_sums_and_shares_keep_their_arithmetic() -> None:
    a = Figure(value=1.0, origin="a", formula="1 GB/s")
    b = Figure(value=2.0, origin="b", formula="2 GB/s", assumed=True, low=1.0, high=4.0)
    assert total((a, b)) == Figure(value=3.0, origin="a + b", formula="1 GB/s + 2 GB/s", assumed=True)
    assert scaled(b, 0.5, " / 2") == Figure(
        value=1.0, origin="b", formula="2 GB/s / 2", assumed=True, low=0.5, high=2.0
    )


@pytest.mark.parts
@pytest.mark.parametrize(
    ("name", "cls", "bandwidth", "formula"),
    [
        ("trn1.32xlarge", "neuronlink", 96 * 2**30, "384 GiB/sec / 4 neighbours"),
        ("trn1n.32xlarge", "neuronlink", 192 * 2**30, "768 GiB/sec / 4 neighbours"),
        ("trn1-ultracluster:2", "neuronlink", 96 * 2**30, "384 GiB/sec / 4 neighbours"),
        ("inf2.48xlarge", "neuronlink", 96 * 2**30, "192 GiB/sec/device / 2 neighbours"),
        ("trn2-16.48xlarge", "neuronlink", 256e9, "1,024 GB/sec/device / 4 neighbours"),
        ("u-trn2x64", "neuronlink-inter", 128e9, "256 GB/sec/device / 2 neighbours"),
        ("trn1.32xlarge", "efa", 12.5e9, "100 Gbps"),
        ("trn2-16.48xlarge", "efa", 25e9, "200 Gbps"),
    ],
)
def test_bandwidth_of_a_cable(built: Build, name: str, cls: str, bandwidth: float, formula: str) -> None:
    found = built(name).classes[cls].bandwidth
    assert (found.value, found.formula, found.assumed) == (bandwidth, formula, False)


def test_both_directions_share_the_figure(built: Build) -> None:
    topology = built("trn2-16.48xlarge", neuronlink_direction="both-ways")
    found = topology.classes["neuronlink"].bandwidth
    assert (found.value, found.formula) == (128e9, "1,024 GB/sec/device / 2 directions / 4 neighbours")
    assert topology.notes[0] == (
        "NeuronLink figures are read as the sum of both directions, so each direction has half: no document"
        " says which is meant"
    )
    assert topology.classes["efa"].bandwidth.value == 25e9


@pytest.mark.parametrize("reading", ["one-way", "both-ways"])
@pytest.mark.parametrize(
    ("direction", "one_way"),
    [(Direction.ONE_WAY, 8e9), (Direction.BOTH_WAYS, 4e9), (Direction.UNSTATED, None)],
)
def test_a_direction_the_document_states_is_kept(
    build_book: Callable[..., FactBook], reading: str, direction: Direction, one_way: float | None
) -> None:
    book = build_book(fact(8, direction=direction))
    expected = one_way or {"one-way": 8e9, "both-ways": 4e9}[reading]
    assert neuronlink_total(Figures(book, ("box",)), reading).value == expected


@pytest.mark.parts
@pytest.mark.parametrize("name", ["trn1.2xlarge", "trn1.32xlarge", "u-trn2x64", "trn3-gen2-ultraserver"])
def test_an_unknown_direction_is_refused(built: Build, name: str) -> None:
    assert text_of(TopologyError, built, name, neuronlink_direction="sideways") == (
        "neuronlink_direction 'sideways' is no reading of a link figure\n"
        "  cause: it is one-way or both-ways\n"
        "  try:   --reading neuronlink=one-way"
    )


@pytest.mark.parts
@pytest.mark.parametrize(
    ("choice", "per_device"), [("levels", 704e9), ("table", 2048 * 2**30), ("chip-page", 2.56e12)]
)
def test_the_three_figures_of_trn3(built: Build, choice: str, per_device: float) -> None:
    topology = built("trn3-gen2-ultraserver", trn3_links=choice)
    out = [link for link in topology.out[0] if link.cls in ("switch-1", "switch-2", "direct")]
    rates = [topology.bandwidth(link) for link in out]
    assert sum(rates) == pytest.approx(per_device)
    assert [rate / sum(rates) for rate in rates] == pytest.approx([256 / 704, 320 / 704, 128 / 704])
    (budget, _) = topology.budgets
    assert budget.figure.value == pytest.approx(per_device)
    assert {name: reading.value for name, reading in budget.readings.items()} == pytest.approx(
        {"levels": 704e9, "table": 2048 * 2**30, "chip-page": 2.56e12}
    )


@pytest.mark.parts
def test_gen1_adds_the_levels_that_end_at_its_one_switch(built: Build) -> None:
    topology = built("trn3-gen1-ultraserver")
    switch = topology.classes["switch"].bandwidth
    assert (switch.value, switch.formula) == (576e9, "256 GB/s + 320 GB/s")
    assert topology.classes["direct"].bandwidth.value == 128e9


@pytest.mark.parts
def test_an_unknown_figure_of_trn3_is_refused(built: Build) -> None:
    assert text_of(TopologyError, built, "trn3-gen1-ultraserver", trn3_links="brochure") == (
        "trn3_links 'brochure' is none of the documented link figures\n"
        "  cause: they are levels, table and chip-page\n"
        "  try:   --reading trn3-links=levels"
    )


def test_the_documented_latency_covers_the_whole_way_over_efa(built: Build) -> None:
    topology = built("trn2-16.48xlarge")
    adapter, efa = topology.classes["adapter"].latency, topology.classes["efa"].latency
    assert 2 * (adapter.value + efa.value) == pytest.approx(15e-6)


@pytest.fixture
def build_book() -> Callable[..., FactBook]:
    def build(*facts: Fact) -> FactBook:
        return FactBook(facts=facts)

    return build
