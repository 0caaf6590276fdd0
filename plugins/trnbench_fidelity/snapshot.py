"""The fidelity of a run: what its model got wrong, kept with its results.

The model's answers are those that are shipped with its generations; where they do not hold, it is asked anew.
Our own kernels of the same operation are no fidelity: `trnbench validate` has them. Of our own product alone
a run keeps what the model makes of each published shape, to be read beside its headline: the rows that are
shipped, or none.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from trnbench.digest import digest_of
from trnbench.errors import TrnbenchError
from trnbench.results.fidelity import Fidelity
from trnbench.store.cache import Cache
from trnbench_fidelity.bench import EMULATOR, inputs_digest, inputs_of
from trnbench_fidelity.point import FAMILIES, LINKED

if TYPE_CHECKING:
    from trnbench.registry import Registry


def cached_validation(
    registry: Registry,
    cache: Cache | None,
    *,
    families: Collection[str] = (),
    generations: Collection[str] = (),
    systems: Set[str] = frozenset(),
    with_same: bool = True,
    shipped: bool = False,
) -> Fidelity:
    """What `validate` gives for these arguments, from `cache` where it stands there.

    `shipped`: the model's answers are those that the generations ship, where they hold.

    Raises what `validate` raises.
    """
    brought = [name for name, each in registry.generations.items() if each.points_file is not None]
    key = b""
    if cache is not None:
        asked = (sorted(families), list(generations), sorted(systems), with_same, shipped)
        key = digest_of("validate", inputs_digest(registry, list(generations) or brought), repr(asked))
        content = cache.get(key)
        if content is not None:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # else it is made anew
                return msgspec.msgpack.decode(content, type=Fidelity)
    from trnbench_fidelity.sources import shipped_comparisons
    from trnbench_fidelity.validate import validate

    fidelity = validate(
        registry,
        families=families,
        generations=generations,
        systems=systems,
        with_same=with_same,
        known=shipped_comparisons(registry, generations or brought) if shipped else {},
    )
    if cache is not None:
        cache.put(key, msgspec.msgpack.encode(fidelity))
    return fidelity


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
        from trnbench_fidelity.sources import shipped_products

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
