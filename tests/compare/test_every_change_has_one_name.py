"""Forty seeded changes: `compare`, `gate`, `history`, the page and a notebook name each alike."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from command import typed
from paired_runs import case, emulated, measured, run_of

import trnbench
from trnbench import Evidence, Grade, Measurement, Run, Status, Verdict
from trnbench.digest import short_digest
from trnbench.store.store import Store
from trnbench_reports.sections import comparison

BAD = (Status.FAILED, Status.SUSPECT)


class Seeded(NamedTuple):
    """A case of the two runs, None where it is not in one, and what became of it."""

    before: Measurement | None
    after: Measurement | None
    verdict: Verdict


def changed(number: int, verdict: Verdict, draw: random.Random) -> Seeded:
    """One change of a kind, of an emulated or a measured case by turns."""
    key = case(f"k{number}")
    time_s = draw.uniform(1e-6, 1e-3)

    def one(by: float = 1.0, grade: Grade | None = None) -> Measurement:
        own = (Grade.EMULATED, Grade.MEASURED)[number % 2] if grade is None else grade
        if own is Grade.EMULATED:
            return emulated(key, time_s * by)
        medians = [time_s * by * draw.uniform(0.999, 1.001) for _ in range(3)]
        metrics = emulated(key, time_s * by).metrics
        return measured(key, medians, metrics=metrics, primary="flops_per_s")

    def without(status: Status) -> Measurement:
        return msgspec.structs.replace(
            one(), status=status, reason_text="as drawn", time_s=None, metrics={}, processes=()
        )

    good, far = one(), draw.uniform(1.2, 3.0)
    later = Evidence(grade=Grade.EMULATED, by="a model", version="2")
    gone = without(Status.SKIPPED) if draw.random() < 0.4 else None
    sides = {
        Verdict.BROKEN: (good, without(draw.choice(BAD))),
        Verdict.MENDED: (without(draw.choice(BAD)), good),
        Verdict.LOST: (good, gone),
        Verdict.NEW: (gone, good),
        Verdict.SLOWER: (good, one(far)),
        Verdict.FASTER: (good, one(1 / far)),
        Verdict.EVIDENCE: draw.choice(
            [
                (one(grade=Grade.EMULATED), one(grade=Grade.MEASURED)),
                (one(grade=Grade.MEASURED), one(grade=Grade.EMULATED)),
                (emulated(key, time_s), emulated(key, time_s * far, evidence=later)),
            ]
        ),
    }
    return Seeded(*sides[verdict], verdict)


@pytest.fixture(scope="module")
def seeded() -> dict[str, Seeded]:
    draw = random.Random(26)
    kinds = [verdict for verdict in Verdict if verdict.changed]
    verdicts = [kinds[number % len(kinds)] for number in range(40)]
    return {f"host::k{at}@core": changed(at, verdict, draw) for at, verdict in enumerate(verdicts)}


@pytest.fixture(scope="module")
def runs(seeded: dict[str, Seeded]) -> tuple[Run, Run]:
    still = emulated(case("still"), 1.0)
    sides = [[each[side] for each in seeded.values()] for side in (0, 1)]
    return tuple(
        run_of(
            still,
            *(measurement for measurement in side if measurement is not None),
            id=id,
            created=f"2026-11-2{day}T12:00:00+00:00",
        )
        for side, id, day in zip(sides, ("before", "after"), (1, 2), strict=True)
    )  # type: ignore[return-value]


def by_compare(text: str) -> Iterator[tuple[str, str]]:
    for change in json.loads(text)["changes"]:
        yield change["id"], change["verdict"]


def by_gate(text: str) -> Iterator[tuple[str, str]]:
    for finding in json.loads(text)["findings"]:
        yield finding["case"], finding["change"]


def by_history(text: str) -> Iterator[tuple[str, str]]:
    for series in json.loads(text):
        for step in series["steps"]:
            yield series["case"], step["verdict"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("compare", "before", "after"), by_compare),
        (("gate", "after", "--against", "before"), by_gate),
        (("history", "k*"), by_history),
    ],
)
def test_commands(
    words: tuple[str, ...],
    names: object,
    seeded: dict[str, Seeded],
    runs: tuple[Run, Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))
    with Store() as store:
        store.save(*runs)
    done = typed(*words, "--format", "json")
    named = {id: name for id, name in names(done.stdout) if not id.endswith("still@core")}  # type: ignore[operator]
    assert named == {id: str(each.verdict) for id, each in seeded.items()}, done.stderr


def test_the_page(seeded: dict[str, Seeded], runs: tuple[Run, Run]) -> None:
    text = comparison.render(runs)
    cells = re.findall(
        r'<tr[^>]*><th scope="row">([^<]+)</th>.*?<td class="n" data-v="[^"]*">([^<]*)</td>', text
    )
    named = {f"host::{kernel}@core": change.rpartition(", ")[2] for kernel, change in cells}
    for verdict, side in (("lost", "A"), ("new", "B")):
        (ids,) = re.findall(rf"{verdict}, only in {side}: ([^<]+)</li>", text)
        named |= dict.fromkeys(ids.split(", "), verdict)
    assert named == {id: str(each.verdict) for id, each in seeded.items()}
    since = comparison.since(*runs, 1)
    assert "no change shown" not in since
    moved = [each for each in seeded.values() if None not in (each.before, each.after)]
    assert f"{len(moved)} changes" in since
    assert since.count('class="figure"') == comparison.LARGEST


def test_a_notebook(seeded: dict[str, Seeded], runs: tuple[Run, Run]) -> None:
    text = trnbench.compare_runs(*runs)._repr_html_()
    assert short_digest(text) == "80b3895462b05370"  # all that is shown
    many = trnbench.compare_runs(
        *(run_of(*(emulated(case(f"k{at}"), time) for at in range(51))) for time in (1, 2))
    )
    for changes, more in ((51, "<p>1 more: changes has them all</p></div>"), (50, "</table></div>")):
        shown = msgspec.structs.replace(many, changes=many.changes[:changes])._repr_html_()
        assert (shown.count("<tr><td"), shown.endswith(more)) == (50, True)
    rows = re.findall(r"<tr><td[^>]*>([^<]+)</td><td[^>]*>([^<]+)</td>", text)
    named = {id: change.rpartition(", ")[2] for id, change in rows}
    assert named == {id: str(each.verdict) for id, each in seeded.items()}
