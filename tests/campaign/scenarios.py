"""What is killed: a command, the folder it starts in, and what has to hold there afterwards."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from trnbench.errors import TrnbenchError
from trnbench.store.store import RunSummary, Store

MODES = {
    "half": "ok",
    "low": "document-low",
    "above": "suspect",
    "slightly": "document-low",
    "unsupported": "skipped",
}
"""Of the tiny machine, each with the status it comes to; a complete run exits with 1."""


class Trnbench(Protocol):
    """`trnbench(folder, "run", …)`: the command with the tiny machine, and what became of it."""

    def __call__(self, folder: Path, *words: str, **more: Any) -> Any: ...


Check = Callable[[Trnbench, Path, int], Iterator[str]]
"""What is wrong in a folder after a command was killed that had said so many cases were safe."""


class Scenario(NamedTuple):
    """`prepare` makes the folder, `words` are killed in it. `weight`: how often, beside the others."""

    name: str
    words: tuple[str, ...]
    prepare: Callable[[Trnbench, Path], None]
    check: Check
    weight: int = 1


# How folders begin.


def nothing(trnbench: Trnbench, folder: Path) -> None:
    """No store yet."""


def stored(trnbench: Trnbench, folder: Path) -> None:
    """A complete run with an export and a page of it, then one that was cut short."""
    for words in (
        ("run", "--label", "whole", "--no-report"),
        ("report", "whole"),
        ("export", "whole", "-o", "out.json"),
        ("run", "--label", "short", "--maxfail", "1", "--no-report"),
    ):
        answer = trnbench(folder, *words)
        if answer.code not in (0, 1):
            raise AssertionError(answer.stderr)


def other(trnbench: Trnbench, folder: Path) -> None:
    """As `stored`, with two exported runs that the store does not have."""
    stored(trnbench, folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for _ in range(2):
        trnbench(elsewhere, "run", "--no-report")
    with Store(elsewhere / "r.db") as store:
        ids = [each.id for each in store.list()]
    for number, each in enumerate(ids):
        trnbench(elsewhere, "export", each, "-o", str(folder / f"other{number}.json"))


def lost(trnbench: Trnbench, folder: Path) -> None:
    """As `stored`, but the database is gone: only the journals are left."""
    stored(trnbench, folder)
    for left in folder.glob("r.db*"):
        if left.is_file():
            left.unlink()


def damaged(trnbench: Trnbench, folder: Path) -> None:
    """As `stored`, with pages of the database overwritten."""
    stored(trnbench, folder)
    database = folder / "r.db"
    content = bytearray(database.read_bytes())
    half = len(content) // 2
    content[half : half + 6000] = b"\xa5" * len(content[half : half + 6000])
    database.write_bytes(bytes(content))


# What has to hold afterwards.


def completed(trnbench: Trnbench, folder: Path, recorded: int, *, before: int) -> Iterator[str]:
    """The newest run has the `recorded` cases, goes on, and ends as an undisturbed one; earlier runs are
    there, and nothing in the store contradicts anything else."""
    yield from _well(trnbench, folder, "runs", "list")
    runs = _runs(folder)
    if len(runs) < before + 1:
        if recorded or len(runs) < before:
            yield f"{recorded} cases were safe, {len(runs)} runs are there"
        return
    newest = runs[-1]
    if newest.cases < recorded:
        yield f"{recorded} cases were safe, {newest.cases} are there"
    if newest.state != "done" or newest.cases < newest.planned:
        yield from _well(trnbench, folder, "resume", newest.id, "--no-report", code=1)
    yield from _whole(folder, newest.id)
    yield from _well(trnbench, folder, "store", "check")


def both_are_there(trnbench: Trnbench, folder: Path, _recorded: int = 0) -> Iterator[str]:
    """The runs of `stored`; the second one goes on."""
    found = _tagged(folder)
    if set(found) != {"whole", "short"}:
        yield f"of the runs whole and short there are {sorted(found)}"
        return
    yield from _whole(folder, found["whole"].id)
    yield from completed(trnbench, folder, found["short"].cases, before=1)


def rescued(trnbench: Trnbench, folder: Path, _recorded: int) -> Iterator[str]:
    """The next command fills the store."""
    yield from _well(trnbench, folder, "runs", "list")
    yield from both_are_there(trnbench, folder)


def repaired(trnbench: Trnbench, folder: Path, _recorded: int) -> Iterator[str]:
    """`store repair` once more, and all is well."""
    yield from _well(trnbench, folder, "store", "repair")
    yield from both_are_there(trnbench, folder)


def imported(trnbench: Trnbench, folder: Path, _recorded: int) -> Iterator[str]:
    """All runs of the command or none; then it can be given again."""
    count = len(_runs(folder))
    if count == 2:
        yield from _well(trnbench, folder, "import", "other0.json", "other1.json")
    elif count != 4:
        yield f"of two imported runs {count - 2} are there"
    for name in ("other0.json", "other1.json"):
        yield from _whole(folder, json.loads((folder / name).read_text())["id"])
    yield from _well(trnbench, folder, "store", "check")


def written(trnbench: Trnbench, folder: Path, _recorded: int, *, words: Any, name: str) -> Iterator[str]:
    """The file is as it was or as it will be; the command again writes it, and leaves no litter."""
    before = (folder / name).read_bytes()
    for left in folder.glob(".*.part"):
        os.utime(left, (0, 0))
    yield from _well(trnbench, folder, *words)
    if (folder / name).read_bytes() != before:
        yield f"{name} was not whole: it ended with {before[-100:]!r}"
    if litter := [each.name for each in folder.iterdir() if each.name.startswith(".")]:
        yield f"litter: {litter}"
    yield from _well(trnbench, folder, "store", "check")


def backed_up(trnbench: Trnbench, folder: Path, _recorded: int) -> Iterator[str]:
    """A copy that was not finished is made again under its name, once removed."""
    (folder / "copy.db").unlink(missing_ok=True)
    yield from _well(trnbench, folder, "store", "backup", "copy.db")
    with Store(folder / "copy.db") as copy:
        if len(copy.list()) != 2:
            yield f"the copy has {len(copy.list())} runs of 2"
    yield from _well(trnbench, folder, "store", "check")


def deleted(trnbench: Trnbench, folder: Path, _recorded: int) -> Iterator[str]:
    """The run is there with all it had, or gone with all of it; the other one stays."""
    found = _tagged(folder)
    if "short" not in found:
        yield "another run than the deleted one is gone"
    if "whole" in found:
        yield from _whole(folder, found["whole"].id)
        yield from _well(trnbench, folder, *_DELETE)
    if (left := len(list((folder / "r.db.journals").iterdir()))) != 1:
        yield f"{left} journals are there, not the one of the run that stays"
    yield from completed(trnbench, folder, 0, before=0)


def _well(trnbench: Trnbench, folder: Path, *words: str, code: int = 0) -> Iterator[str]:
    """A command has to end with `code`. Where nothing was ever stored there may be nothing to look into."""
    answer = trnbench(folder, *words)
    if answer.code != code:
        yield f"{' '.join(words)} ends with {answer.code}: {answer.stdout[-300:]}{answer.stderr[-400:]}"


def _runs(folder: Path) -> tuple[RunSummary, ...]:
    with Store(folder / "r.db") as store:
        return store.list()


def _tagged(folder: Path) -> dict[str, RunSummary]:
    return {tag: each for each in _runs(folder) for tag in each.tags}


def _whole(folder: Path, run_id: str) -> Iterator[str]:
    try:
        with Store(folder / "r.db") as store:
            run = store.load(run_id)
    except TrnbenchError as error:
        yield f"run {run_id} cannot be read: {error.what}"
        return
    found = {str(each.case.point["mode"]): str(each.status) for each in run.measurements}
    if found != MODES or run.interrupted or not run.finished:
        yield f"run {run_id} ended otherwise: {found}, interrupted {run.interrupted}"


_EXPORT = ("export", "whole", "-o", "out.json", "--force")
_DELETE = ("runs", "delete", "whole", "--yes")
_REPORT = ("report", "whole", "--force")

SCENARIOS = (
    Scenario("run", ("run",), nothing, partial(completed, before=0), 4),
    Scenario("run beside others", ("run", "--jobs", "2"), stored, partial(completed, before=2), 2),
    Scenario("resume", ("resume", "--force"), stored, both_are_there, 4),
    Scenario("rescue", ("runs", "list"), lost, rescued),
    Scenario("repair", ("store", "repair"), damaged, repaired),
    Scenario("import", ("import", "other0.json", "other1.json"), other, imported),
    Scenario("export", _EXPORT, stored, partial(written, words=_EXPORT, name="out.json")),
    Scenario("report", _REPORT, stored, partial(written, words=_REPORT, name="trnbench-report.html")),
    Scenario("backup", ("store", "backup", "copy.db"), stored, backed_up),
    Scenario("delete", _DELETE, stored, deleted),
)
