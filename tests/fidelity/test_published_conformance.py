"""`trnbench plugin check` looks at a plugin's published points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plugin_parts import generation, instance, plugin

from trnbench.registry import Registry
from trnbench.testing.subject import Finding, Subject
from trnbench_fidelity import checks
from trnbench_fidelity.point import FAMILIES, Clock, Kind, PublishedPoint, Usable
from trnbench_fidelity.published_points import published_points

HERE = Path(__file__).parent
POINT = """{ id = "a", family = "hbm", kind = "measured", hardware = "x", op = "read", metric = "bandwidth",
 quantity = "bandwidth_bytes_per_s", printed = "2.5", unit = "GB/s", value = 2.5e9, source = "s",
 usable = "direct", clock = "profile", system = "mine.9" }""".replace("\n", "")
GOOD = POINT.replace('"a"', '"b"').replace("mine.9", "mine.1")


def published(folder: Path, points: str, **fields: Any) -> Registry:
    """With a generation of one instance and these published points."""
    path = folder / "published.toml"
    path.write_text(f"schema = 1\n[[group]]\npoints = [ {points} ]\n")
    files = {"facts": (HERE / "mine_facts.toml",), "costs": HERE / "mine_costs.toml", "published": path}
    mine = generation(
        "mine", instances=(instance("mine.1", device="mine", core="mine-core"),), **files, **fields
    )
    return Registry.of(mine=plugin(trnbench_generations=lambda: [mine]))


def findings(registry: Registry) -> list[str]:
    (loaded,) = registry.loaded
    subject = Subject(registry, loaded, ())
    return [
        f"{each.about}: {each.problem}"
        for each in checks._points(subject, registry.generations["mine"])
        if isinstance(each, Finding)
    ]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (
            POINT,
            [
                "point a: unknown instance 'mine.9': did you mean mine.1?",
                "constant dma.descriptor_ns: is fitted on 'b', which is no published point",
            ],
        ),
        (GOOD, []),
    ],
)
def test_systems_and_fits_are_looked_up(tmp_path: Path, points: str, expected: list[str]) -> None:
    assert findings(published(tmp_path, points)) == expected


def test_what_public_kernels_gave_is_of_published_points(tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    assert findings(published(tmp_path, GOOD, answers=answers)) == [
        f"generation mine: {answers} holds no answers of a generation: there is no file "
        f"{answers}: it is missing, or was made by another version of trnbench"
    ]
    answers.write_text(
        '{"generation": "mine", "sections": {"public_kernels": {"day": "2030-01-01", "by": "a model", '
        '"version": "1", "checkouts": [], "points": {"gone": {"emulated": 1.0}}}}}'
    )
    assert findings(published(tmp_path, GOOD, answers=answers)) == [
        "point gone: answers.json has a time of its kernel, but no such point is published"
    ]


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (found,) = findings(published(tmp_path, '{ id = "a" }'))
    assert found.endswith("published.toml: [[group]] 1, point a: key 'family' is missing")


def test_the_frozen_list_names_published_points(tmp_path: Path) -> None:
    untouched = tmp_path / "untouched.toml"
    registry = published(tmp_path, GOOD, untouched=untouched)
    head = 'schema = 1\nmodel = "m"\nversion = "6"\nday = 2030-01-01\n[errors]\n'
    untouched.write_text(head + "b = 0.5\n")
    assert findings(registry) == []
    untouched.write_text(head + "gone = 0.5\n")
    assert findings(registry) == [
        f"generation mine: {untouched}: errors.gone: no such point is published: known: b"
    ]


def test_sequences_name_published_points(tmp_path: Path) -> None:
    registry = published(tmp_path, GOOD)
    path = tmp_path / "published.toml"
    path.write_text(path.read_text() + '[[sequence]]\nname = "s"\nsource = "x"\npoints = ["b", "gone"]\n')
    assert findings(registry) == [
        f"generation mine: {path}: sequence 's': names 'gone', which is no point of the file: known: b"
    ]


STEP = (HERE / "mine_steps.toml").read_text()


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (STEP, "cannot be composed: no document gives the HBM of mine.1 (its device, mine, has no fact of"),
        (STEP.replace("gpt2", "gpt2000"), "cannot be composed: unknown model 'gpt2000'"),
        (STEP.replace("= 2", "= 3").replace("schema = 1", "schema = 3"), "FILE: schema is 3"),
    ],
)
def test_a_published_step_is_one_of_a_system(tmp_path: Path, steps: str, problem: str) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(steps)
    registry = published(tmp_path, POINT, published_steps=path)
    (loaded,) = registry.loaded
    found = checks._published_steps(Subject(registry, loaded, ()), registry.generations["mine"])
    (finding,) = (each for each in found if isinstance(each, Finding))
    assert finding.problem.replace(str(path), "FILE").startswith(problem)


# The published measurements that come with the plugins: what neither loading them asks for nor the check,
# which test_conformance.py carries out on all that trnbench brings -------------------------------------


@pytest.fixture(scope="module")
def points(registry: Registry) -> tuple[PublishedPoint, ...]:
    return tuple(point for found in published_points(registry).values() for point in found)


def test_every_generation_has_its_own(registry: Registry) -> None:
    counted = {name: len(found) for name, found in published_points(registry).items()}
    assert counted == {"trn1": 159, "trn2": 217, "trn3": 111}
    for name, found in published_points(registry).items():
        assert {point.generation for point in found} == {name}


def test_every_point_says_how_it_was_measured(points: tuple[PublishedPoint, ...]) -> None:
    for point in points:
        assert point.how_measured, point.id
        assert point.confidence, point.id


def test_shapes_of_what_is_emulated_are_numbers(points: tuple[PublishedPoint, ...]) -> None:
    for point in points:
        if point.usable is Usable.DIRECT:
            sizes = [value for value in point.shape.values() if isinstance(value, int)]
            assert sizes, point.id
            assert all(value > 0 for value in sizes), point.id
        if point.family == "gemm" and point.kind is Kind.MEASURED and point.usable is Usable.SOURCE:
            assert all(point.number(name) for name in "MNK"), point.id


def test_what_is_emulated_as_stated_names_its_system(points: tuple[PublishedPoint, ...]) -> None:
    for point in points:
        assert point.system or point.usable is not Usable.DIRECT, point.id


def test_a_correction_of_the_sorting_says_what_it_was(points: tuple[PublishedPoint, ...]) -> None:
    moved = [point for point in points if "sorted from" in point.usable_note]
    assert len(moved) == 62
    for point in moved:
        assert f"to {point.usable}" in point.usable_note, point.id


def test_a_clock_is_as_the_source_words_it(points: tuple[PublishedPoint, ...]) -> None:
    """Where the words name an instrument, the clock is that of the instrument."""
    said = {
        "nccom-test": (Clock.TOOL,),
        "neuron-profile": (
            Clock.PROFILE,
            Clock.TRACE,
            Clock.DEVICE,
            Clock.NONE,
        ),  # some begin with the program
        "nki.benchmark": (Clock.DEVICE, Clock.UNSTATED),
        "wall clock": (Clock.HOST, Clock.QUEUED),
        "documentation": (Clock.NONE,),
    }
    for words, clocks in said.items():
        found = [point for point in points if point.how_measured.startswith(words)]
        assert found, words
        assert {point.clock for point in found} <= set(clocks), words
    assert sum(point.clock is Clock.UNSTATED for point in points) < 30


def test_ranges_hold_their_value(points: tuple[PublishedPoint, ...]) -> None:
    ranged = [point for point in points if point.low is not None]
    assert len(ranged) == 15
    for point in ranged:
        assert point.low <= point.value <= point.high


def test_every_family_is_known_and_used(points: tuple[PublishedPoint, ...]) -> None:
    assert {point.family for point in points} == set(FAMILIES)
