"""The links of an emulated run: lines, loads, losses, scaling; what is assumed is not called documented."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import whole_page
from comparison import comparison
from headline_parts import changed, having
from page_visit import Visit

import trnbench
from trnbench import Measurement, Run
from trnbench.results.fidelity import Use
from trnbench_reports import page
from trnbench_reports.charts import links
from trnbench_reports.sections import fabric, fabric_links, fabric_model
from trnbench_reports.sections.fabric_links import Row

pytestmark = pytest.mark.parts
replace = msgspec.structs.replace
SYSTEMS = ("trn2-16.48xlarge", "u-trn2x64", "trn1-ultracluster:4")


@pytest.fixture(scope="module")
def real() -> Run:
    return trnbench.bench(("all_reduce", "all_to_all"), instances=SYSTEMS)


@pytest.fixture(scope="module")
def text(real: Run) -> str:
    return str(fabric.render([real]))


def case(run: Run, kernel: str, instance: str) -> Measurement:
    return fabric_model.sweeps(replace(run, systems={instance: run.systems[instance]}))[kernel][0][1][-1]


def test_a_run_stores_what_the_section_draws_in_little_room(real: Run) -> None:
    for each in real.measurements:
        if each.status in fabric_model.view.GOOD:
            assert {"waterfall_s", "hottest_links", "bound_s"} <= set(each.detail)
            assert len(msgspec.json.encode(each.detail)) < 6000


def test_stored_loads_are_those_of_the_links(real: Run) -> None:
    for instance in SYSTEMS[:2]:
        graph = real.topologies[instance]
        for kernel in ("all_reduce", "all_to_all"):
            stored = case(real, kernel, instance)
            loads = links.expanded(graph, stored.detail["link_load"])
            assert len(loads) == len(graph.links)
            name, _, share = stored.detail["hottest_links"][0]
            ends = name.split(" > ")
            by_name = {node.name: node.id for node in graph.nodes}
            if all(end in by_name for end in ends):
                at = next(
                    i
                    for i, link in enumerate(graph.links)
                    if (link.src, link.dst) == (by_name[ends[0]], by_name[ends[1]])
                )
                assert loads[at] == pytest.approx(share * 1000, abs=1)
                assert max(loads) == loads[at]


def test_the_waterfall_adds_up_to_the_time(real: Run) -> None:
    for each in real.measurements:
        if each.time_s and "waterfall_s" in each.detail:
            assert sum(each.detail["waterfall_s"].values()) == pytest.approx(each.time_s, rel=1e-6)


def test_every_part_is_there(text: str) -> None:
    charts = [f"algorithms-0-{system}-{kernel}" for system in range(3) for kernel in (0, 3)]
    for id in (*charts, "scaling-0-all_reduce", "scaling-0-all_to_all", "fabric-losses-0"):
        assert f'<figure class="figure" id="{id}">' in text
    pictures = text.split('<figure class="figure network">')[1:]
    assert ["graph" in each for each in pictures] == [False, True, True]
    assert "too many to draw" in pictures[0]
    assert all("The hottest links" in each for each in pictures)
    assert re.search(r"from \d+ to \d+ ranks", text)


def test_links_are_coloured_by_their_load(real: Run, text: str) -> None:
    graph = real.topologies["u-trn2x64"]
    loads = links.expanded(graph, case(real, "all_to_all", "u-trn2x64").detail["link_load"])
    drawn = str(links.picture(graph, loads, "label"))
    assert drawn.partition(">")[2] in text
    for index in range(1, len(links.BANDS)):
        expected = any(
            links.band(load) == index
            for link, load in zip(graph.links, loads, strict=True)
            if graph.classes[link.cls].kind in links.DRAWN
        )
        assert (f'<g class="h{index}"' in drawn) is expected, index
    slower = [load // 2 for load in loads]
    assert str(links.picture(graph, slower, "label")) != drawn


def test_bands_begin_where_the_legend_says() -> None:
    assert [links.band(load) for load in (0, 1, 249, 250, 499, 500, 749, 750, 949, 950, 1000)] == [
        *(0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
    ]


def test_what_has_no_band_is_marked_everywhere(text: str) -> None:
    assert "No published measurement stands near enough for a band: u-trn2x64" in text
    assert "u-trn2x64 (without a band)" in text
    assert "trn2-16.48xlarge (without a band)" not in text
    for system, mark in (("u-trn2x64", "Emulated, without a band"), ("trn2-16.48xlarge", "Emulated")):
        assert f"<strong>{mark}. all-reduce: " in text.split(f"<h4>{system}</h4>")[1].split("<h4>")[0]


def test_the_algorithm_taken_is_named(real: Run, text: str) -> None:
    ran = case(real, "all_reduce", "trn2-16.48xlarge").implementation
    name = ran.removeprefix("collective: ").partition(",")[0]
    assert f"{name} (taken)" in text


def test_algorithms_are_compared_on_the_ranks_of_the_case(real: Run, text: str) -> None:
    own = case(real, "all_reduce", "trn2-16.48xlarge").detail["by_algorithm"]
    assert (own["ranks"], own["per_device"]) == (64, 4)
    assert own["seconds"][own["taken"]] == pytest.approx(case(real, "all_reduce", "trn2-16.48xlarge").time_s)
    assert "64 ranks, 4 on each device; thick" in text
    many = case(real, "all_reduce", "u-trn2x64").detail["by_algorithm"]
    assert (many["ranks"], many["per_device"]) == (256, 4)
    assert "256 ranks, 4 on each device; thick" in text


def test_scaling_ends_with_all_ranks(real: Run) -> None:
    for instance, ranks in (("trn2-16.48xlarge", 64), ("u-trn2x64", 256), ("trn1-ultracluster:4", 128)):
        last = case(real, "all_reduce", instance)
        counts = [count for count, _ in last.detail["scaling"]]
        assert counts == sorted(counts)
        assert counts[-1] == ranks
    own = case(real, "all_reduce", "trn2-16.48xlarge")
    assert own.detail["scaling"][-1][1] == pytest.approx(own.metrics["busbw_bytes_per_s"].value, rel=1e-6)


def test_links_are_held_against_documents_and_published_points() -> None:
    made = trnbench.bench(("point_to_point", "host_to_device"), instances=["trn1.32xlarge"])
    copied = comparison(
        "copy", family="host-copy", unit="B/s", published=12e9, emulated=16e9, source="a colleague"
    )
    how = "permute of 1,024 B, 2 ranks of trn1.32xlarge, shift"
    sent = comparison(
        "sent", family="point-to-point", published=1e-5, emulated=2e-5, source="a colleague", how=how
    )
    elsewhere = replace(sent, id="elsewhere", generation="trn2")
    points = (copied, sent, elsewhere, replace(sent, id="unused", use=Use.NOT_USED))
    run = replace(made, fidelity=trnbench.Fidelity(by="model", points=points))
    ((system, grade, rows),) = fabric_links.tables(0, run, [run])
    assert (system, grade) == ("trn1.32xlarge", "emulated")
    pair = next(row for row in rows if row.link == "neuronlink")
    assert pair.about == "point_to_point, neighbour, 1\u00a0GiB"
    assert pair.emulated_share.endswith("of documented")
    assert pair.got == fabric_links.NONE
    published = [row for row in rows if row.got.endswith(" published")]
    assert {row.link for row in published} == {"host", "one rank to another"}
    assert len(published) == 2
    assert all(row.source == "a colleague" for row in published)
    shares = {row.link: row.got_share.replace("\u00a0", " ") for row in published}
    assert shares["one rank to another"] == "50.0 % of emulated"
    assert shares["host"].endswith("75.0 % of emulated")


def test_a_measured_run_on_the_page_is_what_was_got() -> None:
    run = trnbench.bench(("point_to_point",), instances=["trn1.32xlarge"])
    halves = changed(run, lambda each: _measured(each, 0.5))
    other = replace(halves, id="measured", grade=trnbench.Grade.MEASURED)
    ((_, _, rows),) = fabric_links.tables(0, run, [run, other])
    pair = next(row for row in rows if row.link == "neuronlink")
    assert pair.got.endswith(" measured")
    assert pair.got_share.endswith("50.0\u00a0% of emulated")
    assert pair.source == "a stopwatch 1"


def _measured(each: Measurement, share: float) -> Measurement:
    evidence = trnbench.Evidence(grade=trnbench.Grade.MEASURED, by="a stopwatch", version="1")
    metrics = {name: replace(m, value=m.value * share) for name, m in each.metrics.items()}
    return replace(each, evidence=evidence, metrics=metrics)


def test_it_needs_nothing_but_the_run(real: Run, text: str) -> None:
    again = trnbench.loads(trnbench.dumps(real))
    assert str(fabric.render([again])) == text


@pytest.mark.parametrize(
    "stored",
    [None, "words", [], [[1]], [["a", 3]], [[10**9, 3]], [[-5, 3]], [[True, 3]], [[1, 2.5]], {"a": 1}],
)
def test_loads_that_fit_no_topology_are_left_out(real: Run, stored: Any) -> None:
    assert links.expanded(real.topologies["u-trn2x64"], stored) is None


def test_what_makes_no_sense_draws_nothing_and_breaks_nothing(real: Run) -> None:
    detail = {"link_load": [["a", 3]], "scaling": 1, "by_algorithm": [2], "waterfall_s": "x"}
    text = str(fabric.render([changed(real, having(detail=detail))]))
    assert "Bus bandwidth counts" in text
    assert "figure network" not in re.findall(r'figure class="([^"]*)"', text)
    assert text.count("<figure") == 2


def test_old_runs_have_the_lines_alone(real: Run) -> None:
    text = str(fabric.render([changed(real, having(detail={}))]))
    assert text.count("<figure") == 2
    for heading in ("From two ranks to all", "Algorithms", "Losses", "Load on the links"):
        assert heading not in text


def test_hostile_names_stay_text(real: Run) -> None:
    evil = "</title><script>alert(1)</script>"
    graph = real.topologies["trn2-16.48xlarge"]
    nodes = (replace(graph.nodes[0], name=evil), *graph.nodes[1:])
    spoilt = replace(real, topologies={"trn2-16.48xlarge": replace(graph, nodes=nodes, name=evil)})
    assert "<script" not in str(fabric.render([spoilt]))


# Nothing that is assumed stands under "documented", and no share is taken of it.


ASSUMED = ("trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen1-ultraserver")


@pytest.fixture(scope="module")
def run() -> Run:
    return trnbench.bench(("point_to_point", "host_to_device"), instances=ASSUMED)


def rows(run: Run) -> list[tuple[str, Row]]:
    return [(system, row) for system, _, found in fabric_links.tables(0, run, [run]) for row in found]


def test_a_row_has_either_a_document_or_an_assumption(run: Run) -> None:
    found = rows(run)
    assert {system for system, row in found if row.figure.assumed} == set(ASSUMED)
    for system, row in found:
        cls = run.topologies[system].classes.get(row.link)
        if cls is None:
            continue
        rate, figure = cls.bandwidth.value, row.figure
        if cls.bandwidth.assumed:
            assert (figure.documented, figure.basis) == (0.0, "no document gives one")
            shown = trnbench.show(rate, "B/s").replace(" ", "\u00a0")
            assert figure.assumed.startswith(f"{shown}, plausible ")
            assert figure.why.startswith(f"{cls.bandwidth.origin}: ")
            assert "documented" not in row.emulated_share + row.got_share
        else:
            assert (figure.documented, figure.assumed, figure.why) == (rate, "", "")
            assert row.emulated_share.endswith("of documented")


def test_the_range_is_that_of_the_assumption(run: Run) -> None:
    for system, row in rows(run):
        if row.link != "host" or not row.anchor:
            continue
        book = run.books[run.systems[system].generation]
        (of,) = (each for name, each in book.assumptions.items() if name == row.figure.why.partition(":")[0])
        ends = re.findall(r"([\d.]+)\u00a0GB/s", row.figure.assumed)
        assert [float(each) for each in ends] == [of.value / 1e9, of.low / 1e9, of.high / 1e9]


def test_no_peak_of_a_case_is_an_assumption(run: Run) -> None:
    """Peaks are chosen from facts; a copy to a device is held against nothing."""
    for each in run.measurements:
        offered = [*([each.judgement.peaks] if each.judgement else []), *each.reference_peaks]
        facts = {fact.id for fact in run.books[each.case.generation].facts}
        for choice in offered:
            assert set(choice.chosen.facts) <= facts
        assert not (offered and each.case.kernel == "host_to_device")


OVER = """() => [...document.querySelectorAll('#fabric td')].filter((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  return text.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1;
}).map((cell) => cell.textContent)"""


@pytest.mark.browser
def test_what_is_assumed_stays_in_its_cell(browser: Any, run: Run, tmp_path: Path) -> None:
    collective = trnbench.bench(("all_reduce",), instances=ASSUMED[:1], axes=("size=1M",)).measurements
    path = tmp_path / "report.html"
    path.write_bytes(
        page.render([replace(run, measurements=(*run.measurements, *collective))], whole_page.BUILT_IN)
    )
    visit = Visit(browser, path)
    visit.page.click("#fabric .open-deep")
    visit.page.wait_for_selector("#fabric td", state="attached")
    visit.page.evaluate(
        "document.querySelectorAll('#fabric details').forEach((each) => { each.open = true; })"
    )
    for width in (720, 1440):
        visit.page.set_viewport_size({"width": width, "height": 900})
        assert "plausible" in visit.page.inner_text("#fabric")
        assert visit.page.evaluate(OVER) == []
    visit.close()


def test_the_page_has_a_column_for_what_is_assumed(run: Run) -> None:
    collective = trnbench.bench(("all_reduce",), instances=ASSUMED[:1], axes=("size=1M",)).measurements
    text = str(fabric.render([msgspec.structs.replace(run, measurements=(*run.measurements, *collective))]))
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", text.partition("link by link")[2])
    assert heads[:6] == ["System", "Link", "Documented", "Assumed", "Emulated", "Got"]
