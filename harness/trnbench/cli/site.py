"""`trnbench site`: several runs as a folder of static pages; what is there already is not made again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from trnbench.bounded import read_file
from trnbench.bounded.json import NotJson, parse_json
from trnbench.errors import UsageError, counted
from trnbench.extension import Site
from trnbench.results.run import Run
from trnbench.run.output_file import write_whole
from trnbench.run.render import find_page, render_files
from trnbench.store.history import histories
from trnbench.store.store import RunSummary, Store
from trnbench.terminal.context import Session
from trnbench.terminal.output import say
from trnbench.terminal.target import id_before, mostly_alike

MEMORY = "site.json"
"""What a site knows of itself; a folder with this file is ours to write to."""
LARGEST = 64_000_000
"""Bytes of that file."""
_ALL = "*"


def site(shared: Session, /, *, runs: tuple[str, ...], folder: Path) -> None:
    """Write stored runs (all unless named) as a site: static pages that link to each other."""
    page = find_page(shared.registry, "site")
    memory = _memory(folder)
    with Store(shared.store_path) as store:
        ids = set(map(store.resolve, runs))
        chosen = [each for each in store.list() if each.cases and (not ids or each.id in ids)]
        if not chosen:
            raise UsageError(
                "no run here has a case that a site could show",
                cause="every run that is named, or the store, is empty",
                try_="trnbench run",
            )
        chosen.sort(key=lambda each: (each.created, each.id))
        asked = _asked(shared, store, chosen, memory)
        try:
            names, written = _written(folder, render_files(asked, page))
        except OSError as error:
            raise UsageError(
                f"cannot write to {folder}: {error.strerror or error}",
                cause="a file stands where a folder is needed, or the folder is read-only",
                try_="name another folder",
            ) from error
    removed = _removed(folder, memory, names)
    say(f"{written} of {len(names)} files written, {removed} removed: {counted(len(chosen), 'run')}")
    click.echo(str(folder / "index.html"))


def _asked(shared: Session, store: Store, chosen: list[RunSummary], memory: Mapping[str, Any]) -> Site:
    """Runs are opened one after the other, and each is held against the one before: two stay in memory."""
    load = lru_cache(maxsize=2)(store.load)
    earlier = {each.id: id_before(chosen, each, each.instances, each.cases) for each in chosen}

    def before(id: str) -> Run | None:
        found = load(earlier[id]) if earlier[id] else None
        return found if found is not None and mostly_alike(found, load(id)) else None

    return Site(
        runs={each.id: f"{each.finished} {each.cases} {earlier[each.id]}" for each in chosen},
        histories=lambda: histories(store, (_ALL,), only={each.id for each in chosen}),
        sections=shared.registry.sections,
        load=load,
        before=before,
        memory=memory,
    )


def _memory(folder: Path) -> dict[str, Any]:
    """What an earlier site left in the folder. Raises `UsageError` for a folder with files of others."""
    file = folder / MEMORY
    if not file.is_file():
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(
                f"{folder} has files and is no site of trnbench",
                cause=f"a site is written to a new folder, an empty one, or one with a {MEMORY}",
                try_=f"trnbench site {folder / 'site'}",
            )
        return {}
    try:
        found = parse_json(read_file(file, most=LARGEST), most=LARGEST)
    except NotJson:  # half written, or edited: all is made again
        return {}
    files = found.get("files") if isinstance(found, dict) else None
    whole = isinstance(files, list) and len(list(_inside(folder, files))) == len(files)
    return found if whole else {}  # a file that was deleted: all is made again


def _written(folder: Path, files: Iterable[tuple[str, bytes | None]]) -> tuple[list[str], int]:
    """The names of all files, and how many of them are new or others than they were."""
    names, written = [], 0
    if not (folder / MEMORY).is_file():  # a folder that is left half written stays ours
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / MEMORY, b"{}\n", option="DIR")
    for name, data in files:
        file = folder / name
        names.append(name)
        if data is None or (file.is_file() and file.read_bytes() == data):
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, data, option="DIR")
        written += 1
    return names, written


def _removed(folder: Path, memory: Mapping[str, Any], names: Iterable[str]) -> int:
    """Files that an earlier site wrote and this one does not have are deleted; others are left alone."""
    present = set(names)
    ended = [path for name, path in _inside(folder, memory.get("files", ())) if name not in present]
    for path in ended:
        path.unlink()
    return len(ended)


def _inside(folder: Path, names: Iterable[Any]) -> Iterator[tuple[str, Path]]:
    """Those that are files of this folder: the list may have been edited."""
    root = folder.resolve()
    for name in names:
        if isinstance(name, str) and (path := root / name).is_file() and path.resolve().is_relative_to(root):
            yield name, path
