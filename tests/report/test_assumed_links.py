"""Nothing that is assumed stands under "documented", and no share is taken of it."""

from __future__ import annotations

import re

import pytest

import trnbench
from trnbench import Run
from trnbench_reports.sections import fabric, fabric_links
from trnbench_reports.sections.fabric_links import Row

pytestmark = pytest.mark.parts

SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen1-ultraserver")


@pytest.fixture(scope="module")
def run() -> Run:
    return trnbench.bench(("point_to_point", "host_to_device"), instances=SYSTEMS)


def rows(run: Run) -> list[tuple[str, Row]]:
    return [(system, row) for system, _, found in fabric_links.tables(0, run, [run]) for row in found]


def test_a_row_has_either_a_document_or_an_assumption(run: Run) -> None:
    found = rows(run)
    assert {system for system, row in found if row.assumed} == set(SYSTEMS)
    for system, row in found:
        cls = run.topologies[system].classes.get(row.link)
        if cls is None:
            continue
        rate = trnbench.show(cls.bandwidth.value, "B/s").replace(" ", "\u00a0")
        if cls.bandwidth.assumed:
            assert (row.documented, row.basis) == ("–", "no document gives one")
            assert row.assumed.startswith(f"{rate}, plausible ")
            assert row.why.startswith(f"{cls.bandwidth.origin}: ")
            assert "documented" not in row.emulated_share + row.got_share
        else:
            assert (row.documented, row.assumed, row.why) == (rate, "", "")
            assert row.emulated_share.endswith("of documented")


def test_the_range_is_that_of_the_assumption(run: Run) -> None:
    for system, row in rows(run):
        if row.link != "host" or not row.anchor:
            continue
        book = run.books[run.systems[system].generation]
        (of,) = (each for name, each in book.assumptions.items() if name == row.why.partition(":")[0])
        ends = re.findall(r"([\d.]+)\u00a0GB/s", row.assumed)
        assert [float(each) for each in ends] == [of.value / 1e9, of.low / 1e9, of.high / 1e9]


def test_no_peak_of_a_case_is_an_assumption(run: Run) -> None:
    """Peaks are chosen from facts; a copy to a device is held against nothing."""
    for each in run.measurements:
        offered = [*([each.judgement.peaks] if each.judgement else []), *each.reference_peaks]
        facts = {fact.id for fact in run.books[each.case.generation].facts}
        for choice in offered:
            assert set(choice.chosen.facts) <= facts
        assert not (offered and each.case.kernel == "host_to_device")


def test_the_page_has_a_column_for_what_is_assumed(run: Run) -> None:
    collective = trnbench.bench(("all_reduce",), instances=SYSTEMS[:1], axes=("size=1M",)).measurements
    import msgspec

    text = str(fabric.render([msgspec.structs.replace(run, measurements=(*run.measurements, *collective))]))
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", text.partition("link by link")[2])
    assert heads[:6] == ["System", "Link", "Documented", "Assumed", "Emulated", "Got"]
