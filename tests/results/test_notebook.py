"""A run in a notebook: one line as text, cases with bars, bands and evidence as HTML, and as a data frame."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import msgspec
import pytest
import tiny_machine as tiny
from stored_run import make_run, text_of

import trnbench
from trnbench import Run
from trnbench.digest import short_digest
from trnbench.errors import QUOTED_LENGTH, UsageError, brief, counted, listed
from trnbench.results import notebook
from trnbench.results.statistics import Interval
from trnbench.run.plan import plan

NASTY = '<script>alert("x")</script>\x1b[2J\u202e&amp;\x00'


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run(id="20260101-120000-abcd")


class Page(HTMLParser):
    """What a browser would make of it: elements, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_records_are_told_in_one_line(run: Run) -> None:
    counts = "1 ok, 1 document-low, 1 suspect, 1 failed, 1 skipped"
    assert repr(run) == f"<Run 20260101-120000-abcd: 5 cases emulated on tiny.2; {counts}>"
    assert repr(run.measurements[0]) == (
        "<Measurement tiny.2::act[dtype=bf16,mode=half]@core: ok, 95 GFLOPS, 50.0 % of its peak, emulated>"
    )
    assert repr(run.measurements[-1]).endswith("mode=unsupported]@core: skipped, documented>")
    registry = tiny.registry("half", "unsupported")
    assert repr(plan(registry)) == "<Plan of everything: 2 cases on tiny.2, 0 skipped>"
    assert repr(registry.system("tiny.2")) == "<System tiny.2 of tiny: 2 devices, 4 cores, 1 host>"
    assert repr(run.systems["tiny.2"]) == "<SystemRecord tiny.2 of tiny: 2 devices>"
    assert repr(next(iter(run.books.values()))).startswith("<FactBook of ")
    assert repr(next(iter(run.topologies.values()))).startswith("<Topology tiny.2: ")


@pytest.mark.parts
def test_of_a_whole_run_none_is_long(headline_run: Run) -> None:
    records = (
        headline_run,
        headline_run.fidelity,
        *headline_run.measurements,
        *headline_run.books.values(),
        *headline_run.topologies.values(),
        *headline_run.systems.values(),
    )
    assert max(len(repr(each)) for each in records) <= QUOTED_LENGTH + 20
    assert "7 systems" in repr(headline_run)


def test_a_line_hides_nothing_and_ends(run: Run) -> None:
    assert brief(run, NASTY) == '<Run <script>alert("x")</script>\\x1b[2J\\u202e&amp;\\x00>'
    assert len(brief(run, "x" * 9999)) < QUOTED_LENGTH + 20
    assert (counted(1, "case"), counted(1904, "case")) == ("1 case", "1,904 cases")
    assert (listed("abc", "letter"), listed("abcd", "letter")) == ("a, b, c", "4 letters")


def test_a_notebook_sees_cases_with_bars_and_evidence(run: Run) -> None:
    page = Page(run._repr_html_())
    text = " ".join(page.text.split())
    assert text.startswith("20260101-120000-abcd · emulated by emulated · ")
    assert "tiny.2::act[dtype=bf16,mode=half]@core ok 95 GFLOPS 50.0 % emulated, none" in text
    assert "Emulated: computed by a model, not run on the device." in text
    assert text.index("mode=above") < text.index("mode=half")  # what is wrong comes first
    assert "mode=unsupported" not in text
    assert page.tags.count("td") == 4 * 6 + 2  # and two sentences that say what is wrong
    widths = re.findall(r"width:([\d.]+)%", run._repr_html_())
    assert widths
    assert all(0 <= float(each) <= 100 for each in widths)


@pytest.mark.parts
def test_bands_are_drawn_where_there_are_some(headline_run: Run) -> None:
    shown = headline_run._repr_html_()
    assert "rgba(240,150,30" in shown
    assert "Orange: where to expect it." in shown
    assert " to " in Page(shown).text
    assert len(shown) < 30_000
    more = (
        sum(each.status is not trnbench.Status.SKIPPED for each in headline_run.measurements) - notebook.ROWS
    )
    assert f"{more:,} cases more: run.measurements has them all" in shown


def test_a_measured_band_lies_between_its_processes(run: Run) -> None:
    first = run.measurements[0]
    evidence = trnbench.Evidence(grade=trnbench.Grade.MEASURED, by="tiny")
    interval = Interval(low=first.time_s * 0.8, high=first.time_s * 2, confidence=0.95)
    measured = msgspec.structs.replace(first, evidence=evidence, interval=interval)
    shown = msgspec.structs.replace(
        run, measurements=(measured,), grade=trnbench.Grade.MEASURED
    )._repr_html_()
    assert "left:25.0%;width:37.5%" in shown
    assert "Measured: on the device that each case names." in shown


def test_nothing_of_it_changes_unseen(run: Run) -> None:
    """Cases of each status and a band; the digest is of all that is shown, the place of an error aside."""
    interval = Interval(low=0.8 * run.measurements[0].time_s, high=1.0, confidence=0.95)
    banded = msgspec.structs.replace(run.measurements[0], interval=interval)
    made = msgspec.structs.replace(run, created="2026-01-01", measurements=(*run.measurements, banded))
    assert short_digest(re.sub(r"py:\d+", "py", made._repr_html_())) == "6b0221121da12664"


def test_it_is_one_piece_that_suits_light_and_dark(run: Run) -> None:
    page = Page(run._repr_html_())
    assert page.open == []
    assert not {"script", "style", "link", "img", "iframe", "svg"} & set(page.tags)
    assert not {name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href", "id")}
    styles = " ".join(value or "" for name, value in page.attributes if name == "style")
    colours = re.findall(r"(?<![-\w])(?:color|background):([^;\s]+)", styles)
    assert colours
    assert all(each in ("none", "inherit", "currentColor") or "rgba" in each for each in colours)


def test_what_a_run_says_stays_text(run: Run) -> None:
    key = msgspec.structs.replace(
        run.measurements[0].case, kernel=NASTY, instance=NASTY, point={NASTY: NASTY}
    )
    evil = msgspec.structs.replace(
        run.measurements[0], case=key, status=trnbench.Status.SUSPECT, reason_text=NASTY * 99, primary=NASTY
    )
    hostile = msgspec.structs.replace(run, id=NASTY, backend=NASTY, created=NASTY, measurements=(evil,))
    shown = hostile._repr_html_()
    page = Page(shown)
    assert "script" not in page.tags
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", shown)
    assert "\\x1b[2J" in page.text
    assert len(shown) < 6_000
    assert "\n" not in repr(hostile)
    assert "\x1b" not in repr(hostile)


def test_an_empty_run_and_an_interrupted_one_say_so(run: Run) -> None:
    empty = msgspec.structs.replace(run, measurements=(), interrupted=True, missing=2, backend="")
    text = " ".join(Page(empty._repr_html_()).text.split())
    assert "emulated by nobody named" in text
    assert "no case · interrupted, 2 cases are missing" in text
    assert repr(empty).endswith("0 cases emulated on tiny.2; none done>")


def test_a_data_frame_has_the_columns_of_the_arrow_table(run: Run) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert list(frame.columns) == run.to_arrow().column_names
    assert frame["value"].dtype == float
    assert frame.query("primary and status == 'ok'")["value"].tolist() == [95e9]


def test_pandas_that_is_missing_is_named_with_what_installs_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setitem(sys.modules, "pandas", None)
    lines = text_of(UsageError, run.to_pandas).splitlines()
    assert lines[0] == "a run as a data frame needs pandas, which is not installed"
    assert lines[2].split(maxsplit=1)[1] == "pip install 'trnbench[pandas]'"
