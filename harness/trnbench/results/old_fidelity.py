"""The comparison of a run of result schema 2, brought to today's."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]

_HONESTY = {"in-sample": "fitted"}
_USES = {"held out": "emulated", "in-sample": "emulated"}
_GONE = ("error", "slower", "cross_validated", "held")

NOTE = (
    "statistics of this run were stored as errors of rates, counted by rows: they are not shown, only its "
    "points are"
)


def old_fidelity(document: Document) -> Document:
    """`Run.fidelity` of schema 2 as `Fidelity` reads it; what is of today's form comes back as it is.

    Points keep their numbers, with e made of them. Their votes and what rules were chosen on was not
    recorded, so statistics cannot be made again: families and public kernels are left out, `NOTE` says so.
    """
    points = document.get("points", ())
    if all("vote" in each for each in points) and not any("bounds_held" in each for each in _rows(document)):
        return document
    return {
        **document,
        "points": [_point(each) for each in points],
        "families": [],
        "public": [],
        "notes": [*document.get("notes", ()), NOTE],
    }


def _rows(document: Document) -> list[Document]:
    return [*document.get("families", ()), *document.get("public", ())]


def _point(old: Document) -> Document:
    use = old["use"]
    point = {key: value for key, value in old.items() if key not in _GONE}
    point |= {"use": _USES.get(use, use), "vote": old["id"], "honesty": _HONESTY.get(use, "")}
    slower, published, crossed = old.get("slower"), old.get("published"), old.get("cross_validated")
    if slower is not None and slower > -1:
        point["e"] = math.log1p(slower)
    if published and crossed:
        point["e_cross"] = math.log(crossed / published) * (1 if old["unit"] == "s" else -1)
    return point
