"""Reading TOML tables strictly: every error names the file, the entry, the key and what to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trnbench import bounded
from trnbench.bounded import TABLE, read_file
from trnbench.bounded.kinds import COST
from trnbench.errors import FactError, MissingFile, quoted

_WORDS: dict[type, str] = {
    str: "text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


def read_toml(path: Path) -> dict[str, Any]:
    """The file's tables.

    Raises `MissingFile`, or `BadInput` with the line and column of what is no TOML.
    """
    return parse_toml(path, read_content(path))


def parse_toml(path: Path, content: bytes) -> dict[str, Any]:
    """The tables in the content of `path`. Raises `BadInput` with the line and column of what is no TOML."""
    return bounded.parse_toml(content, str(path), try_="compare with docs/facts.md")


def read_content(path: Path) -> bytes:
    """What the file holds. Raises `MissingFile`, and `BadInput` for what is no file or too large."""
    try:
        return read_file(path, most=TABLE)
    except MissingFile:
        raise MissingFile(
            f"no such file: {path}",
            cause="the path is wrong, or the package that names it is only partly installed",
            try_=_beside(path),
        ) from None


def near(word: str, known: Iterable[str]) -> str:
    """ "did you mean …?" where something is close, else the known words."""
    words = [each for each in known if each]
    from difflib import get_close_matches

    close = get_close_matches(word, words, n=2, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(each) for each in close)}?"
    return f"known: {', '.join(words)}" if words else "none is known"


class Place:
    """Where in a file something stands; makes the errors about it."""

    def __init__(self, file: Path, entry: str = "") -> None:
        self.file, self.entry = file, entry

    def __str__(self) -> str:
        return f"{self.file}: {self.entry}" if self.entry else str(self.file)

    def error(self, what: str, *, cause: str = "", try_: str = "") -> FactError:
        return FactError(f"{self}: {what}", cause=cause, try_=try_)

    def at(self, entry: str) -> Place:
        return Place(self.file, f"{self.entry}, {entry}" if self.entry else entry)

    def table(self, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(f"must be {_WORDS[dict]}, is {_name(value)}")
        return value

    def tables(self, document: Mapping[str, Any], key: str) -> list[tuple[Place, dict[str, Any]]]:
        """The entries of `[[key]]` with their places, counted from one."""
        rows = document.get(key, [])
        if not isinstance(rows, list):
            raise self.error(f"{key!r} must be a list of tables, is {_name(rows)}", try_=f"write [[{key}]]")
        places = [self.at(f"[[{key}]] {number}") for number in range(1, len(rows) + 1)]
        return [(place, place.table(row)) for place, row in zip(places, rows, strict=True)]

    def check(self, row: Mapping[str, Any], kinds: Mapping[str, type], required: Iterable[str] = ()) -> None:
        """Every key known and of its kind, every required one there and not empty."""
        for key, value in row.items():
            if key not in kinds:
                raise self.error(f"unknown key {key!r}", cause=near(key, kinds))
            kind = kinds[key]
            if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
                try_ = f"{key} = {str(value)!r}".replace("'", '"') if kind is str else ""
                raise self.error(f"{key!r} must be {_WORDS[kind]}, is {_name(value)}", try_=try_)
            if isinstance(value, list) and not all(isinstance(element, str) for element in value):
                raise self.error(f"{key!r} must be a list of texts in quotes")
        for key in required:
            if row.get(key) in (None, "", []):
                raise self.error(f"key {key!r} is missing", try_=_example(key))

    def word(self, row: Mapping[str, Any], key: str, known: Iterable[object]) -> str:
        """A word of a closed list."""
        value = str(row.get(key, ""))
        words = [str(choice) for choice in known]
        if value not in words:
            raise self.error(f"unknown {key} {value!r}", cause=near(value, words))
        return value

    def numbers(self, value: object, key: str = "") -> None:
        """Raises for a number below zero or beyond all costs anywhere below."""
        if isinstance(value, dict):
            for name, inner in value.items():
                self.numbers(inner, f"{key}.{name}" if key else name)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                self.numbers(inner, f"{key}[{number}]")
        elif isinstance(value, int | float) and value < 0:
            raise self.error(f"{key} is negative: {value}", cause=COST.about)
        elif isinstance(value, int | float) and not COST.fits(value):
            raise self.error(f"{key} is too large: {value:g}", cause=f"a cost or count is {COST.range}")


def _name(value: object) -> str:
    words = {**_WORDS, str: "a text"}
    kind = words.get(type(value), type(value).__name__)
    if isinstance(value, str):
        return f"{kind} ({quoted(value)})"
    return f"{kind} ({value})" if isinstance(value, bool | int | float) else kind


def _example(key: str) -> str:
    examples = {
        "printed": 'printed = "3,360", the digits as the document shows them',
        "unit": 'unit = "TB/s", "TFLOPS", … as printed; unit = "" for counts and words',
        "scope": 'scope = "device", "instance", … what the figure is the figure of',
        "locator": 'locator = "instance table, row Trn1.32xlarge"',
        "source": "source = the id of one of the [sources.…] tables",
        "dtypes": 'dtypes = ["fp16", "bf16"]',
    }
    return examples.get(key, f'{key} = "…"')


def _beside(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist either"
    names = sorted(each.name for each in folder.glob("*.toml"))[:6]
    return f"in that folder: {', '.join(names)}" if names else f"there is no .toml file in {folder}"
