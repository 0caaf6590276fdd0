"""How many of the published points a table counts, and what became of the rest."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.results.fidelity import Comparison, Use

_WORDS = {
    Use.NEEDS_SOURCE: "need the public kernel (--kernels)",
    Use.NO_KERNEL: "have a kernel that cannot be had",
    Use.NOT_EMULATED: "the model refuses or has no answer for",
    Use.NOT_USED: "say too little or something else",
}


def coverage(points: Iterable[Comparison]) -> str:
    """`Counts 229 of 373 published points (61 %): 201 measured and 28 bounds. Of the rest 91 say too little …`

    Our own kernels beside published ones are no published points. `--points` has the reason of each.
    """
    mine = [each.use for each in points if each.use is not Use.SAME_OPERATION]
    bounds = mine.count(Use.BOUND)
    measured = mine.count(Use.EMULATED) + mine.count(Use.CONTRADICTED)
    total = measured + bounds
    share = f" ({total / len(mine):.0%})".replace("%", " %") if mine else ""
    parts = f"{measured} measured" + (f" and {bounds} {_plural(bounds, 'bound')}" if bounds else "")
    text = f"Counts {total} of {len(mine)} published {_plural(len(mine), 'point')}{share}: {parts}."
    rest = sorted(((mine.count(use), words) for use, words in _WORDS.items() if use in mine), reverse=True)
    if rest:
        text += f" Of the rest {'; '.join(f'{count} {words}' for count, words in rest)}."
    return text


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
