"""What `validate` says, from the cache: a run whose answer stands there loads nothing that compares."""

from __future__ import annotations

from collections.abc import Collection, Set
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from trnbench.digest import digest_of
from trnbench.results.fidelity import Fidelity
from trnbench.store.cache import Cache
from trnbench_fidelity.inputs import inputs_digest

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
    from trnbench_fidelity.answers import shipped_comparisons
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
