"""What public kernels, run from their own sources, say of the model: kept as data, since those sources are
not part of this repository and whoever repeats it has to fetch them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from trnbench.errors import BadInput
from trnbench.facts.table import Place, read_toml
from trnbench.fidelity.statistics import summarise
from trnbench.fidelity.tables import percent, signed
from trnbench.results.fidelity import COUNTED, Comparison, Fidelity, Use

CHECKOUTS = "sources.toml"
"""In the folder of --kernels: which repositories were fetched, at which commit, of which day."""

BEGIN = "<!-- sources: begin (trnbench validate --sources --kernels FOLDER --format md) -->"
END = "<!-- sources: end -->"
"""Between these two lines README has what `markdown` makes of docs/public_kernels.json."""


class Checkout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fetched repository; `day` is that of the commit."""

    repository: str
    commit: str
    day: str


class SourcePoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published point beside the time (or rate) of its kernel, in SI base units; errors of the time."""

    id: str
    generation: str
    use: Use
    published: float
    emulated: float | None = None
    error: float | None = None
    slower: float | None = None
    held: bool | None = None
    how: str = ""


class Sources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`day`: when it was made, by which model."""

    day: str
    by: str
    version: str
    checkouts: tuple[Checkout, ...]
    points: tuple[SourcePoint, ...]


def checkouts(folder: Path) -> tuple[Checkout, ...]:
    """The entries of `sources.toml` in the folder; none where it is missing.

    Raises `FactError` for an entry without repository, commit or day.
    """
    path = folder / CHECKOUTS
    if not path.is_file():
        return ()
    place = Place(path)
    found = []
    for where, row in place.tables(read_toml(path), "source"):
        where.check(row, dict.fromkeys(("repository", "commit", "day"), str), ("repository", "commit", "day"))
        found.append(Checkout(**row))
    return tuple(found)


def of_fidelity(fidelity: Fidelity, fetched: Iterable[Checkout], day: str) -> Sources:
    """The comparison without what only its command line shows."""
    return Sources(
        day=day,
        by=fidelity.by,
        version=fidelity.version,
        checkouts=tuple(fetched),
        points=tuple(_slim(each) for each in fidelity.points if each.published is not None),
    )


def _slim(each: Comparison) -> SourcePoint:
    assert each.published is not None
    return SourcePoint(
        id=each.id,
        generation=each.generation,
        use=each.use,
        published=each.published,
        emulated=each.emulated,
        error=each.error,
        slower=each.slower,
        held=each.held,
        how=each.how,
    )


def read(path: Path) -> Sources:
    """Raises `BadInput` for what is no such file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Sources)
    except (msgspec.MsgspecError, OSError) as error:
        raise BadInput(
            f"{path} does not hold a comparison with public kernels: {error}",
            try_=f"trnbench validate --sources --kernels FOLDER --format json > {path}",
        ) from None


def markdown(found: Sources) -> str:
    """One row per generation, then which points were not run, then what the kernels came from."""
    lines = [
        f"Public kernels, run unchanged by {found.by} {found.version} on {found.day}. Their sources are not "
        "part of this repository: repeating it takes the commits below.",
        "",
        "| generation | points | median | p90 | worst | bias | bounds held | not run |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    generations = dict.fromkeys(each.generation for each in found.points)
    lines += [_row(name, [each for each in found.points if each.generation == name]) for name in generations]
    if reasons := not_run(found.points):
        lines += [
            "",
            "Not run, and why:",
            "",
            *(f"- {why}: {', '.join(ids)}" for why, ids in reasons.items()),
        ]
    if found.checkouts:
        named = "; ".join(f"{each.repository} {each.commit[:12]} ({each.day})" for each in found.checkouts)
        lines += ["", f"Sources: {named}."]
    return "\n".join(lines) + "\n"


def not_run(points: Iterable[SourcePoint]) -> dict[str, list[str]]:
    """Why points have no time of the model → their ids, the reason of most points first."""
    found: dict[str, list[str]] = {}
    for each in points:
        if each.emulated is None:
            found.setdefault(each.how.partition(" (")[0], []).append(each.id)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _row(name: str, points: list[SourcePoint]) -> str:
    errors = summarise(
        [
            (each.id, each.error, each.slower)
            for each in points
            if each.use in COUNTED and each.error is not None and each.slower is not None
        ]
    )
    bounds = [each for each in points if each.held is not None]
    stopped = sum(each.emulated is None for each in points)
    cells = ["0", "–", "–", "–", "–"]
    if errors:
        cells = [
            str(errors.count),
            percent(errors.median),
            percent(errors.p90),
            f"{percent(errors.worst)} ({errors.worst_id})",
            signed(errors.bias),
        ]
    held = f"{sum(each.held is True for each in bounds)} of {len(bounds)}" if bounds else "–"
    return f"| {' | '.join([name, *cells, held, str(stopped)])} |"


def inserted(text: str, table: str) -> str:
    """`text` with what stands between `BEGIN` and `END` replaced; raises `BadInput` unless both are there."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BadInput(
            "the text does not have the two lines between which the table of public kernels stands",
            try_=f"add {BEGIN} and {END}",
        )
    return f"{before}{BEGIN}\n\n{table}\n{END}{after}"
