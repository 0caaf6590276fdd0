"""What the clocks allow: the bound that no honest result exceeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from trnbench.facts.disagreement import claim
from trnbench.facts.fact import Direction, Fact, Peak, PeakPolicy, Scope, show_printed
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.peaks.candidate import Parts, once_for_system, step

REFERENCE = "bf16"
"""The data type whose rate is rows × columns × 2 × clock; others are factors of it."""

TENSOR_MODES = ("", "tensor", "mx", "double row")
"""Qualifiers under which a rate_factor speaks of matrix products."""

Factor: TypeAlias = tuple[Fraction, str, tuple[str, ...]]
"""Factor against dense BF16, its words in a formula, fact ids."""


def rate_factor(system: System, dtype: str, sparse: bool) -> Factor | None:
    """Of a data type; None where no document tells.

    In this order: a fact of metric rate_factor about the tensor engine or one of its modes; the
    cost file's [rate_factor] table ("bf16" for dense, "sparse-bf16" for sparse data); the ratio of
    two peaks that one document prints for the core; a document that prints one peak for the type
    and for BF16 together, whatever its scope.
    """
    core = system.instance.core
    label = f"sparse {dtype}" if sparse else dtype
    for fact in system.book.select(core, "rate_factor", dtype=dtype, sparse=sparse):
        if fact.value and fact.qualifier in TENSOR_MODES and dtype in fact.dtypes and not fact.superseded_by:
            return _worded(Fraction(fact.value).limit_denominator(), label, (fact.id,))
    listed = system.costs.get("rate_factor", {})
    key = f"sparse-{dtype}" if sparse else dtype
    if key in listed:
        return _worded(Fraction(listed[key]).limit_denominator(), label, ())
    if dtype == REFERENCE and not sparse:
        return Fraction(1), "", ()
    return _printed_ratio(system, dtype, sparse, label) or _printed_together(system, dtype, sparse, label)


def _printed_ratio(system: System, dtype: str, sparse: bool, label: str) -> Factor | None:
    """The simplest ratio that two rounded peaks of one source allow: 23 of 92 TFLOPS is 1/4."""
    peaks = [
        fact
        for fact in system.book.select(system.instance.core, "peak_flops")
        if fact.value and fact.qualifier in ("", "tensor") and not fact.superseded_by
    ]
    for fact in (peak for peak in peaks if dtype in peak.dtypes and peak.sparse == sparse):
        for base in (peak for peak in peaks if REFERENCE in peak.dtypes and not peak.sparse):
            if fact.source == base.source:
                typed_claim, base_claim = claim(fact), claim(base)
                low = Fraction(typed_claim.low or 0.0) / Fraction(base_claim.high or 1.0)
                high = Fraction(typed_claim.high or 0.0) / Fraction(base_claim.low or 1.0)
                return _worded(_simplest(low, high), label, (fact.id, base.id))
    return None


def _printed_together(system: System, dtype: str, sparse: bool, label: str) -> Factor | None:
    instance = system.instance
    for subject in (instance.core, instance.device, instance.name, instance.parent):
        for fact in system.book.select(subject, "peak_flops", dtype=dtype, sparse=sparse) if subject else ():
            if REFERENCE in fact.dtypes and dtype != REFERENCE and fact.qualifier in ("", "tensor"):
                reference = rate_factor(system, REFERENCE, sparse)
                if reference is not None:
                    return _worded(reference[0], label, (*reference[2], fact.id))
    return None


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the smallest denominator in an interval."""
    middle = (low + high) / 2
    for denominator in range(1, 17):
        near = Fraction(round(middle * denominator), denominator)
        if low <= near <= high:
            return near
    return middle


def _worded(factor: Fraction, label: str, ids: tuple[str, ...]) -> Factor:
    if factor == 1:
        return factor, "", ids
    sign, number = ("×", factor) if factor > 1 else ("/", 1 / factor)
    return factor, f" {sign} {float(number):g} ({label})", ids


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
    rate: Peak | _Rate | None
    if metric == "peak_flops":
        tensor = qualifier in ("", "tensor")
        rate = engine_rate(system, dtype, sparse) if tensor else _lane_rate(system, dtype, sparse, qualifier)
    elif metric == "element_rate":
        rate = _element_rate(system, dtype, qualifier)
    elif metric == "dma_bandwidth":
        rate = _units(system, scope, "dma_engine_count", "dma_engine_bandwidth", "engines")
    elif metric == "efa_bandwidth":
        rate = _units(system, scope, "efa_adapter_count", "efa_adapter_bandwidth", "adapters")
    else:
        return None
    if rate is None or not parts.has(rate.scope):
        return None
    factor, arithmetic = step(parts, rate.scope, scope)
    return Peak(
        metric=metric,
        value=float(Fraction(rate.value) * factor),
        scope=scope,
        dtype=dtype,
        sparse=sparse,
        direction=direction,
        qualifier=qualifier,
        evidence="derived",
        formula=f"{rate.formula} {arithmetic}".strip(),
        facts=rate.facts,
        source=rate.source,
        policy=PeakPolicy.ENGINE,
    )


class _Rate(NamedTuple):
    """What one part of `scope` does, as a product of documented figures."""

    scope: Scope
    value: float
    formula: str
    facts: tuple[str, ...]
    source: str


def _rate(scope: Scope, facts: Sequence[Fact], formula: str, source: str) -> _Rate:
    value = math.prod(exact(fact) for fact in facts)
    return _Rate(scope, float(value), formula, tuple(fact.id for fact in facts), source)


def _lane_rate(system: System, dtype: str, sparse: bool, engine: str) -> _Rate | None:
    """Vector, scalar and GpSimd: elements per cycle × clock × operations the documents count for each."""
    core = system.instance.core
    if sparse:
        return None
    elements = current_fact(system, core, "elements_per_cycle", engine, dtype)
    clock = current_fact(system, core, "clock", engine)
    per_element = current_fact(system, core, "operations_per_element", engine, dtype)
    if elements is None or clock is None or per_element is None:
        return None
    formula = (
        f"{elements.printed} elements per cycle × {show_printed(clock)} × {per_element.printed} operations"
    )
    return _rate(Scope.CORE, (elements, clock, per_element), formula, clock.source)


def _element_rate(system: System, dtype: str, engine: str) -> _Rate | None:
    """Elements per cycle × clock: what the documents say without counting operations for an element."""
    core = system.instance.core
    elements = current_fact(system, core, "elements_per_cycle", engine, dtype)
    clock = current_fact(system, core, "clock", engine)
    if elements is None or clock is None:
        return None
    formula = f"{elements.printed} elements per cycle × {show_printed(clock)}"
    return _rate(Scope.CORE, (elements, clock), formula, elements.source)


def _units(system: System, scope: Scope, count: str, rate: str, noun: str) -> _Rate | None:
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
            for part_subject in dict.fromkeys((subject, instance.device, instance.core))
            for fact in system.book.select(part_subject, rate)
            if fact.value and not fact.superseded_by
        ]
        if rates:
            best = max(rates, key=exact)
            formula = f"{number.printed} {noun} × {show_printed(best)}"
            return _rate(number.scope, (number, best), formula, best.source)
    return None


def current_fact(
    system: System, subject: str, metric: str, qualifier: str = "", dtype: str = ""
) -> Fact | None:
    """The first current fact, None where there is none; one that names `dtype` goes before one that names
    none."""
    if not subject:
        return None
    facts = [
        fact
        for fact in system.book.select(subject, metric, qualifier=qualifier)
        if fact.value is not None and (not fact.dtypes or not dtype or dtype in fact.dtypes)
    ]
    current = [fact for fact in facts if not fact.superseded_by] or facts
    named = [fact for fact in current if fact.dtypes] if dtype else []
    return next(iter(named or current), None)


def exact(fact: Fact) -> Fraction:
    """Its value in the base unit of its metric; 0 where the document prints none."""
    return Fraction(fact.value or 0.0)
