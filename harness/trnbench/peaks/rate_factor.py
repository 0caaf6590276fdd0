"""How many times faster or slower than dense BF16 the tensor engine is at a data type."""

from __future__ import annotations

from fractions import Fraction

from trnbench.facts.disagreement import claim
from trnbench.generation import System

REFERENCE = "bf16"
"""The data type whose rate is rows × columns × 2 × clock; others are factors of it."""

TENSOR_MODES = ("", "tensor", "mx", "double row")
"""Qualifiers under which a rate_factor speaks of matrix products."""


def rate_factor(system: System, dtype: str, sparse: bool) -> tuple[Fraction, str, tuple[str, ...]] | None:
    """(factor against dense BF16, its words in a formula, fact ids); None where no document tells.

    In this order: a fact of metric rate_factor about the tensor engine or one of its modes; the
    cost file's [rate_factor] table ("bf16" for dense, "sparse-bf16" for sparse data); the ratio of
    two peaks that one document prints for the core; a document that prints one peak for the type
    and for BF16 together, whatever its scope.
    """
    core = system.instance.core
    label = f"sparse {dtype}" if sparse else dtype
    for fact in system.book.select(core, "rate_factor", dtype=dtype, sparse=sparse):
        if fact.value and fact.qualifier in TENSOR_MODES and dtype in fact.dtypes and not fact.superseded_by:
            return _worded(Fraction(fact.value).limit_denominator(64), label, (fact.id,))
    listed = system.costs.get("rate_factor", {})
    key = f"sparse-{dtype}" if sparse else dtype
    if key in listed:
        return _worded(Fraction(listed[key]).limit_denominator(64), label, ())
    if dtype == REFERENCE and not sparse:
        return Fraction(1), "", ()
    return _printed_ratio(system, dtype, sparse, label) or _printed_together(system, dtype, sparse, label)


def _printed_ratio(
    system: System, dtype: str, sparse: bool, label: str
) -> tuple[Fraction, str, tuple[str, ...]] | None:
    """The simplest ratio that two rounded peaks of one source allow: 23 of 92 TFLOPS is 1/4."""
    peaks = [
        fact
        for fact in system.book.select(system.instance.core, "peak_flops")
        if fact.value and fact.qualifier in ("", "tensor") and not fact.superseded_by
    ]
    for fact in (each for each in peaks if dtype in each.dtypes and each.sparse == sparse):
        for base in (each for each in peaks if REFERENCE in each.dtypes and not each.sparse):
            if fact.source == base.source:
                one, other = claim(fact), claim(base)
                low = Fraction(one.low or 0.0) / Fraction(other.high or 1.0)
                high = Fraction(one.high or 0.0) / Fraction(other.low or 1.0)
                return _worded(_simplest(low, high), label, (fact.id, base.id))
    return None


def _printed_together(
    system: System, dtype: str, sparse: bool, label: str
) -> tuple[Fraction, str, tuple[str, ...]] | None:
    instance = system.instance
    for subject in (instance.core, instance.device, instance.name, instance.parent):
        for fact in system.book.select(subject, "peak_flops", dtype=dtype, sparse=sparse) if subject else ():
            if REFERENCE in fact.dtypes and dtype != REFERENCE and fact.qualifier in ("", "tensor"):
                same = rate_factor(system, REFERENCE, sparse)
                if same is not None:
                    return _worded(same[0], label, (*same[2], fact.id))
    return None


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the smallest denominator in an interval."""
    middle = (low + high) / 2
    for denominator in range(1, 17):
        near = Fraction(round(middle * denominator), denominator)
        if low <= near <= high:
            return near
    return middle


def _worded(factor: Fraction, label: str, ids: tuple[str, ...]) -> tuple[Fraction, str, tuple[str, ...]]:
    if factor == 1:
        return factor, "", ids
    sign, number = ("×", factor) if factor > 1 else ("/", 1 / factor)
    return factor, f" {sign} {float(number):g} ({label})", ids
