"""Holds the emulator against every published point of the installed generations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.compiler import AS_SHIPPED, Assumptions
from trnbench.errors import FactError, TrnbenchError
from trnbench.fidelity import same
from trnbench.fidelity.bench import Bench, can_refit, fits_of
from trnbench.fidelity.family import FAMILIES
from trnbench.fidelity.load import load_published
from trnbench.fidelity.point import Kind, PublishedPoint, Usable
from trnbench.fidelity.prediction import NotEmulated, Prediction
from trnbench.fidelity.statistics import of_family, relative_error, slower, worst_first
from trnbench.lazy import resolve
from trnbench.results.fidelity import Comparison, Fidelity, Use

if TYPE_CHECKING:
    from trnbench.registry import Registry

Adapter = Callable[[PublishedPoint, Bench], Prediction]


def published_points(
    registry: Registry, generations: Collection[str] = ()
) -> dict[str, tuple[PublishedPoint, ...]]:
    """Generation → its points, for those that bring a file of them.

    Raises what `load_published` raises, and `FactError` when two files have a point of one id.
    """
    found: dict[str, tuple[PublishedPoint, ...]] = {}
    owners: dict[str, Path] = {}
    for name, generation in registry.generations.items():
        path = generation.published
        if path is None or (generations and name not in generations):
            continue
        found[name] = load_published(path, name)
        for point in found[name]:
            if point.id in owners:
                raise FactError(
                    f"{path}: id {point.id!r} is used twice",
                    cause=f"{owners[point.id]} has it too",
                    try_="give each point an id of its own",
                )
            owners[point.id] = path
    return found


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
) -> Fidelity:
    """Every published point emulated as far as that is possible; all of them unless some are named.

    `systems` are names of instances; one without a size means every size of it. `kernels` is a folder
    of public sources. `with_same` adds our own kernels of the same operation. `sources`: only the points
    that were measured with a public kernel. `assumptions`: what their compiler is taken to do; others than
    those of the shipped model are told in `notes`.
    """
    bench = Bench(registry, kernels=kernels, assumptions=assumptions)
    comparisons: list[Comparison] = []
    for points in published_points(registry, generations).values():
        for point in points:
            if families and point.family not in families:
                continue
            if systems and not systems & {point.system, point.system.partition(":")[0]}:
                continue
            if sources and (point.usable is not Usable.SOURCE or point.value is None):
                continue
            comparisons += compare(point, bench, with_same=with_same)
    present = {each.family for each in comparisons}
    rows = [of_family(family, comparisons) for family in FAMILIES.values() if family.name in present]
    by, version = _model(bench)
    notes = (f"public kernels under the assumptions {assumptions}",) if assumptions.off else ()
    return Fidelity(
        by=by, version=version, families=worst_first(rows), points=tuple(comparisons), notes=notes
    )


def compare(point: PublishedPoint, bench: Bench, *, with_same: bool = True) -> list[Comparison]:
    """One row for the point, and one for our kernel of the same operation where there is one."""
    rows = [_compared(point, bench)]
    if with_same and point.usable is Usable.SOURCE and point.value is not None:
        try:
            found = same.predict(point, bench)
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
        found = predict(point, bench)
    except NotEmulated as no:
        return _row(point, Use.NEEDS_SOURCE if no.source_missing else Use.NOT_EMULATED, how=no.why)
    except Exception as error:  # a model's mistake costs its own points, never the run
        what = error.what if isinstance(error, TrnbenchError) else f"{type(error).__name__}: {error}"
        return _row(point, Use.NOT_EMULATED, how=what)
    if point.kind is Kind.UPPER_BOUND:
        return _row(point, Use.BOUND, found)
    if point.contradicts:
        against = f"against {', '.join(point.contradicts)}; measured with {point.how_measured}"
        return _row(point, Use.CONTRADICTED, found, how=f"{against}; {point.notes}".removesuffix("; "))
    costs = bench.system(point.system).costs
    if not fits_of(costs, point):
        return _row(point, Use.HELD_OUT, found, crossed=found.value)
    crossed = _without(point, bench, predict) if can_refit(costs, point) else None
    return _row(point, Use.IN_SAMPLE, found, crossed=crossed)


def _without(point: PublishedPoint, bench: Bench, predict: Adapter) -> float | None:
    """The answer of a model whose constants have not seen the point."""
    try:
        return predict(point, bench.unseen(point)).value
    except Exception:  # as above: the point then has no cross-validated figure
        return None


def _row(
    point: PublishedPoint,
    use: Use,
    found: Prediction | None = None,
    *,
    crossed: float | None = None,
    how: str = "",
) -> Comparison:
    error = held = None
    if found is not None and point.value is not None:
        error = relative_error(found.value, point.value)
        if point.kind is Kind.UPPER_BOUND:
            held = found.value <= point.value
    lower = point.quantity.lower_is_better
    return Comparison(
        id=point.id,
        family=point.family,
        generation=point.generation,
        use=use,
        quantity=str(point.quantity),
        unit=point.quantity.unit,
        published=point.value,
        emulated=found.value if found else None,
        error=error,
        slower=None if error is None else slower(error, lower_is_better=lower),
        cross_validated=crossed,
        held=held,
        how="; ".join(filter(None, (found.how if found else "", how))),
        source=point.source,
        confidence=point.confidence,
    )


def _model(bench: Bench) -> tuple[str, str]:
    """Name and version of the model as runs record them."""
    try:
        said = bench.backend.environment()
    except NotEmulated:
        return "no emulator", ""
    return str(said.get("emulator_model", bench.backend.name)), str(said.get("emulator_model_version", ""))


def kept(fidelity: Fidelity, notes: Iterable[str] = ()) -> Fidelity:
    """What a run stores: the statistics, and only points with a number from the model."""
    import msgspec

    points = tuple(each for each in fidelity.points if each.emulated is not None)
    return msgspec.structs.replace(fidelity, points=points, notes=(*fidelity.notes, *notes))
