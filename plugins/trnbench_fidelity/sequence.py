"""Sequences: several published versions of one kernel, in the order of publication.

Whether the model sees which version is faster, and by how much, is a question that the error of each
alone does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from trnbench.facts.table import Place, near, read_content
from trnbench_fidelity.load import tables_of
from trnbench_fidelity.point import PublishedPoint

_KEYS: dict[str, type] = {"name": str, "points": list, "source": str, "unpriced": dict, "assumed": dict}


class Sequence(msgspec.Struct, frozen=True, kw_only=True):
    """`points` are ids in the order in which the source publishes the versions.

    `unpriced`: what sets a version apart from earlier ones that the model does not price. `assumed`: "before
    after" → the switches of the compiler without any one of which the model turns the two round.
    """

    name: str
    points: tuple[str, ...]
    source: str
    generation: str = ""
    unpriced: Mapping[str, str] = MappingProxyType({})
    assumed: Mapping[str, str] = MappingProxyType({})


def load_sequences(path: Path, points: Iterable[PublishedPoint]) -> tuple[Sequence, ...]:
    """The [[sequence]] tables of a file of published points, whose points these are.

    Raises `FactError` for an unknown or missing key, a name used twice, fewer than two points, a point that
    is not in the file or named twice, and points of two quantities.
    """
    known = {point.id: point for point in points}
    place = Place(path)
    sequences: dict[str, Sequence] = {}
    for where, row in place.tables(tables_of(path, read_content(path)), "sequence"):
        where.check(row, _KEYS, ("name", "points", "source"))
        name, ids = row["name"], tuple(row["points"])
        where = place.at(f"sequence {name!r}")
        if name in sequences:
            raise where.error("is there twice", try_="give each sequence a name of its own")
        if len(set(ids)) < 2 or len(set(ids)) != len(ids):
            raise where.error("needs two points or more, each once", try_='points = ["before", "after"]')
        for key in ("unpriced", "assumed"):
            for id in (each for pair in row.get(key, {}) for each in pair.split()):
                if id not in ids:
                    raise where.error(f"{key} names {id!r}, which is not in it", cause=near(id, ids))
        for id in ids:
            if id not in known:
                raise where.error(f"names {id!r}, which is no point of the file", cause=near(id, known))
        quantities = sorted({str(known[id].quantity) for id in ids})
        if len(quantities) > 1:
            raise where.error(f"mixes {' and '.join(quantities)}", try_="points of one quantity")
        sequences[name] = Sequence(
            name=name,
            points=ids,
            source=row["source"],
            generation=known[ids[0]].generation,
            unpriced=row.get("unpriced", {}),
            assumed=row.get("assumed", {}),
        )
    return tuple(sequences.values())
