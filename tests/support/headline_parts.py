"""Runs changed case by case, and the line of the headline that answers a question."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from trnbench import BestPublished, Grade, Run, headline
from trnbench.results.fidelity import OwnProduct
from trnbench.results.measurement import Band, Nearest, Nearness
from trnbench.run.headline.line import Line

replace = msgspec.structs.replace
BAND = Band(low=-0.1, high=0.2, votes=9, points=20)


def near(kind: Nearness, **more: Any) -> Nearest:
    return Nearest(kind=kind, band=BAND if kind.banded else None, **more)


def best_published(kind: Nearness, value: float = 1e12, **more: Any) -> BestPublished:
    given = {"id": "p-1", "metric": "flops_per_s", "unit": "FLOP/s", "source": "a source", **more}
    return BestPublished(value=value, kind=kind, **given)


def own_product(k: int = 4096, *, model: float = 9e13, e: float, **more: Any) -> OwnProduct:
    given = {"id": f"p{k}", "generation": "trn1", "source": "a source", "kernel": "gemm", "cores": 1, **more}
    times = {"model_flops_per_s": model, "published_flops_per_s": model * math.exp(-e), "e": e}
    return OwnProduct(m=4096, n=4096, k=k, dtype="bf16", **times, **given)


def changed(run: Run, change: Any, wanted: Any = lambda case: True) -> Run:
    """`run` with `change(case)` in place of every case that `wanted` names."""
    return replace(
        run, measurements=tuple(change(each) if wanted(each) else each for each in run.measurements)
    )


def kept(run: Run, wanted: Any) -> Run:
    """`run` with those of its cases alone that `wanted` names."""
    return replace(run, measurements=tuple(filter(wanted, run.measurements)))


def of_systems(run: Run, *instances: str) -> Run:
    """`run` as if it had been of these systems alone."""
    chosen = kept(run, lambda each: each.case.instance in instances)
    return replace(chosen, systems={name: run.systems[name] for name in run.systems if name in instances})


def having(**fields: Any) -> Any:
    return lambda each: replace(each, **fields)


def graded(grade: Grade) -> Any:
    return lambda each: replace(each, evidence=replace(each.evidence, grade=grade))


def judged_by(nearest: Nearest) -> Any:
    return lambda each: replace(each, evidence=replace(each.evidence, nearest=nearest))


def of(run: Run, question: str, generation: str) -> Line:
    return next(e for e in headline(run).lines if (e.question, e.generation) == (question, generation))
