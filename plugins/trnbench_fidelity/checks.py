"""What is checked of published points: their files load, and name systems, kernels and points that there
are."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from trnbench import Generation, TrnbenchError
from trnbench.testing import Finding, Subject
from trnbench_fidelity.bench import constants
from trnbench_fidelity.order import load_sequences
from trnbench_fidelity.point import NotEmulated, PublishedPoint
from trnbench_fidelity.published_points import load_published, published_points
from trnbench_fidelity.sources import public_rows
from trnbench_fidelity.steps.compose import composed
from trnbench_fidelity.steps.load import load_steps
from trnbench_fidelity.validate import load_untouched


def published(subject: Subject) -> Iterator[Finding | str]:
    """Points, public kernels, sequences and steps of each generation whose facts and costs can be read."""
    for generation in subject.generations:
        try:
            subject.registry.book(generation.name)
            subject.registry.costs(generation.name)
        except TrnbenchError:
            continue  # which `facts` says
        yield from _points(subject, generation)
        yield from _published_steps(subject, generation)


def _of(where: str, error: TrnbenchError) -> Finding:
    return Finding(where, error.sentence, error.try_)


def _public_kernels(generation: Generation, published: Collection[str]) -> Iterator[Finding | str]:
    """What public kernels gave is of points that are published."""
    try:
        rows = public_rows(generation)
    except TrnbenchError as error:
        yield _of(f"generation {generation.name}", error)
        return
    if rows is None or generation.answers is None:
        return
    yield generation.answers.name
    for id in rows.points:
        if id not in published:
            yield Finding(
                f"point {id}",
                f"{generation.answers.name} has a time of its kernel, but no such point is published",
                "run the public kernels again: docs/fidelity.md",
            )


def _lists_of_points(
    generation: Generation, published: Path, points: Collection[PublishedPoint]
) -> Iterator[Finding | str]:
    """Sequences and the frozen list of untouched points name points that are there."""
    try:
        for sequence in load_sequences(published, points):
            yield sequence.name
        if generation.untouched_file is not None:
            for frozen in load_untouched(generation.untouched_file, (point.id for point in points)):
                yield from frozen.errors
    except TrnbenchError as error:
        yield _of(f"generation {generation.name}", error)


def _published_steps(subject: Subject, generation: Generation) -> Iterator[Finding | str]:
    """Steps of models that others measured: the file loads, and each usable one is a step of a system."""
    if generation.steps_file is None:
        return
    try:
        points = load_steps(generation.steps_file, generation.name).points
    except TrnbenchError as error:
        yield _of(f"generation {generation.name}", error)
        return
    for point in points:
        yield point.id
        if not point.usable:
            continue
        try:
            composed(point, subject.registry)
        except NotEmulated as no:
            yield Finding(
                f"point {point.id}", f"cannot be composed: {no.why}", 'use = "none" and a note that says why'
            )


def _points(subject: Subject, generation: Generation) -> Iterator[Finding | str]:
    """Measurements of others: the file loads, its systems exist, constants name points that are there."""
    if generation.points_file is None:
        return
    try:
        points = load_published(generation.points_file, generation.name)
    except TrnbenchError as error:
        yield _of(f"generation {generation.name}", error)
        return
    try:
        published_points(subject.registry)
    except TrnbenchError as error:  # an id that another file has
        if str(generation.points_file) in str(error):
            yield _of(f"generation {generation.name}", error)
    for point in points:
        yield point.id
        try:
            if point.system:
                subject.registry.instance(point.system)
        except TrnbenchError as error:
            yield _of(f"point {point.id}", error)
    yield from _public_kernels(generation, {point.id for point in points})
    yield from _lists_of_points(generation, generation.points_file, points)
    if generation.base:
        return  # constants of a base are fitted on points of the base's own plugin
    ids = [point.id for point in points]
    with suppress(TrnbenchError):  # another generation's file, which that one's check names
        # A constant that every generation has may rest on a point of another one.
        ids += [point.id for others in published_points(subject.registry).values() for point in others]
    for name, fit in constants(subject.registry.costs(generation.name)):
        for wanted in fit["points"]:
            if not fnmatch.filter(ids, wanted):
                yield Finding(
                    f"constant {name}",
                    f"is fitted on {wanted!r}, which is no published point",
                    f"name a point of {generation.points_file.name}",
                )
