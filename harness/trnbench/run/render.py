"""Runs in an output format, found by name among what plugins bring, and the sections of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from inspect import signature
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from trnbench.distribution import own_packages
from trnbench.errors import PluginError, TrnbenchError, UnknownName, UsageError
from trnbench.extension import Format, Page, Section, Site
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.isolation.surroundings import Misbehaved, held
from trnbench.reference import called
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run

if TYPE_CHECKING:
    from trnbench.registry import Registry

CORE_FORMATS = {
    "json": Format(
        name="json", title="the whole run, strict JSON", suffix=".json", write="trnbench:write_json"
    )
}
"""What needs no plugin: a run can always be taken out of the store."""


def formats(registry: Registry) -> dict[str, Format]:
    """Every output format by name; a plugin's goes over the core's own."""
    return {**CORE_FORMATS, **registry.formats}


def find_format(registry: Registry, name: str) -> Format:
    """The format called `name`; "md" is short for "markdown". Raises `UnknownName`."""
    known = formats(registry)
    name = {"md": "markdown"}.get(name, name)
    if name not in known:
        raise UnknownName("format", name, known, try_="trnbench list formats")
    return known[name]


def find_part(registry: Registry, part: str, suffix: str) -> Format:
    """The format that writes `part` of the page with this ending (".svg"), for "" the one that is words.

    Raises `UnknownName` for a part, `UsageError` for an ending that it is not written in.
    """
    parts = [each for each in formats(registry).values() if each.part]
    mine = {each.suffix.rpartition(".")[2]: each for each in parts if each.part == part}
    if not mine:
        known = list(dict.fromkeys(each.part for each in parts))
        raise UnknownName("part of the page", part, known, try_=f"trnbench report --part {known[0]}")
    wanted = suffix.lower().removeprefix(".") or ("md" if "md" in mine else next(iter(mine)))
    if wanted not in mine:
        endings = " or ".join(f".{each}" for each in mine)
        raise UsageError(
            f"{part} is not written as {suffix}",
            cause=f"of this part there is {endings}",
            try_=f"trnbench report --part {part} -o {part}.{next(iter(mine))}",
        )
    return mine[wanted]


def find_page(registry: Registry, name: str) -> Page:
    """The page of the command `name`. Raises `UsageError` where no plugin brings it."""
    page = registry.pages.get(name)
    if page is None:
        raise UsageError(
            f"no plugin here writes the page of trnbench {name}",
            cause="the reports were left out with --no-plugin, or failed to load: trnbench plugin list",
            try_=f"trnbench {name} --format json",
        )
    return page


def render_page(found: Sequence[object], page: Page) -> bytes:
    """What a command found as its page. Raises `PluginError` when its writer fails."""
    with _page_blamed(page):
        written = called(page.write)(found)
        if not isinstance(written, bytes):
            raise TypeError(f"it returned {type(written).__name__}, not bytes")
    return written


def render_files(asked: Site, page: Page) -> Iterator[tuple[str, bytes | None]]:
    """The files of a site, one after the other. Raises `PluginError` when its writer fails."""
    with _page_blamed(page):
        yield from called(page.write)(asked)


def _page_blamed(page: Page) -> AbstractContextManager[None]:
    try_ = "trnbench export RUN --as json" if page.name == "site" else f"trnbench {page.name} --format json"
    return _blamed(f"page {page.name!r} cannot be written", page.write, try_)


@contextmanager
def _blamed(what: str, writer: str, try_: str) -> Iterator[None]:
    """What fails inside is told as a bug of the `writer`."""
    try:
        with aside():
            yield
    except (TrnbenchError, GeneratorExit):
        raise
    except BaseException as error:
        if from_outside(error):
            raise
        raise PluginError(
            f"{what}: {type(error).__name__}: {error}",
            cause=f"a bug in {writer}; the runs are safe in the store",
            try_=try_,
        ) from error


def render_bytes(
    runs: Sequence[Run], format: Format, registry: Registry, *, before: Run | None = None
) -> bytes:
    """The runs in `format`, a page with the sections of `registry`, and what changed since the run `before`.

    Raises `PluginError` when its writer fails.
    """
    ids = ", ".join(run.id for run in runs)
    json = "trnbench export RUN --as json"
    with _blamed(f"format {format.name!r} cannot write {ids}", format.write, json):
        write = called(format.write)
        if format.page and before is not None and "before" in signature(write).parameters:
            document = write(runs, registry.sections, before=before)
        else:
            document = write(runs, registry.sections) if format.page else write(runs)
    if isinstance(document, str):
        return document.encode()
    if not isinstance(document, bytes):
        raise PluginError(
            f"format {format.name!r} returned {type(document).__name__}, not bytes",
            cause=f"a bug in {format.write}; the runs are safe in the store",
            try_=json,
        )
    return document


class SectionFailed(TrnbenchError):
    """A section that raised, changed what it was given, took too long or returned something else."""


class Drawing:
    """Draws sections of `runs` one after the other. `since` is for those that take it."""

    def __init__(self, runs: Sequence[Run], *, since: str = "") -> None:
        self._runs, self._since = tuple(runs), since
        self._before: tuple[bytes, ...] = ()

    def drawn(self, sections: Iterable[Section]) -> list[tuple[Section, str | SectionFailed]]:
        """Each section with what it returns, markup or text to be escaped, or with what went wrong: it raises
        anything (`SystemExit` too), takes longer than 10 s, calls `os._exit`, or changes the runs or what all
        code of the process shares; both are put back.

        Whether the runs are what they were is looked at once, behind the last, where a section is of others.
        Only where they are not, all is drawn again, and looked at behind each.
        """
        sections = list(sections)
        watched = any(str(each.render).partition(".")[0] not in own_packages() for each in sections)
        if watched:
            # Piece by piece: held against a second copy of the whole, a large run would need its size twice.
            self._before = tuple(_pieces(self._runs))
        made = [(section, self._made(section)) for section in sections]
        if not watched or self._unchanged():
            return made
        return [(section, self._checked(section)) for section in sections]

    def _checked(self, section: Section) -> str | SectionFailed:
        made = self._made(section)
        if self._unchanged() or isinstance(made, SectionFailed):
            return made
        return SectionFailed("it changes the runs that it was given")

    def _made(self, section: Section) -> str | SectionFailed:
        try:
            with held():
                render = called(section.render)
                takes = self._since and "since" in signature(render).parameters
                drawing: Any = render(self._runs, since=self._since) if takes else render(self._runs)
        except Misbehaved as error:
            return SectionFailed(f"it {error.what}")
        except PluginError as error:
            return SectionFailed(error.sentence)
        except BaseException as error:
            if from_outside(error):
                raise
            return SectionFailed(f"{type(error).__name__}{f': {error}' if str(error) else ''}")
        return (
            drawing
            if isinstance(drawing, str)
            else SectionFailed(f"it returns {type(drawing).__name__}, not markup")
        )

    def _unchanged(self) -> bool:
        """Whether the runs are what they were; they are again when this returns."""
        try:
            now = zip_longest(_pieces(self._runs), self._before)
            same = all(each == before for each, before in now)
        except Exception:  # something in them that no run can hold
            same = False
        if not same:
            self._runs = tuple(_restored(self._before))
        return same


def _pieces(runs: Sequence[Run]) -> Iterator[bytes]:
    """Of each run the whole without its cases, then each case."""
    for run in runs:
        yield msgspec.msgpack.encode((len(run.measurements), replace(run, measurements=())))
        yield from map(msgspec.msgpack.encode, run.measurements)


def _restored(pieces: Iterable[bytes]) -> Iterator[Run]:
    remaining = iter(pieces)
    for head in remaining:
        count, run = msgspec.msgpack.decode(head, type=tuple[int, Run])
        cases = tuple(msgspec.msgpack.decode(next(remaining), type=Measurement) for _ in range(count))
        yield replace(run, measurements=cases)
