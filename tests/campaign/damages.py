"""Damages drawn at random to a database, its WAL and its journals, and every reader of the store then."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

from archive import unpack

from trnbench.compare.comparison import compared
from trnbench.errors import TrnbenchError
from trnbench.results.json import dumps, dumps_measurement
from trnbench.run.importing import read_own
from trnbench.store.history import histories
from trnbench.store.journal import journals, read_chain
from trnbench.store.journal_content import Journaled, journaled
from trnbench.store.merge import merge
from trnbench.store.repair import backup, check, repair
from trnbench.store.store import Store

CORPUS = Path(__file__).parents[1] / "store" / "corpus"
ARCHIVES = ("store3-schema4", "store2-schema3", "store1-schema2")
MOST_BYTES = 600
"""That one damage takes, puts in or writes over; a few take all that is behind a place."""


class Ruin(NamedTuple):
    """A damage that something did not survive: which, and how."""

    number: int
    what: str
    how: str


class Damages:
    """Copies of stores, damaged again and again; `home` is an empty folder, best in memory.

    `small`: the folder of another store, which is damaged nine times of ten: it is read much quicker, and
    more of its bytes are what holds the rest together.
    """

    def __init__(self, home: Path, small: Path | None = None) -> None:
        self._home = home
        self._whole = [(name, _files(_unpacked(name, home / name))) for name in ARCHIVES]
        recent = ARCHIVES[0]
        in_wal = _with_wal(home / recent, home / "in-wal")
        self._whole.append((f"{recent} with its run in the WAL", _files(in_wal)))
        self._small = []
        if small is not None:
            in_wal = _with_wal(small, home / "small-in-wal")
            self._small = [("small", _files(small)), ("small, its run in the WAL", _files(in_wal))]

    def ruins(self, seed: int, numbers: Iterable[int]) -> Iterator[tuple[int, Ruin | None]]:
        """Each damage of these numbers, and what it ruined."""
        for number in numbers:
            yield number, self.drawn(seed, number)

    def drawn(self, seed: int, number: int) -> Ruin | None:
        """The damage of this number: one to three places of one file or of several."""
        draw = Random(f"{seed} {number}")
        tenth, rest = divmod(number, 10)
        if self._small and rest:
            name, files = self._small[rest % 2]
        else:
            name, files = self._whole[(tenth if self._small else number) % len(self._whole)]
        files = dict(files)
        told = []
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            file = draw.choice([each for each in files if not each.endswith(".json")])
            kind = draw.choice(ALL_KINDS if name.startswith("small") else KINDS)
            files[file] = kind(draw, files[file])
            told.append(f"{file}: {kind.__name__.strip('_')}")
        folder = self._home / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        for file, data in files.items():
            path = folder / file
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(data)
        if how := _ruined(folder / "results.db"):
            return Ruin(number, f"{name}, {', '.join(told)}", how)
        return None


def _unpacked(name: str, folder: Path) -> Path:
    unpack(CORPUS / f"{name}.tar.xz", folder)
    return folder


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", ".json"))
    }


def _with_wal(source: Path, folder: Path) -> Path:
    """The same store as a killed process leaves it: its last transaction, with the run, is in the WAL."""
    work = folder.with_name(f"{folder.name}-at-work")
    shutil.copytree(source, work)
    with closing(sqlite3.connect(work / "results.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        tables = ("runs", "environments", "documents", "attachments", "measurements", "tags")
        rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
        for table in reversed(tables):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("BEGIN")
        for table, kept in rows.items():
            for row in kept:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.execute("COMMIT")
        shutil.copytree(work, folder)
    return folder


def _flipped(draw: Random, data: bytes) -> bytes:
    at = draw.randrange(max(len(data), 1))
    return data[:at] + bytes(byte ^ 1 << draw.randrange(8) for byte in data[at : at + 1]) + data[at + 1 :]


def _overwritten(draw: Random, data: bytes) -> bytes:
    at, size = _span(draw, data)
    return data[:at] + draw.randbytes(min(size, len(data) - at)) + data[at + size :]


def _zeroed(draw: Random, data: bytes) -> bytes:
    at, size = _span(draw, data)
    return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]


def _cut(draw: Random, data: bytes) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _removed(draw: Random, data: bytes) -> bytes:
    at, size = _span(draw, data)
    return data[:at] + data[at + size :]


def _put_in(draw: Random, data: bytes) -> bytes:
    at, size = _span(draw, data)
    return data[:at] + draw.randbytes(size) + data[at:]


def _repeated(draw: Random, data: bytes) -> bytes:
    at, size = _span(draw, data)
    other, _ = _span(draw, data)
    return data[:other] + data[at : at + size] + data[other + size :]


def _letters(draw: Random, data: bytes) -> bytes:
    """Bytes of text by others: rows stay rows, with other words, numbers and types in them."""
    letters = [at for at, byte in enumerate(data[: 1 << 16]) if 48 <= byte < 123]
    if not letters:
        return data
    at = draw.choice(letters)
    return data[:at] + bytes([draw.choice((0x00, 0x22, 0x39, 0x41, 0x80, 0xC3, 0xFF))]) + data[at + 1 :]


def _page(draw: Random, data: bytes) -> bytes:
    """A page of the database in the place of another."""
    pages = max(len(data) // 4096, 1)
    source, target = draw.randrange(pages) * 4096, draw.randrange(pages) * 4096
    return data[:target] + data[source : source + 4096] + data[target + 4096 :]


def _header(draw: Random, data: bytes) -> bytes:
    """A byte of a database's header, behind the words that it begins with."""
    at = draw.randrange(16, 100)
    return data[:at] + draw.randbytes(1) + data[at + 1 :]


def _schema(draw: Random, data: bytes) -> bytes:
    """A letter of the statements that tables and indexes were made by."""
    spans = [match.span() for match in _STATEMENT.finditer(data)]
    if not spans:
        return data
    at = draw.randrange(*draw.choice(spans))
    return data[:at] + draw.choice((b"A", b"9", b"_", b" ")) + data[at + 1 :]


def _words(draw: Random, data: bytes) -> bytes:
    """A byte of any text that is long enough to be no accident."""
    spans = [match.span() for match in _TEXT.finditer(data)]
    if not spans:
        return data
    at = draw.randrange(*draw.choice(spans))
    return data[:at] + draw.randbytes(1) + data[at + 1 :]


_STATEMENT = re.compile(rb"CREATE (?:TABLE|INDEX) [^\x00]+")
_TEXT = re.compile(rb"[\x20-\x7e]{12,}")

KINDS = (_flipped, _overwritten, _zeroed, _cut, _removed, _put_in, _repeated, _letters, _page)
ALL_KINDS = (*KINDS, _header, _schema, _words)
"""Of the small store; the others keep what a seed draws."""


def _span(draw: Random, data: bytes) -> tuple[int, int]:
    return draw.randrange(max(len(data), 1)), draw.randint(1, MOST_BYTES)


def _ruined(path: Path) -> str:
    """How a reader of the damaged store broke, or what of its journals did not come back; "" for nothing."""
    kept = list(_journaled(path))
    for name, reader in READERS.items():
        try:
            with suppress(TrnbenchError), Store(path) as store:
                reader(store)
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}"
    with Store(path) as store:
        for journal in kept:
            whole = journal.whole()
            try:
                found = store.load(whole.id)
            except TrnbenchError as error:
                return f"after repair run {whole.id} does not open: {error}"
            have = {dumps_measurement(each) for each in found.measurements}
            lost = [each.id for each in whole.measurements if dumps_measurement(each) not in have]
            if lost:
                return f"after repair run {whole.id} lacks {', '.join(lost)}"
    return ""


def _journaled(path: Path) -> Iterator[Journaled]:
    """What the journals have, as far as they are undamaged."""
    for entry in journals(path):
        chain = read_chain(Path(entry.path).read_bytes())
        if chain.records:
            with suppress(TrnbenchError):
                yield journaled(chain, entry.path)


def _backed_up(store: Store) -> None:
    target = store.path.with_name("backup.db")
    target.unlink(missing_ok=True)
    backup(store, target)


def _compared(store: Store) -> None:
    run = store.load("first")
    compared(run, run)


def _merged(store: Store) -> None:
    with Store(store.path.with_name("other.db")) as other:
        merge(other, [store.path])


def _imported(store: Store) -> None:
    for entry in journals(store.path):
        with suppress(TrnbenchError):
            read_own(Path(entry.path).read_bytes())


READERS: dict[str, Callable[[Store], object]] = {
    "runs list": Store.list,
    "runs show": lambda store: dumps(store.load()),
    "a sample": lambda store: store.load(sample=1),
    "history": histories,
    "compare": _compared,
    "store check": check,
    "store backup": _backed_up,
    "store merge": _merged,
    "import": _imported,
    "runs tag": lambda store: store.tag(store.resolve("latest"), add=("second",)),
    "store repair": repair,
}
"""Those that only read first; the last one mends."""
