"""Section 7 of the page, and what the headline says of the model's error."""

from __future__ import annotations

import re

import msgspec
import pytest
from comparison import comparison
from headline_parts import own_product
from parts import part

import trnbench
from trnbench import Fidelity, Run
from trnbench.results.fidelity import Moved, Mover, PublicKernels, Step, Use
from trnbench_reports import numbers
from trnbench_reports.sections import headline

FAMILIES = part("trnbench_fidelity.point").FAMILIES
statistics = part("trnbench_fidelity.statistics")
row_of, rows_of = statistics.row_of, statistics.rows_of
fidelity = part("trnbench_reports.sections.fidelity")

POINTS = (
    comparison("a", 0.1, source="<b>a source</b>"),
    comparison("b", -0.5, honesty="fitted", e_cross=-0.7),
    comparison("c", 0.223, family="collective", unit="B/s", published=1e9, emulated=0.8e9),
    comparison("d", 2.0, use=Use.SAME_OPERATION),
    comparison("e", 0.7, use=Use.CONTRADICTED, span=(1.0, 1.5), generation="trn2"),
    comparison("f", 1.0, use=Use.BOUND),
    comparison("g", -1.0, use=Use.BOUND),
    comparison("h", use=Use.NO_KERNEL),
)
KERNELS = [comparison(f"k{number}", 0.1 * number, family="kernel") for number in range(1, 7)]
FIDELITY = Fidelity(
    by="model <i>x</i>",
    version="3",
    families=rows_of(FAMILIES, POINTS),
    points=tuple(each for each in POINTS if each.emulated is not None),
    public=(
        PublicKernels(
            generation="trn1<b>",
            by="model",
            version="2",
            day="2026-01-02",
            row=row_of("public", "Public kernels", "trn1<b>", KERNELS),
        ),
    ),
    steps=(
        Step(sequence="s", generation="g", source="x", start="v1", end="v2", published=-0.5, model=0.1),
        Step(sequence="s", generation="g", source="x", start="v2", end="v3", published=-0.5),
    ),
    moved=(
        Moved(
            generation="trn1",
            family="hbm",
            title="HBM streams",
            version="2",
            movers=(Mover(id="a", then=0.5, now=0.1),),
        ),
    ),
    notes=("a note",),
)


@pytest.fixture
def known(run: Run) -> Run:
    return msgspec.structs.replace(run, fidelity=FIDELITY)


def page(run: Run) -> str:
    return str(fidelity.render([run])).replace("\u00a0", " ")


def test_a_run_without_it_has_no_section(run: Run) -> None:
    assert fidelity.render([run]) == ""


def test_families_have_a_row_per_generation_worst_first() -> None:
    drawn = fidelity.told(FIDELITY)
    assert [row[:2] for row in drawn.families.rows] == [
        ("HBM streams", "trn1"),
        ("HBM streams", "trn2"),
        ("Collectives inside an instance", "trn1"),
        ("Public kernels", "trn1<b>"),
    ]
    row = dict(
        zip(
            drawn.families.heads,
            (cell.replace("\u00a0", " ") for cell in drawn.families.rows[0]),
            strict=True,
        )
    )
    assert row == {
        "family": "HBM streams",
        "generation": "trn1",
        "kernels, points": "2, 2",
        "median": "35 %",
        "p90": "–",
        "p90 by rows": "–",
        "bias": "−18 %",
        "fitted": "1, 1: 65 %",
        "cross-validated": "1, 1: 101 %",
        "shaped": "–",
        "untouched": "1, 1: 11 %",
        "bounds": "broken 1 of 2, worst ×2.7",
        "worst": "65 % (b)",
        "worst, raw": "–",
    }
    assert re.fullmatch(r"42 % \(\d+ to \d+ %\)", drawn.families.rows[3][3].replace("\u00a0", " "))
    assert drawn.listed[0] == "HBM streams, trn1: a +11 %, b −39 %"


def test_broken_inequalities_and_coverage_stand_above(known: Run) -> None:
    text = page(known)
    order = [
        "Broken: 1 of 2 published inequalities, the worst ×2.7 (f).",
        "Broken inequalities",
        "Counts 6 of 7 published points (86 %): 4 measured and 2 bounds. Not counted: 1 have no kernel",
        ">kernels, points<",
    ]
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_counted_points_are_drawn_and_each_unit_has_its_axes(known: Run) -> None:
    text = page(known)
    titles = re.findall(r"<figcaption><strong>(.*?)</strong>", text)
    assert titles == [
        "3 points of times: 1 within a factor of 1.25 of the published value",
        "1 point of data rates: 1 within a factor of 1.25 of the published value",
    ]
    assert "untouched, contradicted" in text
    assert "a note" in text


def test_contradicted_points_show_the_interval_that_counts(known: Run) -> None:
    (row,) = fidelity.disputed(FIDELITY).rows
    assert [cell.replace("\u00a0", " ") for cell in row[:4]] == ["e", "1 s", "1 s to 1.5 s", "2.01 s"]
    assert "Points that sources contradict, counted against the interval they span <small>(1)" in page(known)


def test_a_long_source_is_never_cut(known: Run) -> None:
    """Cells that are no prose stand on one line, and end in an ellipsis where there is no room."""
    source = "github:someone/kernels@0123456789abcdef0123456789abcdef01234567 bench/results.csv"
    far = comparison("far", 0.1, source=source)
    text = page(msgspec.structs.replace(known, fidelity=msgspec.structs.replace(FIDELITY, points=(far,))))
    assert f'<td class="prose">{source}' in text


def test_sequences_and_what_moved(known: Run) -> None:
    text = page(known)
    assert (
        "Order of versions of one kernel: order kept in 0 of 1 pairs, in 0 of 1 that are a factor of 1.2 and "
        "more apart; a step&#39;s gain off by 82 % in the median; 1 not" in text
    )
    assert ">turned round<" in text
    assert "errors by version 2 of the model, and now." in text
    assert "a +65 % → +11 %" in text
    still = msgspec.structs.replace(FIDELITY, moved=(msgspec.structs.replace(FIDELITY.moved[0], movers=()),))
    assert "untouched when their list was frozen" not in page(msgspec.structs.replace(known, fidelity=still))


def test_a_run_of_before_shows_its_points_and_says_why_no_more(known: Run) -> None:
    old = msgspec.structs.replace(FIDELITY, families=(), public=(), steps=(), moved=())
    text = page(msgspec.structs.replace(known, fidelity=old))
    assert "None of its published points could be counted." in text
    assert "points of times" in text
    assert "Counts " not in text


def test_nothing_in_the_data_is_markup(known: Run) -> None:
    text = page(known)
    assert "<b>a source" not in text
    assert "trn1<b>" not in text
    assert "<i>x" not in text
    assert "model &lt;i&gt;x&lt;/i&gt;" in text


def test_the_headline_tells_what_the_model_makes_of_published_products(known: Run) -> None:
    product = own_product(e=-0.25, model=9e13, id="<b>p", source="<i>s")
    told = "Our product against published: −22 % of the time at 1 shape."
    assert told not in str(headline.render([known]))
    made = msgspec.structs.replace(known, fidelity=msgspec.structs.replace(FIDELITY, products=(product,)))
    text = str(headline.render([made])).replace("\u00a0", " ")
    mine = [each for each in trnbench.headline(made).lines if each.own]
    assert {each.generation for each in mine} == {"trn1"}
    assert text.count(told) == len(mine) > 0


def test_without_public_kernels_nothing_is_said_of_them(known: Run) -> None:
    alone = msgspec.structs.replace(known, fidelity=msgspec.structs.replace(FIDELITY, public=()))
    assert "Public kernels" in str(headline.render([known])) + page(known)
    assert "Public kernels" not in str(headline.render([alone])) + page(alone)


def test_public_kernels_say_which_model_and_when() -> None:
    assert fidelity.public(FIDELITY) == ["Public kernels: run on 2026-01-02 by model 2."]


def test_errors_in_words() -> None:
    assert numbers.error(None) == "–"
    assert numbers.error(-0.1) == "−9.5\u00a0%"
