"""The fidelity tables as rows, and as the Markdown that README shows."""

from __future__ import annotations

from typing import Any, TypeAlias

from trnbench.errors import BadInput
from trnbench.results.fidelity import Errors, FamilyFidelity, Fidelity, Use

Row: TypeAlias = dict[str, Any]

BEGIN = "<!-- fidelity: begin (trnbench validate --format md) -->"
END = "<!-- fidelity: end -->"
"""Between these two lines README has what `markdown` returns; a test compares them."""

_OPEN = (Use.NEEDS_SOURCE, Use.NO_KERNEL, Use.NOT_EMULATED, Use.NOT_USED)


def family_row(family: FamilyFidelity) -> Row:
    """All there is of one family, errors as fractions, None where there is no point."""
    row: Row = {"family": family.name, "title": family.title}
    row |= _errors(family.errors, "")
    row |= {"in_sample": family.in_sample}
    row |= _errors(family.cross_validated, "cross_validated_")
    bounds = family.uses.get(str(Use.BOUND), 0)
    row |= {"bounds": bounds, "bounds_held": family.bounds_held}
    row |= {
        str(use).replace(" ", "_"): family.uses.get(str(use), 0)
        for use in (Use.CONTRADICTED, Use.SAME_OPERATION, *_OPEN)
    }
    return row


def _errors(found: Errors | None, prefix: str) -> Row:
    return {
        f"{prefix}points": found.count if found else 0,
        f"{prefix}median": found.median if found else None,
        f"{prefix}p90": found.p90 if found else None,
        f"{prefix}worst": found.worst if found else None,
        f"{prefix}bias": found.bias if found else None,
        f"{prefix}worst_point": found.worst_id if found else "",
    }


def percent(fraction: float) -> str:
    """An error in per cent, two significant digits below 10 %, none behind the point above."""
    return f"{fraction * 100:.0f} %" if abs(fraction) >= 0.0995 else f"{fraction * 100:.1f} %"


def signed(fraction: float) -> str:
    """The same with its sign; a true minus, so that columns line up. What rounds to nothing has none."""
    text = percent(abs(fraction))
    return text if text == "0.0 %" else ("+" if fraction >= 0 else "−") + text


def markdown(fidelity: Fidelity) -> str:
    """Two tables: the model as it stands, and without the points its constants were fitted on."""
    shown = [each for each in fidelity.families if each.errors]
    lines = [
        f"Model: {fidelity.by} {fidelity.version}".rstrip() + ". Errors of points emulated as stated, worst "
        "family first; bias is the median error of the time, + when the model is slower than the machine.",
        "",
        "In-sample: every such point, those included on which a constant was fitted.",
        "",
        "| family | points | fitted on | median | p90 | worst | bias |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(_line(each, each.errors, str(each.in_sample)) for each in shown),
        "",
        "Cross-validated: points held out, and fitted ones with every constant fitted without that point.",
        "",
        "| family | points | median | p90 | worst | bias |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(_line(each, each.cross_validated) for each in shown),
    ]
    apart = _apart(fidelity)
    return "\n".join([*lines, *(["", apart] if apart else [])]) + "\n"


def inserted(text: str, table: str, begin: str = BEGIN, end: str = END) -> str:
    """`text` with what stands between the lines `begin` and `end` replaced by `table`.

    Raises `BadInput` unless both are there once, in this order.
    """
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed or begin in after or end in after:
        raise BadInput(
            "the text does not have the two lines between which the table stands",
            cause="each has to be there once, in this order",
            try_=f"add {begin} and {end}",
        )
    return f"{before}{begin}\n\n{table}\n{end}{after}"


def _line(family: FamilyFidelity, errors: Errors | None, fitted: str | None = None) -> str:
    middle = [fitted] if fitted is not None else []
    if errors is None:
        cells = ["0", *middle, "–", "–", "–", "–"]
    else:
        values = (percent(errors.median), percent(errors.p90), percent(errors.worst), signed(errors.bias))
        cells = [str(errors.count), *middle, *values]
    return f"| {' | '.join([family.title, *cells])} |"


def _apart(fidelity: Fidelity) -> str:
    """What is not in the tables, counted in a sentence."""
    total: dict[str, int] = {}
    for family in fidelity.families:
        for use, count in family.uses.items():
            total[use] = total.get(use, 0) + count
    held = sum(family.bounds_held for family in fidelity.families)
    parts = []
    if found := total.get(str(Use.CONTRADICTED)):
        parts.append(f"{found} points that other sources contradict")
    if found := total.get(str(Use.BOUND)):
        parts.append(f"{found} upper bounds, {held} of them held")
    if found := total.get(str(Use.NEEDS_SOURCE)):
        parts.append(f"{found} that need the public kernel (--kernels)")
    if found := total.get(str(Use.NO_KERNEL)):
        parts.append(f"{found} whose kernel cannot be had (--sources says why)")
    if found := total.get(str(Use.NOT_EMULATED)):
        parts.append(f"{found} that the model cannot take")
    if found := total.get(str(Use.NOT_USED)):
        parts.append(f"{found} that say too little or something else")
    return f"Not in these tables: {'; '.join(parts)}." if parts else ""
