"""The versions of the result document: what is read, what is brought up to date, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from trnbench.errors import BadInput
from trnbench.results.old_fidelity import old_fidelity
from trnbench.results.run import SCHEMA_VERSION, Run

Document: TypeAlias = dict[str, Any]
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
    Their runs did not keep the texts that they were made from: `inputs` stays empty."""
    return document


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

    Raises `BadInput` when the version is unknown or a step is missing.
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
        document = {**step(document), "schema_version": version}
    return document
