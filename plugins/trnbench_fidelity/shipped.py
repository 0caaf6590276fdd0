"""Rows that take seconds to make, shipped with each generation: runs read them as long as nothing that they
follow from is another."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

from trnbench.bounded.file import TABLE, read_file
from trnbench.errors import BadInput
from trnbench.store.source_digest import files_digest
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.inputs import lineage

if TYPE_CHECKING:
    from trnbench.registry import Registry

RENEW = "make it anew: docs/fidelity.md, Nearness and bands"

Row = TypeVar("Row", bound=msgspec.Struct)


class Shipped(msgspec.Struct, Generic[Row], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of one generation by the model named; `files` is `digest` of what they were made from."""

    generation: str
    by: str
    version: str
    files: str
    rows: tuple[Row, ...]


def stamped(registry: Registry, generation: str, rows: Iterable[Row]) -> Shipped[Row]:
    """Rows that the installed model has just made."""
    by, version = Bench(registry).model()
    return Shipped(
        generation=generation, by=by, version=version, files=digest(registry, generation), rows=tuple(rows)
    )


def read(path: Path, row: type[Row], called: str) -> Shipped[Row]:
    """Raises `BadInput` for what holds no such rows, which are `called` so."""
    snapshot: Any = Shipped[row]  # type: ignore[valid-type]
    try:
        return cast("Shipped[Row]", msgspec.json.decode(read_file(path, most=TABLE), type=snapshot))
    except (msgspec.MsgspecError, RecursionError, BadInput) as error:
        raise BadInput(
            f"{path} does not hold {called}: {error.args[0]}",
            cause="it was not made from a comparison with published points, or by another trnbench",
            try_=RENEW,
        ) from None


def as_json(snapshot: Shipped[Row]) -> str:
    """What `read` reads, for people to compare line by line."""
    return msgspec.json.format(msgspec.json.encode(snapshot), indent=1).decode() + "\n"


def outdated(registry: Registry, generation: str, snapshot: Shipped[Row]) -> str:
    """Why the rows do not hold any more; "" while model, facts, costs and points are those of their making.

    The model's code is known by its version alone: a test of ours holds every shipped row to what that gives.
    """
    model = Bench(registry).model()
    if (snapshot.by, snapshot.version) != model:
        return f"they were timed by {snapshot.by} {snapshot.version}, this run is by {' '.join(model)}"
    if snapshot.files != digest(registry, generation):
        return "facts, costs or points have changed since they were timed"
    return ""


def digest(registry: Registry, generation: str) -> str:
    """SHA-256 of the facts, costs and points that the rows follow from, those of its bases included."""
    own, *bases = lineage(registry, generation)
    paths = [*own.facts, own.costs, own.published]
    for base in bases:
        paths += [*base.facts, base.costs]
    return files_digest(path for path in paths if path is not None).hex()
