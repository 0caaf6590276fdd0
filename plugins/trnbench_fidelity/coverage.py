"""How many of the published points a table counts, and what became of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from trnbench.results.fidelity import FamilyFidelity, Use

_WORDS = {
    Use.NEEDS_SOURCE: "need the source of a public kernel",
    Use.NO_KERNEL: "have a kernel that cannot be had",
    Use.NOT_EMULATED: "the model refuses or has no answer for",
    Use.NOT_USED: "say too little or something else",
}


def coverage(uses: Mapping[str, int]) -> str:
    """`Counts 229 of 373 published points (61 %): 201 measured and 28 bounds. Of the rest 91 say too …`

    `uses` counts published points by `Use`; `trnbench validate --points` has the reason of each.
    """
    count = {use: uses.get(str(use), 0) for use in Use}
    bounds, measured = count[Use.BOUND], count[Use.EMULATED] + count[Use.CONTRADICTED]
    total, everything = measured + bounds, sum(uses.values())
    share = f" ({100 * total / everything:.0f} %)" if everything else ""
    parts = f"{measured} measured" + (f" and {bounds} {_plural(bounds, 'bound')}" if bounds else "")
    text = f"Counts {total} of {everything} published {_plural(everything, 'point')}{share}: {parts}."
    rest = sorted(((count[use], words) for use, words in _WORDS.items() if count[use]), reverse=True)
    if rest:
        text += f" Of the rest {'; '.join(f'{number} {words}' for number, words in rest)}."
    return text


def of_rows(families: Iterable[FamilyFidelity]) -> dict[str, int]:
    """What became of the points of all these rows together."""
    total: Counter[str] = Counter()
    for each in families:
        total.update(each.uses)
    return dict(total)


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
