"""Runs out of files: our own, and what importing plugins read."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench.bounded import RUNS, bounded, read_file
from trnbench.errors import BadInput, MissingFile, PluginError, TrnbenchError, UnknownName, UsageError, cut
from trnbench.extension import Importer
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.reference import called
from trnbench.results.run import EDITED, ImportedRun, Run

if TYPE_CHECKING:
    from trnbench.registry import Registry

OWN = "trnbench"

CORE_IMPORTERS = {
    OWN: Importer(name=OWN, title="a run as JSON or as its journal", read="trnbench.run.importing:read_own")
}
"""What needs no plugin: what trnbench wrote can always be read back."""


def importers(registry: Registry) -> dict[str, Importer]:
    """Every reader by name; trnbench's own name is its own."""
    return {**registry.importers, **CORE_IMPORTERS}


def find_importer(registry: Registry, name: str = "") -> Importer:
    """The reader called `name`, our own for "". Raises `UnknownName`."""
    known = importers(registry)
    if (name or OWN) not in known:
        raise UnknownName("importer", name, known, try_="trnbench list importers")
    return known[name or OWN]


def read_given(path: Path | None) -> bytes:
    """What a file holds, standard input for None. Raises `MissingFile`, `BadInput`."""
    if path is None:
        if sys.stdin is None:
            raise MissingFile(
                "there is no standard input",
                cause="it is closed, as in a job of cron",
                try_="name a file in the place of -",
            )
        return bounded(sys.stdin.buffer.read(RUNS + 1), "standard input", RUNS)
    return read_file(path, most=RUNS)


def read_runs(
    importer: Importer,
    data: bytes,
    where: str,
    *,
    anyway: bool = False,
    told: Callable[[ImportedRun], Run] | None = None,
) -> tuple[Run, ...]:
    """The runs in `data`, which is called `where` in errors; `told` makes one of bare results.

    Raises `BadInput` for what is no run, and, unless `anyway`, for one that was edited after its digest
    was made; `PluginError` when the reader fails or returns something else.
    """
    data = data.removeprefix(codecs.BOM_UTF8)  # which editors write, and no format means anything by
    if importer.name == OWN:
        return tuple(_own(data, where, anyway=anyway))
    try:
        with aside():
            result = called(importer.read)(data)
    except TrnbenchError as error:
        error.what = f"{where}: {error.what}"
        raise
    except BaseException as error:
        if from_outside(error):
            raise
        raise _blamed(importer, where, f"failed: {type(error).__name__}: {error}") from error
    if isinstance(result, ImportedRun):
        if told is None:
            raise UsageError(
                f"{where} has results, and nobody says of what",
                cause=f"{importer.title} says neither the system nor what the numbers are",
                try_=f"trnbench import FILE --from {importer.name} --grade measured -i INSTANCE",
            )
        result = told(result)
    runs = (result,) if isinstance(result, Run) else result
    if not isinstance(runs, Sequence) or not runs or not all(isinstance(run, Run) for run in runs):
        raise _blamed(importer, where, f"returned {type(result).__name__}, not a run or a sequence of runs")
    return tuple(runs)


def read_own(data: bytes) -> tuple[Run, ...]:
    """`Importer.read` of our own files."""
    return read_runs(CORE_IMPORTERS[OWN], data, "this file")


def _own(data: bytes, where: str, *, anyway: bool) -> Iterator[Run]:
    import msgspec

    from trnbench.bounded.json import NotJson, parse_json
    from trnbench.results.digest import is_edited
    from trnbench.results.json import loads
    from trnbench.store.journal import MAGIC

    if data.startswith(MAGIC):
        yield _journal(data, where)
        return
    try:
        documents: Any = parse_json(data, most=RUNS)
    except NotJson as error:
        raise BadInput(
            f"{where} is not JSON: {cut(str(error), 200)}",
            cause="the file is cut short, or it is something else",
            try_="--from FORMAT  for what other tools write: trnbench list importers",
        ) from error
    parts = documents if isinstance(documents, list) else [documents]
    if not parts:
        raise BadInput(
            f"{where} holds no run",
            cause="it is an empty list",
            try_="trnbench export RUN --as json  writes one that can be read back",
        )
    for number, document in enumerate(parts, start=1):
        called = where if len(parts) == 1 else f"{where}, run {number}"
        run = loads(msgspec.json.encode(document), called)
        edited = is_edited(document)
        if edited and not anyway:
            raise BadInput(
                f"{called} was edited: its digest belongs to another content",
                cause="a figure or a word in it was changed after the run had ended",
                try_="--anyway  keeps it as it is; its digest goes on saying so",
            )
        yield msgspec.structs.replace(run, notes=(*run.notes, EDITED)) if edited and not run.edited else run


def _journal(data: bytes, where: str) -> Run:
    from trnbench.store.journal import read_chain
    from trnbench.store.journal_content import journaled

    chain = read_chain(data)
    if not chain.records:
        raise BadInput(
            f"{where} holds no run",
            cause="the journal was cut off before its first record was whole",
            try_="another copy of it",
        )
    return journaled(chain, where).whole()


def _blamed(importer: Importer, where: str, what: str) -> PluginError:
    return PluginError(
        f"importer {importer.name!r} cannot read {where}: {what}",
        cause=f"a bug in {importer.read}; nothing was stored",
        try_="trnbench plugin check",
        object_=f"Importer {importer.name!r}",
    )
