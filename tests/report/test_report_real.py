"""The page of a run that trnbench made itself, and the steps of one product in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from whole_page import BUILT_IN

import trnbench
from trnbench import Run
from trnbench_reports import page, view
from trnbench_reports.losses import NAMES, rungs
from trnbench_reports.sections import losses
from trnbench_reports.sections.documents import disagreements

pytestmark = pytest.mark.parts


@pytest.fixture
def real(headline_run: Run) -> Run:
    return headline_run


def test_every_section_is_whole(real: Run) -> None:
    text = page.render([real], BUILT_IN).decode()
    assert "could not be written" not in text
    assert re.findall(r'<section class="depth\d" id="(\w+)"', text) == [
        each.name for each in BUILT_IN if each.name not in ("workloads", "comparison")
    ]


def test_a_line_for_every_generation_and_fabric(real: Run) -> None:
    text = page.render([real], BUILT_IN).decode()
    said = trnbench.headline(real).said
    linked = [name for name, each in real.systems.items() if each.devices > 1]
    assert sorted(line.systems[0] for line, _ in said if line.question == "all-reduce") == sorted(linked)
    assert {line.generation for line, _ in said if line.question == "product"} == {"trn1", "trn2", "trn3"}
    for line, words in said:
        link = view.figure_by_id(0, line.sweep.case, view.SHARE).replace("&", "&amp;")
        share = words.share.replace(" ", "\u00a0")
        assert f'<a class=figure href="#{link}">{share}</a>' in text


def test_a_promise_is_shown_once_and_as_its_document_prints_it(real: Run) -> None:
    cards = re.findall(r"<article.*?<details", page.render([real], BUILT_IN).decode(), re.DOTALL)
    printed = (
        ("210 TFLOPS per instance", "820 GiB/sec per instance", "384 GiB/sec per device"),
        ("10 PFLOPS per instance", "46.4 TB/sec per instance", "1,024 GB/sec/device"),
        ("42,944 TFLOPS per ultraserver", "313.6 TB/sec per ultraserver", "2,048 GiB/sec/device"),
    )
    for card, figures in zip(cards, printed, strict=True):
        shown = re.findall(r"</svg> <a class=figure [^>]*>([^<]*)</a>", card)
        assert [shown.count(figure) for figure in figures] == [1, 1, 1]


def test_three_neuronlink_figures_of_trn3_stand_side_by_side(real: Run) -> None:
    found = dict(disagreements(real))["trn3"]
    link = next(each for each in found if each.id == "C20")
    assert len(link.sides) == 3
    assert [next(n for n in ("2,048", "2.56", "704") if n in side.value) for side in link.sides] == [
        "2,048",
        "2.56",
        "704",
    ]
    assert all(side.source for side in link.sides)


def test_every_dispute_of_the_facts_is_listed(real: Run) -> None:
    listed = {each.id for _, found in disagreements(real) for each in found}
    named = {dispute.id for book in real.books.values() for dispute in book.disputes}
    assert named
    assert named <= listed


def test_the_plugins_may_be_gone(real: Run, tmp_path: Path) -> None:
    stored = tmp_path / "run.json"
    stored.write_bytes(trnbench.dumps(real))
    code = (
        "import sys\n"
        "for name in ('trnbench_trn1', 'trnbench_trn2', 'trnbench_trn3', 'trnbench_emulator'):\n"
        "    sys.modules[name] = None\n"
        "import trnbench\n"
        "from trnbench_reports import page, trnbench_reports\n"
        "run = trnbench.loads(open(sys.argv[1], 'rb').read())\n"
        "sections = [s for s in trnbench_reports() if isinstance(s, trnbench.Section)]\n"
        "open(sys.argv[2], 'wb').write(page.render([run], sections))\n"
    )
    out = tmp_path / "out.html"
    subprocess.run([sys.executable, "-c", code, str(stored), str(out)], check=True, cwd=tmp_path)
    assert out.read_bytes() == page.render([real], BUILT_IN)


# The steps of one product in the report: what each reaches, and what the last one gains.


@pytest.fixture(scope="module")
def climbed() -> Run:
    return trnbench.bench(
        instances=["trn2-16.48xlarge"],
        kernels=["gemm_naive", "gemm_blocked", "gemm"],
        axes=["size=128,1024", "dtype=bf16,fp8"],
        scopes=["core"],
    )


def test_one_row_for_each_data_type_at_its_largest_size(climbed: Run) -> None:
    found = rungs(climbed)
    assert [(each.kernel, each.first.case.dtype, each.first.case.point["size"]) for each in found] == [
        ("gemm", "bf16", 1024),
        ("gemm", "fp8", 1024),
    ]
    for each in found:
        assert [case.case.kernel for case in each.cases if case] == ["gemm_naive", "gemm_blocked", "gemm"]
        times = [case.time_s for case in each.cases if case]
        assert times == sorted(times, reverse=True)  # every step is faster than the one before
        assert each.gain == pytest.approx(times[0] / times[-1])


def test_the_section_shows_the_shares_and_links_to_the_cases(climbed: Run) -> None:
    text = str(losses.render([climbed]))
    assert "What writing it well brings" in text
    table = text[text.index('aria-label="What writing it well brings"') :]
    assert [table.count(f'">{name}</th>') for name in NAMES.values()] == [1, 1, 1]
    for rung in rungs(climbed):
        for case in rung.cases:
            link = view.figure_of(0, case, view.SHARE).replace("&", "&amp;")
            assert f'<a class="figure" href="#{link}">' in table


@pytest.mark.parametrize("missing", ["gemm_naive", "gemm"])
def test_no_ladder_without_its_steps(climbed: Run, missing: str) -> None:
    kept: Any = tuple(each for each in climbed.measurements if each.case.kernel != missing)
    assert rungs(msgspec.structs.replace(climbed, measurements=kept)) == []
