"""The versions of the result document: what is read, what is brought up to date, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from trnbench.errors import BadInput
from trnbench.results.run import SCHEMA_VERSION, Run

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
    if all("vote" in point for point in points) and not any(
        "bounds_held" in row for row in [*document.get("families", ()), *document.get("public", ())]
    ):
        return document
    return {
        **document,
        "points": [_point(point) for point in points],
        "families": [],
        "public": [],
        "notes": [*document.get("notes", ()), NOTE],
    }


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


"""A run as plain JSON values."""

SCHEMA_ID = f"https://trnbench.invalid/schema/run-{SCHEMA_VERSION}.json"
"""Names the schema; nothing is ever fetched from it (RFC 2606 reserves `.invalid`)."""


def _without_fidelity(document: Document) -> Document:
    """A run of version 1 says nothing about its model's error, and keeps saying nothing."""
    return document


def _without_nearness(document: Document) -> Document:
    """Numbers of version 2 do not say how near published evidence stands; the flag that stood for it was
    about links alone, and nothing is guessed from it. Its errors of the model were of rates."""

    def renewed(measurement: Any) -> Any:
        evidence = measurement.get("evidence") if isinstance(measurement, dict) else None
        if not isinstance(evidence, dict) or "unvalidated" not in evidence:
            return measurement
        kept = {name: value for name, value in evidence.items() if name != "unvalidated"}
        return {**measurement, "evidence": kept}

    found, fidelity = document.get("measurements"), document.get("fidelity")
    if isinstance(found, list):
        document = {**document, "measurements": [renewed(each) for each in found]}
    if isinstance(fidelity, dict):
        document = {**document, "fidelity": old_fidelity(fidelity)}
    return document


def _without_processes(document: Document) -> Document:
    """Measurements of version 3 came from one process, and say nothing about an interval between several.
    Their runs did not keep the texts that they were made from: `inputs` stays empty. The first of them had
    the errors of their model as version 2 had them."""
    fidelity = document.get("fidelity")
    return {**document, "fidelity": old_fidelity(fidelity)} if isinstance(fidelity, dict) else document


MIGRATIONS: dict[int, Callable[[Document], Document]] = {
    1: _without_fidelity,
    2: _without_nearness,
    3: _without_processes,
}
"""From version n to n + 1."""


def json_schema() -> Document:
    """The JSON Schema (2020-12) of a run, for those who read results without trnbench."""
    schema = msgspec.json.schema(Run)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "trnbench run",
        **schema,
    }


def check_version(version: object, where: str) -> int:
    """The version of a document from `where`, if this trnbench can read or migrate it.

    Raises `BadInput` for anything else.
    """
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise BadInput(
            f"{where} has no usable schema_version (found {version!r})",
            cause="it is not a trnbench result, or it was edited by hand",
            try_="trnbench export RUN --as json  writes one that can be read back",
        )
    if version > SCHEMA_VERSION:
        raise BadInput(
            f"{where} is written in result schema {version}; this trnbench reads up to {SCHEMA_VERSION}",
            cause="a newer trnbench wrote it",
            try_="pip install --upgrade trnbench",
        )
    return version


def migrated(document: Document, where: str, chain: Mapping[int, Callable[[Document], Document]]) -> Document:
    """`document` brought to the present version, one step of `chain` after the other.

    Raises `BadInput` when the version is unknown, a step is missing, or the document is not of its version.
    """
    version = check_version(document.get("schema_version"), where)
    while version < SCHEMA_VERSION:
        step = chain.get(version)
        if step is None:
            raise BadInput(
                f"{where} is written in result schema {version}, which this trnbench no longer reads",
                cause=f"there is no step from schema {version} to {version + 1}",
                try_="open it with the trnbench that wrote it and export it again",
            )
        version += 1
        try:
            document = {**step(document), "schema_version": version}
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise BadInput(
                f"{where} cannot be brought from result schema {version - 1} to {version}",
                cause=f"it is damaged, or was edited by hand: {type(error).__name__}: {error}",
                try_="use a copy that is whole; where it is of a store: trnbench store repair",
            ) from error
    return document
