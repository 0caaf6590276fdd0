"""The published measurements that come with the plugins."""

from __future__ import annotations

import fnmatch
import math

import pytest

from trnbench.facts.units import normalise
from trnbench.registry import Registry, load_registry
from trnbench_fidelity.bench import constants
from trnbench_fidelity.family import FAMILIES
from trnbench_fidelity.point import Clock, Kind, PublishedPoint, Quantity, Usable
from trnbench_fidelity.published import published_points


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(scope="module")
def points(registry: Registry) -> tuple[PublishedPoint, ...]:
    return tuple(point for found in published_points(registry).values() for point in found)


def test_all_points_load_and_no_id_is_used_twice(points: tuple[PublishedPoint, ...]) -> None:
    assert len(points) == 487
    assert len({point.id for point in points}) == 487


def test_every_generation_has_its_own(registry: Registry) -> None:
    counted = {name: len(found) for name, found in published_points(registry).items()}
    assert counted == {"trn1": 159, "trn2": 217, "trn3": 111}
    for name, found in published_points(registry).items():
        assert {point.generation for point in found} == {name}


def test_values_are_what_is_printed(points: tuple[PublishedPoint, ...]) -> None:
    for point in points:
        if point.value is None:
            assert point.value_note, point.id
            assert not point.printed, point.id
        elif point.quantity is not Quantity.RATE:
            assert normalise(point.printed, point.unit)[0] == pytest.approx(point.value, rel=1e-12), point.id
        else:
            assert float(point.printed) == point.value, point.id


def test_every_point_names_its_source_and_what_it_can_be_used_for(points: tuple[PublishedPoint, ...]) -> None:
    for point in points:
        assert point.source, point.id
        assert point.how_measured, point.id
        assert point.confidence, point.id
        assert point.usable is not Usable.NO or point.usable_note, point.id


def test_shapes_of_what_is_emulated_are_numbers(points: tuple[PublishedPoint, ...]) -> None:
    for point in points:
        if point.usable is Usable.DIRECT:
            sizes = [value for value in point.shape.values() if isinstance(value, int)]
            assert sizes, point.id
            assert all(value > 0 for value in sizes), point.id
        if point.family == "gemm" and point.kind is Kind.MEASURED and point.usable is Usable.SOURCE:
            assert all(point.number(name) for name in "MNK"), point.id


def test_systems_are_those_of_the_plugins(registry: Registry, points: tuple[PublishedPoint, ...]) -> None:
    for name in {point.system for point in points if point.system}:
        registry.instance(name)
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
        assert point.low is not None
        assert point.high is not None
        assert point.value is not None
        assert point.low <= point.value <= point.high


def test_every_family_is_known_and_used(points: tuple[PublishedPoint, ...]) -> None:
    assert {point.family for point in points} == set(FAMILIES)


def test_constants_are_fitted_on_points_that_exist(
    registry: Registry, points: tuple[PublishedPoint, ...]
) -> None:
    ids = {point.id for point in points}
    fitted = 0
    for generation in registry.generations:
        for name, fit in constants(registry.costs(generation)):
            for wanted in fit["points"]:
                assert fnmatch.filter(ids, wanted), f"{generation} {name}: {wanted}"
            assert math.isfinite(fit["value"])
            fitted += len(fit["points"])
    assert fitted > 0
