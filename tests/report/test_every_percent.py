"""Every per cent of the first two depths, worked out again from the stored JSON and the book of facts.

Nothing here calls what chose the peaks, judged the cases or made the words: rates are work over time, figures
are the facts' own values times counts of devices and cores.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from html import unescape
from operator import itemgetter
from typing import Any

import pytest

import trnbench
from trnbench_reports import board, numbers, opportunities
from trnbench_reports.charts import promise
from trnbench_reports.sections import generations, headline, links, scoreboard
from trnbench_reports.template import environment

pytestmark = pytest.mark.parts

COUNTS = {
    "flops_per_s": "flops",
    "hbm_bytes_per_s": "hbm_bytes",
    "busbw_bytes_per_s": "link_bytes",
    "network_bytes_per_s": "network_bytes",
}
PERCENT = re.compile(r"(<|[+−]?)([\d,]+(?:\.\d+)?)[ \u00a0]%")
Raw = dict[str, Any]


@pytest.fixture(scope="module", params=["one system", "all generations"])
def run(request: pytest.FixtureRequest) -> trnbench.Run:
    if request.param == "one system":
        return trnbench.bench(("gemm", "hbm_copy"), instances=("trn2-16.48xlarge",), dtypes=("bf16",))
    return request.getfixturevalue("headline_run")


@pytest.fixture(scope="module")
def raw(run: trnbench.Run) -> Raw:
    return json.loads(trnbench.dumps(run))


@pytest.fixture(scope="module")
def cases(raw: Raw) -> Raw:
    return {_id(each): each for each in raw["measurements"]}


def test_every_per_cent_of_the_headline(run: trnbench.Run, raw: Raw, cases: Raw) -> None:
    lines = trnbench.headline(run).said
    assert lines
    for line, said in lines:
        case = _best(raw, cases[line.sweep.case], line.systems[0])
        assert _id(case) == line.sweep.case
        wanted = list(_of_line(raw, case))
        shown = list(PERCENT.findall(said.text))
        assert len(shown) == len(wanted), said.text
        for text, value in zip(shown, wanted, strict=True):
            _check(text, value, said.text)


def test_every_per_cent_of_the_scoreboard(run: trnbench.Run, raw: Raw, cases: Raw) -> None:
    seen = 0
    for _, rows in board.groups(run):
        for row in rows:
            kinds = set()
            for cell, shown in zip(row.cells, scoreboard.cells(0, row), strict=True):
                if cell is None or shown is None or cell.best is None or "%" not in shown.text:
                    continue
                case = cases[cell.best.id]
                assert case["case"]["instance"] in cell.systems
                assert case is _end(raw, case, max)
                kinds.add((case["primary"], _linked(case) and _spoken(case), case["detail"].get("rank")))
                fraction = _share(raw, case)
                (text,) = PERCENT.findall(shown.text)
                _check(text, fraction, shown.text)
                assert abs(shown.value - fraction) <= 1e-6 * fraction
                if shown.least:
                    (text,) = PERCENT.findall(shown.least)
                    _check(text, _share(raw, _end(raw, case, min)), shown.least)
                _interval(raw, case, fraction, shown.near)
                seen += 1
            assert len(kinds) <= 1, f"{row.kernel} {row.variant.label} mixes {kinds}"
    assert seen >= 2


def test_every_per_cent_and_place_of_the_first_screen(run: trnbench.Run, raw: Raw, cases: Raw) -> None:
    """What the cards say, and where the marks of their bars stand."""
    found = trnbench.headline(run).cards
    assert found
    for card in found:
        for row in card.rows:
            if row.line is None:
                continue
            line, shown = row.line, headline.shown(0, row)
            case = cases[line.sweep.case]
            figure, rate = _figure(raw, case, _chosen(case)), _rate(case)
            share = numbers.percent(line.of.fraction)
            (text,) = PERCENT.findall(share)
            _check(text, rate / figure, share)
            _clause(raw, case, row.clause)
            marks = {each.kind: each.value for each in promise.ticks(line) if each.kind != "other"}
            assert abs(marks["promise"] - figure) <= 1e-6 * figure
            if "clock" in marks and _chosen(case)["metric"] == "peak_flops":
                assert abs(marks["clock"] - _clock_figure(raw, case)) <= 1e-6 * marks["clock"]
            if line.of_core is not None:
                core = cases[line.of_core.case]
                best = core["evidence"]["nearest"]["best"]
                wanted = best["value"] / _figure(raw, core, _chosen(core))
                assert abs(line.of_core.fraction - wanted) <= 1e-6 * wanted
            band = (case["evidence"]["nearest"] or {}).get("band")
            assert (shown.expect is not None) is (band is not None)


def _clause(raw: Raw, case: Raw, clause: str) -> None:
    """The two largest causes; at its clock what the clock leaves; else what is missing."""
    told = PERCENT.findall(clause)
    fraction = _share(raw, case)
    at_clock = case["judgement"]["of_engine_bound"] and _rate(case) / _clock_figure(raw, case) >= 0.98
    if at_clock:
        wanted = [_clock_figure(raw, case) / _figure(raw, case, _chosen(case))]
    else:
        wanted = _beyond(case, fraction)[:2] or ([1 - fraction] if fraction < 1 else [])
    assert len(told) == len(wanted), (clause, wanted)
    for text, value in zip(told, wanted, strict=True):
        _check(text, value, clause)


def test_every_figure_of_the_losses(run: trnbench.Run, raw: Raw, cases: Raw) -> None:
    """Seconds that go with a cause, from the stored terms and the figure of the facts."""
    told = opportunities.of(opportunities.chosen(run))
    for each in told:
        case = cases[each.case.id]
        wanted = _lost(case, _share(raw, case))
        assert any(abs(each.seconds - value) <= 1e-6 * case["time_s"] for value in wanted), each.cause


def test_every_per_cent_of_the_links(run: trnbench.Run, raw: Raw, cases: Raw) -> None:
    """Shares of the document, of the bound of the links, and of the largest loss."""
    words = {"parts": (), "taken": links._taken, "lost": links._lost}
    row = environment().get_template("links.html.j2").make_module(words).told
    for (ranks, metric), found in links.kinds(run).items():
        for each in found:
            case = cases[each.id]
            assert (f"{case['detail']['rank']} ranks", case["primary"]) == (ranks, metric)
            (sweep,) = links._sweeps(run, [each])
            share, of_bound, lost = itemgetter(3, 4, 8)(
                re.findall(r"<td.*?</td>", unescape(row(0, "", sweep)))
            )
            for text in PERCENT.findall(share):
                _check(text, _share(raw, case), share)
            assert bool(PERCENT.search(share)) is (case["judgement"] is not None)
            (text,) = PERCENT.findall(of_bound)
            _check(text, case["detail"]["bound_s"] / case["time_s"], of_bound)
            rest = {k: v for k, v in case["detail"]["waterfall_s"].items() if k != "ideal"}
            (text,) = PERCENT.findall(lost)
            _check(text, max(rest.values()) / case["time_s"], lost)


def test_every_gain_of_the_generations(run: trnbench.Run, raw: Raw, cases: Raw) -> None:
    """Gain got by work and time, gain promised by the facts, a device against a device."""
    gains = [each for scope, _ in generations.REACHES for each in generations.gains(0, run, scope)]
    assert bool(gains) is (len(raw["books"]) > 1)
    for each in gains:
        new, old = (cases[name] for name in (each.case, each.first))
        assert new["case"]["scope"] == old["case"]["scope"]
        assert new["case"]["point"] == old["case"]["point"]
        assert abs(each.got - _rate(new) / _rate(old)) <= 1e-6 * each.got
        wanted = _figure(raw, new, _chosen(new)) / _figure(raw, old, _chosen(old))
        assert abs(each.promised - wanted) <= 1e-6 * wanted


def _lost(case: Raw, fraction: float) -> list[float]:
    """The part of each stored term beyond the time at the peak."""
    at, peak_s, found = 0.0, fraction * case["time_s"], []
    for _, seconds in case["detail"]["waterfall"]:
        found.append(max(at + seconds - max(at, peak_s), 0.0))
        at += seconds
    return found


def _interval(raw: Raw, case: Raw, fraction: float, near: str) -> None:
    """`kernel · 61–72 %`: the band about the share, no more than clocks, or the best document, allow."""
    band = (case["evidence"]["nearest"] or {}).get("band")
    ends = re.findall(r"([\d.,]+)(?:[ \u00a0]%)?", near.partition("·")[2].replace("<", ""))
    if band is None:
        assert not ends
        return
    low, high = (fraction * math.exp(band[name]) for name in ("low", "high"))
    peaks = case["judgement"]["peaks"]
    figures = [peak["value"] for peak in (peaks["chosen"], *peaks["alternatives"])]
    top = max(figures)
    if bound := peaks["engine_bound"]:
        top = _clock_figure(raw, case) if bound["metric"] == "peak_flops" else bound["value"]
    high = min(high, max(top / figures[0], fraction))
    if stored := case["detail"].get("bound_s"):
        high = min(high, fraction * max(case["time_s"] / stored, 1.0))
    low = min(low, high)
    assert len(ends) in (1, 2), near
    for text, value in zip((ends[0], ends[-1]), (low, high), strict=True):
        assert abs(float(text.replace(",", "")) - value * 100) <= 0.11, (near, low, high)


def _of_line(raw: Raw, case: Raw) -> list[float]:
    """The per cents of a line in the order of its words."""
    chosen = _chosen(case)
    rate, figure = _rate(case), _figure(raw, case, chosen)
    found = [rate / figure]
    new = _replaced(raw, case, chosen)
    if new is not None:
        found.append(rate / (figure * new))
    best = (case["evidence"]["nearest"] or {}).get("best")
    if best and best["kind"] in ("same", "kernel") and 1.1 < rate / best["value"] < 2:
        found.append(rate / best["value"] - 1)
    # At its clock nothing else takes the time.
    if case["case"]["kernel"] != "gemm" or rate / _clock_figure(raw, case) < 0.98:
        found += _beyond(case, rate / figure)
    if case["case"]["kernel"] == "gemm":
        found += _products(raw, case)
    return found


def _beyond(case: Raw, fraction: float) -> list[float]:
    """The three largest causes of at least half a per cent: the part of each beyond the time at the peak."""
    terms = case["detail"].get("waterfall") or list(case["detail"].get("waterfall_s", {}).items())
    if not terms:
        return []
    time_s, at = case["time_s"], 0.0
    peak_s = fraction * time_s
    shares = []
    for _, seconds in terms:
        shares.append(max(at + seconds - max(at, peak_s), 0.0) / time_s)
        at += seconds
    return sorted((each for each in shares if each >= 0.005), reverse=True)[:3]


def _products(raw: Raw, case: Raw) -> list[float]:
    """Time of our product by that of the published one, less 1: the ends, and of many the middle."""
    mine = [e for e in raw["fidelity"]["products"] if e["generation"] == case["case"]["generation"]]
    errors = [e["published_flops_per_s"] / e["model_flops_per_s"] - 1 for e in mine]
    if len(errors) < 2:
        return errors
    middle = math.expm1(statistics.median(math.log1p(each) for each in errors))
    ends = [min(errors), max(errors), *([middle] if len(errors) > 4 else [])]
    return [each for each in ends if each > -0.5]  # what takes less than half is a factor: ÷9.8


def _check(text: tuple[str, str], value: float, where: str) -> None:
    sign, digits = text
    shown = float(digits.replace(",", ""))
    if sign == "<":
        assert 0 <= value * 100 < shown, where
        return
    assert sign != "−" or value < 0, where
    # Half of the last digit; what is not 100 % never reads as 100 %.
    last = 0.1 if "." in digits else 1.0
    assert abs(shown - abs(value) * 100) <= (0.11 if 99 < shown < 101 else last / 2 + 1e-9), (where, value)


def _id(case: Raw) -> str:
    key = case["case"]
    inner = ",".join(f"{name}={value}" for name, value in key["point"].items())
    division = f":{key['division']}" if key["division"] else ""
    return f"{key['instance']}::{key['kernel']}{f'[{inner}]' if inner else ''}@{key['scope']}{division}"


def _good(case: Raw) -> bool:
    return case["status"] in ("ok", "document-low") and case["time_s"] is not None


def _rate(case: Raw) -> float:
    return float(case["work"][COUNTS[case["primary"]]] / case["time_s"])


def _best(raw: Raw, like: Raw, system: str) -> Raw:
    """The quickest by rate of the sweep that `like` is of."""
    return max((each for each in _alike(raw, like) if each["case"]["instance"] == system), key=_rate)


def _end(raw: Raw, like: Raw, which: Any) -> Raw:
    """The highest or the lowest share of the sweep that `like` is of."""
    return which(_alike(raw, like), key=lambda each: _share(raw, each))


def _share(raw: Raw, case: Raw) -> float:
    return _rate(case) / _figure(raw, case, _chosen(case))


def _alike(raw: Raw, like: Raw) -> list[Raw]:
    names = ("kernel", "instance", "scope")
    return [
        each
        for each in raw["measurements"]
        if _good(each)
        and all(each["case"][name] == like["case"][name] for name in names)
        and each["case"]["point"].get("dtype") == like["case"]["point"].get("dtype")
    ]


def _chosen(case: Raw) -> Raw:
    return case["judgement"]["peaks"]["chosen"]


def _spoken(case: Raw) -> str:
    return str(case["metrics"][case["primary"]]["scope"])


def _linked(case: Raw) -> bool:
    return case["primary"] in ("busbw_bytes_per_s", "network_bytes_per_s")


def _fact(raw: Raw, generation: str, name: str) -> Raw:
    return next(each for each in raw["books"][generation]["facts"] if _fact_id(each) == name)


def _fact_id(fact: Raw) -> str:
    marks = [*fact["dtypes"], *(["sparse"] if fact["sparse"] else []), fact["qualifier"]]
    inner = ",".join(mark for mark in marks if mark)
    part = f"#{fact['part']}" if fact["part"] else ""
    return f"{fact['subject']}/{fact['metric']}{f'[{inner}]' if inner else ''}@{fact['source']}{part}"


def _figure(raw: Raw, case: Raw, chosen: Raw) -> float:
    """The facts' values at the scope that the metric speaks of."""
    record = raw["systems"][case["case"]["instance"]]
    facts = [_fact(raw, record["generation"], name) for name in chosen["facts"]]
    if chosen["policy"] == "engine":
        return _clock_figure(raw, case)
    cores, devices = record["cores_per_device"], record["devices"]
    whole = cores * devices
    holds = {"core": 1, "device": cores, "instance": whole / record["hosts"], record["scope"]: whole}
    if record["scope"] == "instance":
        holds["instance"] = whole
    wanted = case["metrics"][case["primary"]]["scope"]
    value = sum(each["value"] for each in facts) * holds[wanted] / holds[facts[0]["scope"]]
    if facts[0]["direction"] == "both-ways":
        value /= 2
    if case["primary"] == "busbw_bytes_per_s":
        # 2·(n−1)/n of n ranks against that of as many devices: the same bytes leave each of them.
        ranks = case["work"]["link_bytes"] / case["work"]["payload_bytes"]
        value *= ranks / (2 * (devices - 1) / devices)
    return float(value)


def _clock_figure(raw: Raw, case: Raw) -> float:
    """Rows × columns × 2 × clock, times what the type makes of it, of all cores in scope."""
    record = raw["systems"][case["case"]["instance"]]
    bound = case["judgement"]["peaks"]["engine_bound"]
    facts = [_fact(raw, record["generation"], name) for name in bound["facts"]]
    cores = {
        "core": 1,
        "device": record["cores_per_device"],
        record["scope"]: record["cores_per_device"] * record["devices"],
    }[case["case"]["scope"]]
    return float(2 * cores * math.prod(each["value"] for each in facts))


def _replaced(raw: Raw, case: Raw, chosen: Raw) -> float | None:
    """The superseding document's figure of the same subject and kind by the superseded one."""
    if not chosen["superseded_by"]:
        return None
    book = raw["books"][case["case"]["generation"]]["facts"]
    old = next(each for each in book if _fact_id(each) == chosen["facts"][0])
    same = ("subject", "metric", "scope", "sparse", "qualifier", "direction")
    new = next(
        each
        for each in book
        if each["source"] == chosen["superseded_by"]
        and all(each[name] == old[name] for name in same)
        and case["case"]["point"]["dtype"] in each["dtypes"]
        and not each["part"]
    )
    return float(new["value"] / old["value"])
