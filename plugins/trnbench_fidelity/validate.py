"""Holds the emulator against every published point of the installed generations."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench import TrnbenchError, resolve
from trnbench.facts.table import Place, read_toml
from trnbench.record import Record, grouped
from trnbench.results.fidelity import Comparison, Fidelity, Honesty, Moved, Mover, Step, Use
from trnbench_fidelity import own_products
from trnbench_fidelity import sources as sources_of
from trnbench_fidelity.bench import Bench, can_refit, fits_of
from trnbench_fidelity.engines import engine_times
from trnbench_fidelity.order import load_sequences, pairs
from trnbench_fidelity.point import FAMILIES, Kind, NotEmulated, Prediction, PublishedPoint, Quantity, Usable
from trnbench_fidelity.published_points import (
    Published,
    check_schema,
    compared,
    error_of,
    errors_by_point,
    published_points,
    span_of,
)
from trnbench_fidelity.statistics import bounds_of, counted_error, errors_of, rows_of

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench_emulator.compiler import Assumptions


Adapter = Callable[[PublishedPoint, Bench], Prediction]


def validate(
    registry: Registry,
    *,
    families: Collection[str] = (),
    generations: Collection[str] = (),
    systems: Set[str] = frozenset(),
    kernels: Path | None = None,
    with_same: bool = True,
    sources: bool = False,
    assumptions: Assumptions | None = None,
    known: Mapping[str, Comparison] = MappingProxyType({}),
) -> Fidelity:
    """Every published point emulated as far as that is possible; all of them unless some are named.

    `systems` are names of instances; one without a size means every size of it. `kernels` is a folder
    of public sources. `with_same` adds our own kernels of the same operation. `sources`: only the points
    that were measured with a public kernel. Without a folder the times of public kernels are those that the
    generations keep of their last run. `assumptions`: what the compiler of those that are run is taken to do,
    None as shipped; others than those of the shipped model are told in `notes`. `known`: rows of `compare`
    made before, by id.
    """
    bench = Bench(registry, kernels=kernels, assumptions=assumptions)
    public = None if kernels or sources else sources_of.kept(registry, generations)
    run = {each.id: each for each in public.points} if public else {}
    comparisons: list[Comparison] = []
    published = published_points(registry, generations)
    by_id = {point.id: point for points in published.values() for point in points}
    for points in published.values():
        for point in points:
            if families and point.family not in families:
                continue
            if systems and not systems & {point.system, point.system.partition(":")[0]}:
                continue
            if sources and (point.usable is not Usable.SOURCE or point.value is None):
                continue
            row = known.get(point.id)
            first, *more = [row] if row else compare(point, bench, with_same=with_same)
            if first.use is Use.CONTRADICTED:
                first = replace(first, span=span_of(point, by_id))
            if first.use is Use.NEEDS_SOURCE:
                first = run.get(point.id, first)
            comparisons += (first, *more)
    by, version = bench.model()
    answered = public or sources_of.Sources(day="", by=by, version=version, checkouts=(), points=())
    of_source = {point.id for point in by_id.values() if point.usable is Usable.SOURCE}
    mine = tuple(row for row in comparisons if row.id in of_source and row.published is not None)
    rows = {row.id: row for row in comparisons if row.use is not Use.SAME_OPERATION}
    return Fidelity(
        by=by,
        version=version,
        families=rows_of(FAMILIES, comparisons),
        points=tuple(comparisons),
        public=sources_of.summaries(replace(answered, points=mine)),
        steps=_steps(registry, published, rows),
        engines=engine_times(published, rows),
        moved=_moved(registry, published, rows),
        notes=(f"public kernels under the assumptions {assumptions}",)
        if assumptions and assumptions.off
        else (),
    )


def _steps(registry: Registry, published: Published, rows: Mapping[str, Comparison]) -> tuple[Step, ...]:
    found: list[Step] = []
    for name, points in published.items():
        path = registry.generations[name].points_file
        assert path is not None
        for sequence in load_sequences(path, points):
            found += pairs(sequence, rows)
    return tuple(found)


def _moved(registry: Registry, published: Published, rows: Mapping[str, Comparison]) -> tuple[Moved, ...]:
    found: list[Moved] = []
    for name, points in published.items():
        if path := registry.generations[name].untouched_file:
            for frozen in load_untouched(path, (point.id for point in points)):
                found += moved(frozen, rows)
    return tuple(found)


def compare(point: PublishedPoint, bench: Bench, *, with_same: bool = True) -> list[Comparison]:
    """One row for the point, and one for our kernel of the same operation where there is one."""
    rows = [_compared(point, bench)]
    if with_same and point.usable is Usable.SOURCE and point.value is not None:
        try:
            found = own_products.predict(point, bench)
        except Exception:  # no kernel of ours for it, or one that fails: the row is an extra
            return rows
        rows.append(_row(point, Use.SAME_OPERATION, found))
    return rows


def _compared(point: PublishedPoint, bench: Bench) -> Comparison:
    if point.usable is Usable.NO or point.value is None:
        return _row(point, Use.NOT_USED, how=point.usable_note or point.value_note)
    if point.no_kernel:
        return _row(point, Use.NO_KERNEL, how=point.no_kernel)
    adapter = FAMILIES[point.family].adapter
    if point.usable is Usable.SOURCE:
        adapter = FAMILIES["kernel"].adapter
    if not adapter:
        return _row(point, Use.NOT_EMULATED, how="no model of this family")
    try:
        if point.usable is Usable.SOURCE:
            bench.source(point)  # without one, what runs a kernel is not even imported
        predict: Adapter = resolve(adapter)
        prediction = predict(point, bench)
        if not prediction.value > 0:
            raise NotEmulated(f"the model's answer is {prediction.value!r}")
    except NotEmulated as no:
        return _row(point, Use.NEEDS_SOURCE if no.source_missing else Use.NOT_EMULATED, how=no.why)
    except Exception as error:  # a model's mistake costs its own points, never the run
        what = error.what if isinstance(error, TrnbenchError) else f"{type(error).__name__}: {error}"
        return _row(point, Use.NOT_EMULATED, how=what)
    use, how = Use.EMULATED, ""
    if point.kind is Kind.UPPER_BOUND:
        use = Use.BOUND
    elif point.contradicts:
        use = Use.CONTRADICTED
        against = ", ".join(point.contradicts)
        how = f"release {point.release}, against {against}; measured with {point.how_measured}; {point.notes}"
    costs = bench.system(point.system).costs
    row = _row(point, use, prediction, how=how.removesuffix("; "), fitted=bool(fits_of(costs, point)))
    if row.honesty != Honesty.FITTED:
        return replace(row, e_cross=row.e)
    if point.shaped or not can_refit(costs, point):
        return row
    crossed = _without(point, bench, predict)
    return replace(row, e_cross=error_of(point, crossed))


def _without(point: PublishedPoint, bench: Bench, predict: Adapter) -> float | None:
    """The answer of a model whose constants have not seen the point."""
    try:
        return predict(point, bench.unseen(point)).value
    except Exception:  # as above: the point then has no cross-validated figure
        return None


def _row(
    point: PublishedPoint,
    use: Use,
    prediction: Prediction | None = None,
    *,
    how: str = "",
    fitted: bool = False,
) -> Comparison:
    if prediction is None:
        return compared(point, use, how=how, fitted=fitted)
    words = "; ".join(filter(None, (prediction.how, how)))
    row = compared(point, use, prediction.value, how=words, fitted=fitted)
    return replace(row, active=prediction.active)


LEAST = math.log(1.05)
"""Points that moved by more are named, every one."""

_KEYS: dict[str, type] = {"model": str, "version": str, "day": datetime.date, "errors": dict}


class Untouched(Record, kw_only=True):
    """`errors`: point → e = ln(model time / published time) by `version` of the model on `day`."""

    model: str
    version: str
    day: datetime.date
    errors: dict[str, float]


def load_untouched(path: Path, known: Iterable[str]) -> tuple[Untouched, ...]:
    """The lists of one generation, whose published points are `known` by id, in the order they were frozen:
    the file's own, then its `[[later]]`.

    Raises `MissingFile`, `BadInput` for what is no TOML and for an error that is nan or inf, and `FactError`
    for an unknown or missing key, another schema, an error that is no number or far beyond any, and a point
    that is not published.
    """
    document = read_toml(path)
    place = Place(path)
    first = {key: value for key, value in document.items() if key != "later"}
    place.check(first, {"schema": int, **_KEYS}, ("schema", *_KEYS))
    check_schema(place, document)
    ids = set(known)
    later = list(place.tables(document, "later"))
    for where, table in later:
        where.check(table, _KEYS, tuple(_KEYS))
    return tuple(
        Untouched(
            model=table["model"],
            version=table["version"],
            day=table["day"],
            errors=errors_by_point(where, table, ids),
        )
        for where, table in ((place, first), *later)
    )


def moved(frozen: Untouched, rows: Mapping[str, Comparison]) -> tuple[Moved, ...]:
    """Of one list, then and now of its points among `rows` (comparisons by id), per family and generation."""
    mine = (rows[id] for id in frozen.errors if id in rows)
    groups = grouped(mine, lambda row: (row.family, row.generation))
    return tuple(_group_moved(frozen, *key, groups[key]) for key in sorted(groups))


def _group_moved(frozen: Untouched, family: str, generation: str, mine: list[Comparison]) -> Moved:
    answered = [each for each in mine if each.e is not None]
    then = [_with_error(each, frozen.errors[each.id]) for each in answered]
    movers = [
        Mover(id=now.id, then=old, now=new)
        for before, now in zip(then, answered, strict=True)
        if (old := counted_error(before)) is not None and (new := counted_error(now)) is not None
    ]
    movers.sort(key=lambda each: (-abs(abs(each.now) - abs(each.then)), each.id))
    return Moved(
        generation=generation,
        family=family,
        title=FAMILIES[family].title if family in FAMILIES else family,
        version=frozen.version,
        then=errors_of(then),
        now=errors_of(answered),
        bounds_then=bounds_of(then),
        bounds_now=bounds_of(answered),
        movers=tuple(mover for mover in movers if abs(mover.now - mover.then) > LEAST),
        unanswered=tuple(each.id for each in mine if each.e is None),
    )


def _with_error(row: Comparison, e: float) -> Comparison:
    """The comparison as it was when the model's error of the time was `e`."""
    assert row.published is not None
    faster = row.unit != Quantity.LATENCY.unit
    return replace(row, e=e, emulated=row.published * math.exp(-e if faster else e))
