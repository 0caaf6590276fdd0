"""Every fact file of the built-in generations holds together: sources, disputes, assumptions, systems."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench import FactBook, Provenance
from trnbench.registry import Registry

BOOKS = pytest.mark.parametrize("name", ["trn1", "trn2", "trn3"])

IN_SEVERAL = {"C16", "C19", "C22", "C35"}
"""Contradictions about several generations stand with each generation whose figures they concern."""

WORDS_ONLY = {"C09", "C24", "C25", *(f"C{number}" for number in range(27, 35)), "C36", "C38", "C39"}
"""What no rule on facts can find: layouts, formulas, settings, sections."""


def _sources_of(costs: object) -> set[str]:
    """Values of "source" and "sources" anywhere in a cost table."""
    found: set[str] = set()
    if isinstance(costs, dict):
        for key, value in costs.items():
            if key == "source":
                found.add(value)
            elif key == "sources":
                found.update(value)
            else:
                found |= _sources_of(value)
    elif isinstance(costs, list):
        for each in costs:
            found |= _sources_of(each)
    return found


@BOOKS
def test_every_source_used_is_defined_and_every_one_defined_is_used(
    name: str, books: dict[str, FactBook], costs: dict[str, dict[str, object]]
) -> None:
    book = books[name]
    used = {fact.source for fact in book.facts}
    used |= {fact.superseded_by for fact in book.facts if fact.superseded_by}
    used |= {source for dispute in book.disputes for source in dispute.sources}
    used |= _sources_of(costs[name])
    assert used == set(book.sources)


@BOOKS
def test_a_superseding_source_prints_the_same_thing_itself(name: str, books: dict[str, FactBook]) -> None:
    book = books[name]
    for old in (fact for fact in book.facts if fact.superseded_by):
        wanted = old.dtypes or ("",)
        for dtype in wanted:
            newer = [
                fact
                for fact in book.select(old.subject, old.metric, sparse=old.sparse, qualifier=old.qualifier)
                if not fact.superseded_by and (not dtype or dtype in fact.dtypes)
            ]
            # Documents stopped printing FP8 on the device's page; its cFP8 stands there instead.
            if (old.subject, dtype) == ("trainium1", "fp8"):
                newer = newer or [f for f in book.facts if "cfp8" in f.dtypes]
            assert newer, f"{old.id} is superseded by {old.superseded_by}, which prints nothing for {dtype}"
            assert old.superseded_by in book.sources


def test_the_seed_documents_are_five(books: dict[str, FactBook]) -> None:
    seeds = {source.id for book in books.values() for source in book.sources.values() if source.seed}
    assert seeds == {"seed-trn1", "seed-trainium", "seed-trn1-product", "seed-trn2", "seed-trn3"}


def test_all_contradictions_are_named(books: dict[str, FactBook]) -> None:
    ids = [dispute.id for book in books.values() for dispute in book.disputes]
    assert set(ids) == {f"C{number:02}" for number in range(1, 40)}
    assert {each for each in ids if ids.count(each) > 1} == IN_SEVERAL
    assert {d.id for book in books.values() for d in book.disputes if not d.rule} == WORDS_ONLY


@BOOKS
def test_assumptions_are_bounded_and_say_why(name: str, books: dict[str, FactBook]) -> None:
    for each in books[name].assumptions.values():
        assert each.low < each.high, each.id
        assert len(each.reason) > 40, each.id


@BOOKS
def test_a_derived_fact_names_its_formula(name: str, books: dict[str, FactBook]) -> None:
    bare = [f.id for f in books[name].facts if f.provenance is Provenance.DERIVED and not f.formula]
    assert bare == []


@pytest.mark.parametrize(
    ("instance", "devices", "hosts", "cores"),
    [
        ("trn1.2xlarge", 1, 1, 2),
        ("trn1.32xlarge", 16, 1, 2),
        ("trn1n.32xlarge", 16, 1, 2),
        ("trn1-ultracluster", 30_000, 1_875, 2),
        ("trn1-ultracluster:4", 64, 4, 2),
        ("inf2.xlarge", 1, 1, 2),
        ("inf2.8xlarge", 1, 1, 2),
        ("inf2.24xlarge", 6, 1, 2),
        ("inf2.48xlarge", 12, 1, 2),
        ("trn2-16.48xlarge", 16, 1, 8),
        ("trn2.48xlarge", 16, 1, 8),
        ("trn2u.48xlarge", 16, 1, 8),
        ("u-trn2x64", 64, 4, 8),
        ("trn2-ultraserver", 64, 4, 8),
        ("trn3-gen1-ultraserver", 64, 4, 8),
        ("trn3-gen2-ultraserver", 144, 36, 8),
    ],
)
def test_counts_of_every_system(registry: Any, instance: str, devices: int, hosts: int, cores: int) -> None:
    system = registry.system(instance)
    assert (system.devices, system.hosts, system.cores_per_device) == (devices, hosts, cores)


def test_what_models_need_is_there_for_every_system(registry: Registry, generations: Any) -> None:
    for generation in generations.values():
        for instance in generation.instances:
            book = registry.system(instance.name).book
            for engine in ("tensor", "vector", "scalar", "gpsimd"):
                assert book.value(instance.core, "clock", qualifier=engine), (instance.name, engine)
            for metric in ("array_rows", "array_columns", "sbuf_capacity", "psum_capacity", "dma_bandwidth"):
                assert book.value(instance.core, metric, qualifier=""), (instance.name, metric)
            for metric in ("hbm_bandwidth", "hbm_capacity", "dma_engine_count", "core_count"):
                assert book.value(instance.device, metric, qualifier=""), (instance.name, metric)
            assert {"host-link-bandwidth", "on-chip-latency"} <= set(book.assumptions)


@pytest.mark.parametrize(
    ("core", "generation", "dtype", "documented"),
    [
        ("neuroncore-v2", "trn1", "bf16", 92e12),
        ("neuroncore-v2", "trn1", "fp32", 23e12),
        ("neuroncore-v3", "trn2", "bf16", 79e12),
        ("neuroncore-v3", "trn2", "fp8", 158e12),
        ("neuroncore-v3", "trn2", "fp32", 20e12),
        ("neuroncore-v4", "trn3", "mxfp8", 315e12),
        ("neuroncore-v4", "trn3", "bf16", 79e12),
    ],
)
def test_clocks_arrays_and_rate_factors_give_the_core_peaks_documents_print(
    books: dict[str, FactBook], core: str, generation: str, dtype: str, documented: float
) -> None:
    book = books[generation]
    rows, columns = book.value(core, "array_rows"), book.value(core, "array_columns")
    clock = book.value(core, "clock", qualifier="tensor")
    factor = book.value(core, "rate_factor", dtype=dtype, sparse=False)
    assert None not in (rows, columns, clock, factor)
    assert rows * columns * 2 * clock * factor == pytest.approx(documented, rel=0.02)  # type: ignore[operator]
    assert book.value(core, "peak_flops", dtype=dtype, qualifier="", sparse=False) == documented
