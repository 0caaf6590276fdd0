"""Holds the emulator against every published point of the installed generations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.reference import resolve
from trnbench.results.fidelity import Comparison, Fidelity, Honesty, Moved, Step, Use
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions
from trnbench_fidelity import own_products
from trnbench_fidelity import sources as sources_of
from trnbench_fidelity.baseline import load_untouched, moved
from trnbench_fidelity.bench import Bench, can_refit, fits_of
from trnbench_fidelity.engines import engine_times
from trnbench_fidelity.order import load_sequences, pairs
from trnbench_fidelity.point import FAMILIES, Kind, NotEmulated, Prediction, PublishedPoint, Usable
from trnbench_fidelity.published_points import Published, compared, error_of, published_points, span_of
from trnbench_fidelity.statistics import rows_of

if TYPE_CHECKING:
    from trnbench.registry import Registry

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
    assumptions: Assumptions = AS_SHIPPED,
    known: Mapping[str, Comparison] = MappingProxyType({}),
) -> Fidelity:
    """Every published point emulated as far as that is possible; all of them unless some are named.

    `systems` are names of instances; one without a size means every size of it. `kernels` is a folder
    of public sources. `with_same` adds our own kernels of the same operation. `sources`: only the points
    that were measured with a public kernel. Without a folder the times of public kernels are those that the
    generations keep of their last run. `assumptions`: what the compiler of those that are run is taken to do;
    others than those of the shipped model are told in `notes`. `known`: rows of `compare` made before, by id.
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
                first = msgspec.structs.replace(first, span=span_of(point, by_id))
            if first.use is Use.NEEDS_SOURCE:
                first = run.get(point.id, first)
            comparisons += (first, *more)
    by, version = bench.model()
    answered = public or sources_of.Sources(day="", by=by, version=version, checkouts=(), points=())
    of_source = {point.id for point in by_id.values() if point.usable is Usable.SOURCE}
    mine = tuple(row for row in comparisons if row.id in of_source and row.published is not None)
    return Fidelity(
        by=by,
        version=version,
        families=rows_of(FAMILIES, comparisons),
        points=tuple(comparisons),
        public=sources_of.summaries(msgspec.structs.replace(answered, points=mine)),
        steps=_steps(registry, published, comparisons),
        engines=engine_times(published, _by_id(comparisons)),
        moved=_moved(registry, published, comparisons),
        notes=(f"public kernels under the assumptions {assumptions}",) if assumptions.off else (),
    )


def _by_id(rows: Iterable[Comparison]) -> dict[str, Comparison]:
    return {row.id: row for row in rows if row.use is not Use.SAME_OPERATION}


def _steps(registry: Registry, published: Published, rows: Iterable[Comparison]) -> tuple[Step, ...]:
    by_id = _by_id(rows)
    found: list[Step] = []
    for name, points in published.items():
        path = registry.generations[name].points_file
        assert path is not None
        for sequence in load_sequences(path, points):
            found += pairs(sequence, by_id)
    return tuple(found)


def _moved(registry: Registry, published: Published, rows: Iterable[Comparison]) -> tuple[Moved, ...]:
    by_id = _by_id(rows)
    found: list[Moved] = []
    for name, points in published.items():
        if path := registry.generations[name].untouched_file:
            for frozen in load_untouched(path, (point.id for point in points)):
                found += moved(frozen, by_id)
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
    predict: Adapter = resolve(adapter)
    try:
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
        return msgspec.structs.replace(row, e_cross=row.e)
    if point.shaped or not can_refit(costs, point):
        return row
    crossed = _without(point, bench, predict)
    return msgspec.structs.replace(row, e_cross=error_of(point, crossed))


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
    return msgspec.structs.replace(row, active=prediction.active)
