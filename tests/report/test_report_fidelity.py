"""Section 7 of the page, and what the headline says of the model's error."""

from __future__ import annotations

import re

import msgspec
import pytest

from trnbench import Comparison, FamilyFidelity, Fidelity, Run
from trnbench.results.fidelity import Errors, PublicKernels, Use
from trnbench_reports.charts.agreement import error_text
from trnbench_reports.sections import fidelity, headline


def comparison(id: str, use: Use, published: float, emulated: float, unit: str = "s") -> Comparison:
    return Comparison(
        id=id,
        family="hbm",
        generation="trn1",
        use=use,
        quantity="latency_s",
        unit=unit,
        published=published,
        emulated=emulated,
        error=emulated / published - 1,
        slower=emulated / published - 1,
        source="<b>a source</b>",
    )


FIDELITY = Fidelity(
    by="model <i>x</i>",
    version="3",
    families=(
        FamilyFidelity(name="gemm", title="Matrix products", uses={"needs source": 9}),
        FamilyFidelity(
            name="hbm",
            title="HBM streams",
            in_sample=1,
            errors=Errors(count=3, median=0.012, p90=0.3, worst=0.4, worst_id="b", bias=-0.012),
            uses={"held out": 2, "in-sample": 1, "bound": 2, "contradicted": 1},
            bounds_held=1,
        ),
        FamilyFidelity(
            name="collective",
            title="Collectives",
            errors=Errors(count=1, median=0.5, p90=0.5, worst=0.5, worst_id="c", bias=0.5),
            cross_validated=Errors(count=1, median=0.6, p90=0.6, worst=0.6, worst_id="c", bias=0.6),
            uses={"held out": 1},
        ),
    ),
    points=(
        comparison("a", Use.HELD_OUT, 1e-6, 1.1e-6),
        comparison("b", Use.IN_SAMPLE, 1e-3, 0.6e-3),
        comparison("c", Use.HELD_OUT, 1e9, 1.2e9, "B/s"),
        comparison("d", Use.SAME_OPERATION, 1e-3, 9e-3),
        comparison("e", Use.CONTRADICTED, 1e-3, 2e-3),
    ),
    public=(
        PublicKernels(
            generation="trn1<b>",
            by="model",
            version="2",
            day="2026-01-02",
            errors=Errors(count=4, median=0.25, p90=0.5, worst=0.6, worst_id="k", bias=0.1),
            bounds=3,
            bounds_held=1,
            not_run=2,
        ),
        PublicKernels(generation="trn3", by="model", version="2", day="2026-01-02", not_run=5),
    ),
    notes=("a note",),
)


@pytest.fixture
def known(run: Run) -> Run:
    return msgspec.structs.replace(run, fidelity=FIDELITY)


def test_a_run_without_it_has_no_section(run: Run) -> None:
    assert fidelity.render([run]) == ""
    assert "is not stated" in headline.trust(run)


def test_families_are_worst_first_with_both_figures(known: Run) -> None:
    collective, hbm = fidelity.lines(FIDELITY)
    assert (collective.title, hbm.title) == ("Collectives", "HBM streams")
    nbsp = "\u00a0"
    assert hbm.cells == (f"1.2{nbsp}%", f"30.0{nbsp}%", f"40.0{nbsp}%", f"−1.2{nbsp}%")
    assert (hbm.points, hbm.in_sample, hbm.crossed) == (3, 1, ("–", "–"))
    assert collective.crossed == (f"60.0{nbsp}%", f"60.0{nbsp}%")
    assert hbm.apart == "1 contradicted, 1 of 2 bounds held"


def test_only_counted_points_are_drawn_and_each_unit_has_its_axes(known: Run) -> None:
    text = str(fidelity.render([known]))
    titles = re.findall(r"<figcaption><strong>(.*?)</strong>", text)
    assert titles == [
        "2 points of times: 1 within 25 % of the published value",
        "1 point of data rates: 1 within 25 % of the published value",
    ]
    assert "a note" in text


def test_contradicted_points_stand_apart_with_both_values(known: Run) -> None:
    assert [each[:3] for each in fidelity.disputed(FIDELITY)] == [("e", "1\u00a0ms", "2\u00a0ms")]
    assert "Points that other sources contradict, never counted <small>(1)</small>" in str(
        fidelity.render([known])
    )


def test_nothing_in_the_data_is_markup(known: Run) -> None:
    text = str(fidelity.render([known]))
    assert "<b>a source" not in text
    assert "<i>x" not in text
    assert "model &lt;i&gt;x&lt;/i&gt;" in text


def test_the_headline_quotes_the_error_of_the_families_it_names(known: Run) -> None:
    text = str(headline.render([known])).replace("\u00a0", " ")
    assert (
        "The model&#39;s error: on public kernels of trn1&lt;b&gt; 25.0 % median, 50.0 % at the 90th "
        "percentile; "
        "on published HBM streams 1.2 % median, 30.0 % at the 90th percentile; "
        "on published collectives 50.0 % median, 50.0 % at the 90th percentile."
    ) in text
    assert "HBM streams 1.2 %, 30.0 % (3 points); Collectives 50.0 %, 50.0 % (1 point); " in text
    assert "Public kernels of trn1&lt;b&gt; 25.0 %, 50.0 % (4 points)." in text


def test_without_public_kernels_the_error_of_products_is_unknown(known: Run) -> None:
    alone = msgspec.structs.replace(known, fidelity=msgspec.structs.replace(FIDELITY, public=()))
    text = str(headline.render([alone]))
    assert "The model&#39;s error: GEMMs: unknown without the published kernels; on published HBM" in text
    assert "Public kernels" not in text + str(fidelity.render([alone]))


def test_public_kernels_have_a_table_that_says_which_model_and_when(known: Run) -> None:
    (row,) = fidelity.public(FIDELITY)  # the generation without a point that counts has none
    assert (row.generation, row.points, row.bounds, row.not_run) == ("trn1<b>", 4, "1 of 3", 2)
    text = str(fidelity.render([known])).replace("\u00a0", " ")
    assert '<td class="n" title="k">60.0 %</td>' in text
    assert "<bdi>model 2</bdi></td><td>2026-01-02</td>" in text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (None, "–"),
        (0.0004, "0.0 %"),
        (-0.0004, "0.0 %"),
        (0.1234, "+12.3 %"),
        (-0.5, "−50.0 %"),
        (21.9, "+2,190 %"),
    ],
)
def test_errors_in_words(error: float | None, text: str) -> None:
    assert error_text(error).replace("\u00a0", " ") == text
