"""What a generation ships of answers that take long to work out: its `answers.json`.

Each section is read by the package that it concerns. What the answers follow from is kept as stamps. A stamp
is two digests of a file of figures or a package of code: of its bytes, and of what it says. A file is parsed
only where its bytes have changed, so a comment changes no answer, and a start parses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TypeVar

import msgspec

from trnbench.bounded import TABLE, read_file
from trnbench.digest import DIGITS, package_digest, short_digest, sources
from trnbench.errors import BadInput
from trnbench.generation import Generation
from trnbench.record import Record

NAME = "answers.json"
RENEW = "in a checkout of trnbench: .ci/renew answers"
"""Makes it anew. No command of an installed trnbench writes into a plugin."""

T = TypeVar("T")


class Answers(Record, kw_only=True, forbid_unknown_fields=True):
    """The file of one generation; `sections` by name, each still to be read as what it holds.

    `by` and `version` name the model that gave them. `files`: name → stamp of the facts, costs and points
    that they follow from; `code`: package → stamp of what builds graphs.
    """

    generation: str
    by: str = ""
    version: str = ""
    files: dict[str, str] = {}
    code: dict[str, str] = {}
    sections: dict[str, msgspec.Raw] = {}

    def section(self, name: str, type_: type[T]) -> T | None:
        """None where there is no such section. Raises `BadInput` for one that holds something else."""
        if name not in self.sections:
            return None
        try:
            return msgspec.json.decode(self.sections[name], type=type_)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise BadInput(
                f"the answers of {self.generation} have no {name} in them: {error}",
                cause="they were made by another version of trnbench",
                try_=RENEW,
            ) from None


def read_answers(path: Path) -> Answers:
    """Raises `BadInput` for what is no such file."""
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return _read(path, 0, 0)


@lru_cache(maxsize=16)
def _read(path: Path, _changed: int, _size: int) -> Answers:
    try:
        return msgspec.json.decode(read_file(path, most=TABLE), type=Answers)
    except (msgspec.MsgspecError, RecursionError, BadInput) as error:
        raise BadInput(
            f"{path} holds no answers of a generation: {error.args[0]}",
            cause="it is missing, or was made by another version of trnbench",
            try_=RENEW,
        ) from None


def answers_of(generation: Generation) -> Answers | None:
    """What it ships; None where it ships nothing. Raises `BadInput`."""
    return read_answers(generation.answers) if generation.answers is not None else None


def files_of(generations: Iterable[Generation]) -> dict[str, Path]:
    """The facts, costs and points that answers about the first follow from: `trn2/core.toml` → where it is.

    The others are those whose costs it inherits: their points count for nothing.
    """
    files: dict[str, Path] = {}
    for number, each in enumerate(generations):
        own = (each.points_file,) if number == 0 else ()
        for path in (*each.facts, each.costs, *own):
            if path is not None:
                name = f"{each.name}/{path.name}"
                while name in files:
                    name += "'"
                files[name] = path
    return files


def stamps(files: Mapping[str, Path]) -> dict[str, str]:
    """As they are now. Raises what `read_file` raises, and `ValueError` for what is no TOML."""
    contents = {name: _content(path) for name, path in files.items()}
    return {name: f"{short_digest(text)} {_said(text)}" for name, text in contents.items()}


def changed(before: Mapping[str, str], files: Mapping[str, Path]) -> tuple[str, ...]:
    """Names of files that say something else than when the stamps were taken, are new or are gone."""
    return (
        *(name for name in files if not _says(before.get(name, ""), files[name])),
        *(before.keys() - files),
    )


def _says(stamp: str, path: Path) -> bool:
    try:
        content = _content(path)
        return bool(stamp) and _holds(stamp, short_digest(content), lambda: _said(content))
    except (BadInput, ValueError):
        return False


def _said(content: bytes) -> str:
    from trnbench.store.content_digest import toml_digest

    return toml_digest(content)


def _content(path: Path) -> bytes:
    return read_file(path, most=TABLE).replace(b"\r\n", b"\n")


def code_stamps(packages: Iterable[str]) -> dict[str, str]:
    """As they are now. Raises `SyntaxError`."""
    return {name: f"{_bytes_of(name)} {_code_of(name)}" for name in sorted(set(packages))}


def same_code(before: Mapping[str, str], packages: Iterable[str]) -> bool:
    """Whether the packages say what they did when the stamps were taken. Raises `SyntaxError`."""
    return all(
        name in before and _holds(before[name], _bytes_of(name), partial(_code_of, name)) for name in packages
    )


def _bytes_of(package: str) -> str:
    return package_digest(package).hex()[:DIGITS]


@cache
def _code_of(package: str) -> str:
    """Parses every file of it, which takes tenths of a second."""
    from trnbench.store.content_digest import code_digest

    parts = ((place, code_digest(Path(path).read_bytes())) for place, path in sources(package))
    return short_digest(*(text for part in parts for text in part))


def _holds(stamp: str, by_bytes: str, said: Callable[[], str]) -> bool:
    before, _, meant = stamp.partition(" ")
    return before == by_bytes or meant == said()
