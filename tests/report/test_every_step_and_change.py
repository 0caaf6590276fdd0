"""Rows of workloads and of comparisons: every figure worked out again from the stored JSON."""

from __future__ import annotations

import json
import math
import re
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import typed
from headline_parts import changed, near
from hostile_run import HOSTILE
from synthetic_run import make_run
from whole_page import plain

import trnbench
from trnbench import Measurement, Metric, Nearness, Run, Scope, Status
from trnbench_reports import numbers
from trnbench_reports.charts import stack
from trnbench_reports.sections import comparison, workloads

replace = msgspec.structs.replace
Raw = dict[str, Any]
PREFIXES = {"": 1.0, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SECONDS = re.compile(r"([\d.,]+)\xa0?([nµm]?)s\b")
ROUNDED = 0.00501  # of three digits


def told(*words: str) -> Any:
    """What a command prints with `--format json`."""
    done = typed(*words, "--format", "json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def raw_of(run: trnbench.Run) -> Raw:
    return json.loads(trnbench.dumps(run))


def text_of(markup: str) -> str:
    return re.sub(r"<[^>]+>", "", markup.replace("<small>", " ")).replace("&amp;", "&")


def seconds(text: str) -> list[float]:
    """The times in a text; "9.3–18 ms" has its unit behind the second."""
    text = re.sub(r"([\d.,]+)–([\d.,]+)(\xa0?[nµm]?s)\b", r"\1\3 \2\3", text)
    return [float(value.replace(",", "")) * PREFIXES[prefix] for value, prefix in SECONDS.findall(text)]


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Raw, trnbench.Run]:
    """What the command prints of a model's step on two systems, and the run that it stored."""
    store = tmp_path_factory.mktemp("steps") / "results.db"
    asked = "pythia-70m -i trn1.2xlarge -i trn1.32xlarge --task decode --tp 2 --batch 4 --kv 512"
    printed = told("--store", str(store), "workload", "run", *asked.split())
    exported = typed("--store", str(store), "export", "latest", "--as", "json")
    assert exported.exit_code == 0
    return printed, trnbench.loads(exported.stdout_bytes)


@pytest.mark.parts
def test_every_figure_of_a_step(steps: tuple[Raw, trnbench.Run]) -> None:
    printed, run = steps
    cases = {each["case"]["instance"]: each for each in raw_of(run)["measurements"]}
    rows = str(workloads.render([run])).split('<th scope="row">')[1:]
    assert len(rows) == len(cases) == 2
    for row in rows:
        name = re.search(r"</span>\s*([\w.-]+)", row)
        case = cases[name[1]]
        (answer,) = (each for each in printed["steps"] if each["system"] == name[1])
        _, _, expect, time, rate, bar, most = re.split(r"<td[^>]*>", row)
        took = case["time_s"]
        band = case["evidence"]["nearest"]["band"]
        ends = [took * math.exp(-band["high"]), took * math.exp(-band["low"])]
        parts = dict(case["detail"]["waterfall"])

        assert seconds(text_of(time)) == [pytest.approx(took, rel=ROUNDED)]
        assert seconds(text_of(expect)) == pytest.approx(ends, rel=ROUNDED)
        assert [answer["expected_low_s"], answer["expected_high_s"]] == pytest.approx(ends)
        tokens = float(re.sub(r"[^\d.]", "", text_of(rate).split("tokens")[0]))
        assert tokens == pytest.approx(4 / took, rel=ROUNDED)  # one of each sequence
        assert answer["tokens_per_s"] == pytest.approx(4 / took)
        assert answer["time_s"] == took

        assert math.fsum(parts.values()) == pytest.approx(took)
        assert {part: value for part, value in answer["parts"].items() if value} == pytest.approx(parts)
        shares = dict(re.findall(r"<title>([^<]+): ([\d.]+)\xa0%</title>", bar))
        assert {part: float(share) for part, share in shares.items()} == pytest.approx(
            {part: 100 * value / took for part, value in parts.items()}, abs=0.0501
        )
        largest = max(parts, key=parts.__getitem__)
        assert text_of(most).startswith(f"{largest} {shares[largest]}\xa0%")


@pytest.fixture(scope="module")
def pair() -> tuple[trnbench.Run, trnbench.Run]:
    """The later one takes longer for each of its products, by more from one to the next."""
    first = make_run(sizes=2, extra_kernels=0)
    factors = count(1100)
    later = changed(
        first,
        lambda each: replace(each, time_s=each.time_s * next(factors) / 1000),
        lambda each: each.time_s and each.case.kernel == "gemm",
    )
    return first, replace(later, id="later", created="2026-11-21T20:15:00Z")


def changes(pair: tuple[trnbench.Run, trnbench.Run]) -> dict[str, tuple[float, float]]:
    """By case the times of both runs, where they differ; the largest change first."""
    before, after = (
        {each.id: case for each, case in zip(run.measurements, raw_of(run)["measurements"], strict=True)}
        for run in pair
    )
    both = {id: (before[id]["time_s"], case["time_s"]) for id, case in after.items() if case["time_s"]}
    changed = {id: times for id, times in both.items() if times[0] != times[1]}
    return dict(sorted(changed.items(), key=lambda item: -abs(item[1][1] / item[1][0] - 1)))


def test_every_figure_of_a_comparison(pair: tuple[trnbench.Run, trnbench.Run], tmp_path: Path) -> None:
    wanted = changes(pair)
    files = [tmp_path / f"{name}.json" for name in "ab"]
    for file, run in zip(files, pair, strict=True):
        file.write_bytes(trnbench.dumps(run))
    printed = {each["id"]: each for each in told("compare", *map(str, files))["changes"] if each["effect"]}
    assert set(printed) == set(wanted)
    page = str(comparison.render(pair))
    rows = re.split('<tr(?: class="faint")?><th scope="row">', page)[1:]
    assert len(rows) == min(len(wanted), comparison.SHOWN)
    for row, (id, (before, after)) in zip(rows, wanted.items(), strict=False):
        _, _, _, first, second, _, change, *_ = re.split(r"<td[^>]*>", row)
        assert seconds(text_of(first)) == [pytest.approx(before, rel=ROUNDED)]
        assert seconds(text_of(second)) == [pytest.approx(after, rel=ROUNDED)]
        percent = re.search(r"([+−][\d.]+)\xa0?\s?%", text_of(change))
        assert float(percent[1].replace("−", "-")) == pytest.approx(100 * (after / before - 1), abs=0.0501)
        assert printed[id]["effect"] == pytest.approx(after / before - 1)
        assert (printed[id]["before"], printed[id]["after"]) == (before, after)
    slower = sum(after > before for before, after in wanted.values())
    assert f"{slower:,} slower" in text_of(page)


def test_every_figure_of_what_changed_since(pair: tuple[trnbench.Run, trnbench.Run]) -> None:
    wanted = changes(pair)
    text = text_of(str(comparison.since(*pair, 1)))
    lines = [line for line in text.splitlines() if " before, " in line]
    assert len(lines) == comparison.LARGEST
    for line, (id, (before, after)) in zip(lines, wanted.items(), strict=False):
        assert line.startswith(f"{id}: +{100 * (after / before - 1):.1f}")
        assert seconds(line.partition(":")[2].partition("(exact)")[2]) == pytest.approx(
            [before, after], rel=ROUNDED
        )
    assert f"{len(wanted) - comparison.LARGEST} further changes" in text


# The first screen's rows of workloads: time with band, rate, parts and limit of each system.


PARTS = (("matrix work", 0.2), ("collectives", 0.5), ("host", 0.3))


def step(like: Measurement, name: str = "llama-decode", time_s: float = 0.02) -> Measurement:
    tokens = Metric(name="tokens_per_s", value=800.0, unit="token/s", better="higher", scope=Scope.INSTANCE)
    return replace(
        like,
        case=replace(like.case, kernel=name, family="workload", point={"batch": 16}),
        time_s=time_s,
        metrics={**like.metrics, "tokens_per_s": tokens},
        evidence=replace(like.evidence, nearest=near(Nearness.KERNEL)),
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
    assert f"{quick.case.instance} {low}–{high} ms kernel 20 ms E 800 token/s {told}" in text
    assert text.index(quick.case.instance) < text.index(stored.measurements[0].case.instance)


def test_the_bar_is_the_whole_time(stored: Run) -> None:
    widths = re.findall(r'width="([\d.]+)%"', str(stack.bar(workloads.shares(stored.measurements[0]))))
    assert sum(map(float, widths[1:])) == pytest.approx(100.0, abs=0.05)


def test_what_does_not_fit_says_so(stored: Run) -> None:
    assert "skipped: it does not fit: 90 GiB of 32" in plain(workloads.render([stored]))


def test_without_a_band_it_is_grey_and_not_bold(stored: Run) -> None:
    case = stored.measurements[0]
    bare = replace(case, evidence=replace(case.evidence, nearest=near(Nearness.NONE)))
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
