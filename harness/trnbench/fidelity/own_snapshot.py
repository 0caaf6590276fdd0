"""Our own products beside published ones, as they were when the model was last compared: to time them takes
seconds, so a snapshot of the rows is shipped with each generation and runs read that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trnbench.bounded.file import TABLE, read_file
from trnbench.errors import BadInput
from trnbench.fidelity.bench import Bench
from trnbench.fidelity.same import products
from trnbench.results.own_product import OwnProduct
from trnbench.store.source_digest import files_digest

if TYPE_CHECKING:
    from trnbench.registry import Registry

RENEW = "make it anew: docs/fidelity.md, Nearness and bands"


class OwnProducts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of one generation by the model named; `files` is `digest` of what they were made from."""

    generation: str
    by: str
    version: str
    files: str
    rows: tuple[OwnProduct, ...]


def read(path: Path) -> OwnProducts:
    """Raises `BadInput` for what holds no rows."""
    try:
        return msgspec.json.decode(read_file(path, most=TABLE), type=OwnProducts)
    except (msgspec.MsgspecError, RecursionError, BadInput) as error:
        raise BadInput(
            f"{path} does not hold products: {error.args[0]}",
            cause="it was not made from a comparison with published points, or by another trnbench",
            try_=RENEW,
        ) from None


def as_json(made: OwnProducts) -> str:
    """What `read` reads, for people to compare line by line."""
    return msgspec.json.format(msgspec.json.encode(made), indent=1).decode() + "\n"


def made(registry: Registry, generation: str) -> OwnProducts:
    """The rows as the installed model makes them now. Raises what `products` raises."""
    by, version = Bench(registry).model()
    return OwnProducts(
        generation=generation,
        by=by,
        version=version,
        files=digest(registry, generation),
        rows=products(registry, generation),
    )


def shipped(registry: Registry, generation: str) -> tuple[tuple[OwnProduct, ...], str]:
    """The rows that are shipped, and why there are none: "" where there are, or nothing is shipped.

    They hold for the model, facts, costs and points that they were made with, and for no others.
    """
    path = registry.generations[generation].products
    if path is None:
        return (), ""
    missing = f"our own products are not set beside published ones of {generation}"
    try:
        snapshot = read(path)
    except BadInput as error:
        return (), f"{missing}: {error.what}"
    model = Bench(registry).model()
    if (snapshot.by, snapshot.version) != model:
        return (
            (),
            f"{missing}: they were timed by {snapshot.by} {snapshot.version}, "
            f"this run is by {' '.join(model)}",
        )
    if snapshot.files != digest(registry, generation):
        return (), f"{missing}: facts, costs or points have changed since they were timed"
    return snapshot.rows, ""


def digest(registry: Registry, generation: str) -> str:
    """SHA-256 of the facts, costs and points that the rows follow from, those of the base included."""
    own = registry.generations[generation]
    base = registry.generations.get(own.base)
    paths = [*own.facts, own.costs, own.published]
    if base is not None:
        paths += [*base.facts, base.costs]
    return files_digest(path for path in paths if path is not None).hex()
