"""What the clocks allow: the bound that no honest result exceeds."""

from __future__ import annotations

from fractions import Fraction

from trnbench.facts.fact import Fact
from trnbench.facts.peak import Peak, PeakPolicy
from trnbench.facts.scope import Direction, Scope
from trnbench.generation import System
from trnbench.kernels.extent import Extent
from trnbench.peaks.candidate import show_printed
from trnbench.peaks.once import once_for_system
from trnbench.peaks.parts import Parts, times
from trnbench.peaks.rate_factor import rate_factor


@once_for_system
def engine_rate(system: System, dtype: str, sparse: bool = False) -> Peak | None:
    """The tensor engine of one core: rows × columns × 2 × clock × factor of the data type.

    None where the documents lack one of the terms, or give no rate for the data type.
    """
    core = system.instance.core
    rows, columns = current_fact(system, core, "array_rows"), current_fact(system, core, "array_columns")
    clock = current_fact(system, core, "clock", "tensor")
    factor = rate_factor(system, dtype, sparse)
    if rows is None or columns is None or clock is None or factor is None:
        return None
    times, why, ids = factor
    value = exact(rows) * exact(columns) * 2 * exact(clock) * times
    return Peak(
        metric="peak_flops",
        value=float(value),
        scope=Scope.CORE,
        dtype=dtype,
        sparse=sparse,
        evidence="derived",
        formula=f"{rows.printed} rows × {columns.printed} columns × 2 × {show_printed(clock)}{why}",
        facts=(rows.id, columns.id, clock.id, *ids),
        source=clock.source,
        policy=PeakPolicy.ENGINE,
    )


def engine_bound(
    system: System,
    *,
    metric: str,
    scope: Scope,
    dtype: str = "",
    sparse: bool = False,
    qualifier: str = "",
    direction: Direction = Direction.NONE,
    extent: Extent | None = None,
) -> Peak | None:
    """The bound at `scope`, or None where no document gives the clocks or widths it follows from.

    FLOP and element rates come from the engine's clock, DMA from its engines, EFA from its adapters (not
    below the scope they are counted for: they are shared). Memory and NeuronLink have none: the documents
    give those as totals only.
    """
    parts = Parts.of(system, extent)
    if not parts.has(scope):
        return None
    if metric == "peak_flops":
        whole = qualifier in ("", "tensor")
        one = engine_rate(system, dtype, sparse) if whole else _lane_rate(system, dtype, sparse, qualifier)
    elif metric == "element_rate":
        one = _element_rate(system, dtype, qualifier)
    elif metric == "dma_bandwidth":
        one = _units(system, metric, scope, "dma_engine_count", "dma_engine_bandwidth", "engines")
    elif metric == "efa_bandwidth":
        one = _units(system, metric, scope, "efa_adapter_count", "efa_adapter_bandwidth", "adapters")
    else:
        return None
    if one is None or not parts.has(one.scope):
        return None
    factor, arithmetic = parts.step(one.scope, scope)
    return Peak(
        metric=metric,
        value=times(one.value, factor),
        scope=scope,
        dtype=dtype,
        sparse=sparse,
        direction=direction,
        qualifier=qualifier,
        evidence="derived",
        formula=f"{one.formula} {arithmetic}".strip(),
        facts=one.facts,
        source=one.source,
        policy=PeakPolicy.ENGINE,
    )


def _lane_rate(system: System, dtype: str, sparse: bool, engine: str) -> Peak | None:
    """Vector, scalar and GpSimd: elements per cycle × clock × operations the documents count for each."""
    core = system.instance.core
    if sparse:
        return None
    elements = current_fact(system, core, "elements_per_cycle", engine, dtype)
    clock = current_fact(system, core, "clock", engine)
    per_element = current_fact(system, core, "operations_per_element", engine, dtype)
    if elements is None or clock is None or per_element is None:
        return None
    value = exact(elements) * exact(clock) * exact(per_element)
    return Peak(
        metric="peak_flops",
        value=float(value),
        scope=Scope.CORE,
        dtype=dtype,
        evidence="derived",
        formula=f"{elements.printed} elements per cycle × {show_printed(clock)} "
        f"× {per_element.printed} operations",
        facts=(elements.id, clock.id, per_element.id),
        source=clock.source,
    )


def _element_rate(system: System, dtype: str, engine: str) -> Peak | None:
    """Elements per cycle × clock: what the documents say without counting operations for an element."""
    core = system.instance.core
    elements = current_fact(system, core, "elements_per_cycle", engine, dtype)
    clock = current_fact(system, core, "clock", engine)
    if elements is None or clock is None:
        return None
    return Peak(
        metric="element_rate",
        value=float(exact(elements) * exact(clock)),
        scope=Scope.CORE,
        dtype=dtype,
        qualifier=engine,
        evidence="derived",
        formula=f"{elements.printed} elements per cycle × {show_printed(clock)}",
        facts=(elements.id, clock.id),
        source=elements.source,
        policy=PeakPolicy.ENGINE,
    )


def _units(system: System, metric: str, scope: Scope, count: str, rate: str, noun: str) -> Peak | None:
    """`count` units of the highest `rate` any current document gives one of them, per part counted.

    The part is the largest one up to `scope`. Units counted for more than `scope` are shared: a
    device may have all adapters of its instance for a while, so that an even share bounds nothing.
    """
    instance = system.instance
    for subject in (instance.name, instance.parent, instance.device, instance.core):
        number = current_fact(system, subject, count)
        if number is None or not number.value or number.scope.rank > scope.rank:
            continue
        rates = [
            fact
            for place in dict.fromkeys((subject, instance.device, instance.core))
            for fact in system.book.select(place, rate)
            if fact.value and not fact.superseded_by
        ]
        if not rates:
            continue
        best = max(rates, key=exact)
        return Peak(
            metric=metric,
            value=float(exact(number) * exact(best)),
            scope=number.scope,
            evidence="derived",
            formula=f"{number.printed} {noun} × {show_printed(best)}",
            facts=(number.id, best.id),
            source=best.source,
        )
    return None


def current_fact(
    system: System, subject: str, metric: str, qualifier: str = "", dtype: str = ""
) -> Fact | None:
    """The first current fact, None where there is none; one that names `dtype` goes before one that names
    none."""
    if not subject:
        return None
    found = [
        fact
        for fact in system.book.select(subject, metric, qualifier=qualifier)
        if fact.value is not None and (not fact.dtypes or not dtype or dtype in fact.dtypes)
    ]
    current = [fact for fact in found if not fact.superseded_by] or found
    named = [fact for fact in current if fact.dtypes] if dtype else []
    return next(iter(named or current), None)


def exact(fact: Fact) -> Fraction:
    """Its value in the base unit of its metric; 0 where the document prints none."""
    return Fraction(fact.value or 0.0)
