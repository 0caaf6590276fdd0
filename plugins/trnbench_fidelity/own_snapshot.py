"""Our own products beside published ones, as they were when the model was last compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.errors import BadInput
from trnbench.results.own_product import OwnProduct
from trnbench_fidelity.same import products
from trnbench_fidelity.shipped import Shipped, outdated, stamped
from trnbench_fidelity.shipped import read as read_shipped

if TYPE_CHECKING:
    from trnbench.registry import Registry


def read(path: Path) -> Shipped[OwnProduct]:
    """Raises `BadInput` for what holds no rows."""
    return read_shipped(path, OwnProduct, "products")


def made(registry: Registry, generation: str) -> Shipped[OwnProduct]:
    """The rows as the installed model makes them now. Raises what `products` raises."""
    return stamped(registry, generation, products(registry, generation))


def shipped(registry: Registry, generation: str) -> tuple[tuple[OwnProduct, ...], str]:
    """The rows that are shipped, and why there are none: "" where there are, or nothing is shipped."""
    path = registry.generations[generation].products
    if path is None:
        return (), ""
    try:
        snapshot = read(path)
        why = outdated(registry, generation, snapshot)
    except BadInput as error:
        why = error.what
    if why:
        return (), f"our own products are not set beside published ones of {generation}: {why}"
    return snapshot.rows, ""
