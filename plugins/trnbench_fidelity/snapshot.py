"""The fidelity of a run: what its model got wrong, kept with its results.

The model's answers are those that are shipped with its generations; where they do not hold, it is asked anew.
Our own kernels of the same operation are no fidelity: `trnbench validate` has them. Of our own product alone
a run keeps what the model makes of each published shape, to be read beside its headline: the rows that are
shipped, or none.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.results.fidelity import Fidelity
from trnbench.store.cache import Cache
from trnbench_fidelity.bench import EMULATOR
from trnbench_fidelity.family import FAMILIES, LINKED
from trnbench_fidelity.inputs import inputs_of
from trnbench_fidelity.validation_cache import cached_validation

if TYPE_CHECKING:
    from trnbench.registry import Registry

_TIME_THEM = "Type: trnbench validate same --generation"
"""Times our own products anew; `.ci/renew answers` of a checkout ships them anew."""


def fidelity_of(
    registry: Registry,
    backend: str,
    generations: Collection[str],
    notes: list[str],
    *,
    linked: bool = True,
    multiplied: bool = False,
    cache: Cache | None = None,
) -> Fidelity | None:
    """None where the run's backend is not the emulator, or nothing is published of its generations.

    Without `linked` no kernel of the run uses links between devices, and the families that do are left out.
    `multiplied`: our own product is among them, and is set beside the published ones. `cache` keeps the
    answer for other processes.

    A file of points that cannot be read costs the run its fidelity, nothing else: `notes` say so.
    """
    brought = [name for name in generations if registry.generations[name].points_file is not None]
    if backend != EMULATOR or not brought:
        return None
    try:
        families = () if linked else tuple(name for name in FAMILIES if name not in LINKED)
        key = (inputs_of(registry, brought), families)
        if key not in _KNOWN:
            _KNOWN.clear()
            _KNOWN[key] = _kept(
                cached_validation(
                    registry, cache, generations=brought, families=families, with_same=False, shipped=True
                )
            )
        fidelity = _KNOWN[key]
        if not multiplied:
            return fidelity
        from trnbench_fidelity.answers import shipped_products

        own = {name: shipped_products(registry, name) for name in brought}
        outdated = {name: f"{why}. {_TIME_THEM} {name}" for name, (_, why) in own.items() if why}
        notes.extend(
            f"our own products are not set beside published ones of {name}: out of date. {why}"
            for name, why in outdated.items()
        )
        products = tuple(row for rows, _ in own.values() for row in rows)
        return msgspec.structs.replace(fidelity, products=products, outdated=outdated)
    except (TrnbenchError, OSError) as error:
        why = error.what if isinstance(error, TrnbenchError) else str(error)
        notes.append(f"the model was not held against published points: {why}")
        return None


def _kept(fidelity: Fidelity) -> Fidelity:
    """What a run stores: the statistics, and only points with a number from the model."""
    points = tuple(point for point in fidelity.points if point.emulated is not None)
    return msgspec.structs.replace(fidelity, points=points)


_KNOWN: dict[object, Fidelity] = {}
"""The last answer: many runs of one process ask the same of the same files."""
