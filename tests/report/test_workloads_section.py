"""The first screen's rows of workloads: time with band, rate, parts and limit of each system."""

from __future__ import annotations

import re

import msgspec
import pytest
from hostile_run import HOSTILE
from synthetic_run import make_run

from trnbench import Band, Measurement, Metric, Nearest, Nearness, Run, Scope, Status
from trnbench_reports import numbers
from trnbench_reports.sections import workloads

replace = msgspec.structs.replace
PARTS = (("matrix work", 0.2), ("collectives", 0.5), ("host", 0.3))


def plain(markup: str) -> str:
    text = re.sub(r"<[^>]+>", " ", markup).replace(numbers.NBSP, " ").replace("&amp;", "&")
    return " ".join(text.split())


def step(like: Measurement, name: str = "llama-decode", time_s: float = 0.02) -> Measurement:
    tokens = Metric(name="tokens_per_s", value=800.0, unit="token/s", better="higher", scope=Scope.INSTANCE)
    band = Band(low=-0.1, high=0.2, votes=9, points=9)
    return replace(
        like,
        case=replace(like.case, kernel=name, family="workload", point={"batch": 16}),
        time_s=time_s,
        metrics={**like.metrics, "tokens_per_s": tokens},
        evidence=replace(like.evidence, nearest=Nearest(kind=Nearness.KERNEL, band=band)),
        detail={"waterfall": [[part, share * time_s] for part, share in PARTS]},
    )


@pytest.fixture(scope="module")
def stored() -> Run:
    run = make_run(sizes=1, extra_kernels=0)
    likes = [
        e
        for e in run.measurements
        if e.case.kernel == "softmax" and e.case.scope is Scope.INSTANCE and e.time_s
    ]
    fits = [step(e, time_s=0.02 * (place + 1)) for place, e in enumerate(likes[:2])]
    large = replace(
        step(likes[2]), status=Status.SKIPPED, time_s=None, reason_text="it does not fit: 90 GiB of 32"
    )
    return replace(run, measurements=(*reversed(fits), large))


def test_a_row_says_time_band_rate_and_what_takes_most(stored: Run) -> None:
    text = plain(workloads.render([stored]))
    quick = stored.measurements[1]
    low, high = (
        numbers.show(0.02 * factor, "s").split(numbers.NBSP)[0] for factor in (0.8187307531, 1.105170918)
    )
    told = "collectives: 50.0 % host: 30.0 % matrix work: 20.0 % collectives 50.0 %"
    assert f"{quick.case.instance} {low}–{high} ms kernel 20 ms E 800 tokens/s {told}" in text
    assert text.index(quick.case.instance) < text.index(stored.measurements[0].case.instance)


def test_the_bar_is_the_whole_time(stored: Run) -> None:
    widths = re.findall(r'width="([\d.]+)%"', str(workloads.row(0, stored, stored.measurements[0]).bar))
    assert sum(map(float, widths[1:])) == pytest.approx(100.0, abs=0.05)


def test_what_does_not_fit_says_so(stored: Run) -> None:
    assert "skipped: it does not fit: 90 GiB of 32" in plain(workloads.render([stored]))


def test_without_a_band_it_is_grey_and_not_bold(stored: Run) -> None:
    case = stored.measurements[0]
    bare = replace(case, evidence=replace(case.evidence, nearest=Nearest(kind=Nearness.NONE)))
    text = str(workloads.render([replace(stored, measurements=(bare,))]))
    assert '<tr class="faint"' in text
    assert "<b>" not in text
    assert "no band" in plain(text)


def test_nothing_of_a_run_of_kernels() -> None:
    assert workloads.render([make_run(sizes=1, extra_kernels=0)]) == ""


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_names_stay_words(stored: Run, bad: str) -> None:
    case = step(stored.measurements[0], bad)
    time = case.time_s or 1.0
    mean = replace(case, detail={"waterfall": [[bad, time / 2], [bad, time / 2]]})
    text = str(workloads.render([replace(stored, measurements=(mean,))]))
    assert "<script" not in text
    assert not re.search(r"<[^>]*\son\w+=", text)
