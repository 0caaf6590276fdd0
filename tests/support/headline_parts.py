"""Runs changed case by case, and the line of the headline that answers a question."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench import Run, headline
from trnbench.results.nearness import Band, Nearest, Nearness
from trnbench.run.headline.line import Line

replace = msgspec.structs.replace
BAND = Band(low=-0.1, high=0.2, votes=9, points=20)


def near(kind: Nearness, **more: Any) -> Nearest:
    return Nearest(kind=kind, band=BAND if kind.banded else None, **more)


def changed(run: Run, wanted: Any, change: Any) -> Run:
    """`run` with `change(case)` in place of every case that `wanted` names."""
    return replace(
        run, measurements=tuple(change(each) if wanted(each) else each for each in run.measurements)
    )


def judged_by(nearest: Nearest) -> Any:
    return lambda each: replace(each, evidence=replace(each.evidence, nearest=nearest))


def of(run: Run, question: str, generation: str) -> Line:
    return next(e for e in headline(run).lines if (e.question, e.generation) == (question, generation))
