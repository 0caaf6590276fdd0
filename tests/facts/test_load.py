"""The loader: what a good file becomes, and the exact text for each way a file can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fact_rows import FLOPS, group
from stored_run import text_of

from trnbench.errors import FactError
from trnbench.facts.fact import Direction, Provenance, Scope
from trnbench.facts.load import load_book, load_costs
from trnbench.facts.metric import METRICS

Write = Callable[..., Path]


def test_rows_take_what_their_group_shares_and_append_the_locator(write: Write) -> None:
    book = load_book(
        [
            write(
                group(
                    f'{FLOPS}, locator = "column FP16", superseded_by = "table"',
                    'metric = "device_count", printed = "16", source = "table", locator = "row", note = "n"',
                    'metric = "neuronlink_bandwidth", printed = "3", unit = "GiB/s/device", scope = "device"',
                    'metric = "efa_bandwidth", printed = "up to 25", unit = "Gbps", direction = "one-way"',
                    'metric = "topology_name", printed = "2D Torus", provenance = "figure"',
                )
            )
        ]
    )
    flops, count, link, efa, name = book.facts
    assert (flops.value, flops.printed, flops.printed_unit) == (3.36e15, "3,360", "TFLOPS")
    assert flops.locator == "specification table, column FP16"
    assert flops.id == "box/peak_flops[fp16,bf16]@page"
    assert flops.superseded_by == "table"
    assert (count.value, count.source, count.note) == (16.0, "table", "n")
    assert (link.scope, link.direction) == (Scope.DEVICE, Direction.UNSTATED)
    assert (efa.value, efa.limit, efa.direction) == (3.125e9, "up-to", Direction.ONE_WAY)
    assert (name.value, name.printed, name.provenance) == (None, "2D Torus", Provenance.FIGURE)
    assert book.sources["table"].seed
    assert book.sources["page"].date == "2026-01-02"


def test_assumptions_keep_their_range_in_base_units(write: Write) -> None:
    body = """
[[assumptions]]
id = "hop"
subject = "box"
metric = "latency"
printed = "1.5"
unit = "us"
low = "1"
high = "2"
reason = "no document says"
"""
    hop = load_book([write(body)]).assumptions["hop"]
    assert (hop.value, hop.low, hop.high, hop.printed_unit) == (1.5e-6, 1e-6, 2e-6, "us")


def test_a_place_within_a_document_keeps_two_figures_apart(write: Write) -> None:
    capacity = 'metric = "hbm_capacity", printed = "{}", unit = "{}"'
    book = load_book(
        [write(group(capacity.format("20,736", "GiB"), capacity.format("20", "TB") + ', part = "prose"'))]
    )
    assert [fact.id for fact in book.facts] == ["box/hbm_capacity@page", "box/hbm_capacity@page#prose"]


def test_several_files_share_their_sources(write: Write) -> None:
    first = write(group(FLOPS), "a.toml")
    second = write(group('metric = "device_count", printed = "16"'), "b.toml", head="schema = 1\n")
    assert len(load_book([first, second]).facts) == 2


def test_a_file_of_ones_own_comes_first_and_replaces(write: Write) -> None:
    shipped = write(group(FLOPS, 'metric = "device_count", printed = "16"'), "shipped.toml")
    own = write(
        group('metric = "device_count", printed = "4"')
        + group('metric = "vcpu_count", printed = "8"', source="mine"),
        "own.toml",
        head='schema = 1\noverride = true\n[sources.mine]\ndocument = "My machine"\n',
    )
    book = load_book([shipped, own])
    assert [fact.metric for fact in book.facts] == ["device_count", "vcpu_count", "peak_flops"]
    assert book.value("box", "device_count") == 4.0


def test_one_source_id_is_one_document(write: Write) -> None:
    first = write("", "a.toml")
    second = write("", "b.toml", head='schema = 1\n[sources.page]\ndocument = "Another page"\n')
    assert (
        text_of(FactError, load_book, [first, second])
        == f"{second}: [sources.page]: this id names another source in another file"
    )


def test_costs_are_given_as_they_stand(write: Write) -> None:
    path = write("[nc_matmul]\ncycles = 64\nfactors = [1, 4]\n", "costs.toml", head="schema = 1\n")
    assert load_costs(path)["nc_matmul"] == {"cycles": 64, "factors": [1, 4]}


def test_every_metric_knows_its_unit_and_says_what_it_is() -> None:
    for name, kind in METRICS.items():
        assert kind.name == name
        assert kind.about
        assert kind.better in ("higher", "lower")
        assert bool(kind.unit) == (kind.dimension != "text")
