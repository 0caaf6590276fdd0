"""What the store knows of cases over time, read from its columns: no document is opened."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from trnbench.case_key import Division, joint
from trnbench.errors import UnknownName
from trnbench.results.history import CaseHistory, Differences, HistoryPoint, Outside, machine_of, with_steps
from trnbench.results.measurement import Grade, Status
from trnbench.results.run import shortness
from trnbench.store.path import damaged

if TYPE_CHECKING:
    import sqlite3

    from trnbench.store.database import StoreFile

_DIGITS = re.compile(r"([0-9]+)")


class _RunRow(NamedTuple):
    id: str
    created: str
    tool_version: str
    backend: str
    environment: dict[str, Any]
    cut_short: str
    machine: str
    commit: str
    dirty: bool | None


def histories(
    store: StoreFile,
    cases: Sequence[str] = (),
    *,
    tags: Iterable[str] = (),
    last: int = 0,
    only: Collection[str] | None = None,
) -> tuple[CaseHistory, ...]:
    """Histories of the cases that `cases` name: ids, the case without its system, kernels, or globs of these.

    Without any, those of the newest run and those that it lost. `tags`: only runs that bear them all; `last`:
    only so many of these, the newest; `only`: of these runs. Raises `UnknownName` for what names no stored
    case, `StoreError` where there is no store.
    """
    # Half a character names nothing that is stored.
    cases, tags = ([each.encode("utf-8", "backslashreplace").decode() for each in of] for of in (cases, tags))
    with store.reading() as connection:
        runs = {
            number: run
            for number, run in _runs(connection, tags, last).items()
            if only is None or run.id in only
        }
        beside = _Beside(connection, runs)
        series: list[CaseHistory] = []
        try:
            for case, rows in _rows(connection, _chosen(connection, cases, runs, beside), runs):
                series += _joined(list(_of_a_case(case, rows, runs, beside.order)), beside)
        except ValueError as error:  # a word that is no status or grade
            raise damaged(store.path, str(error)) from error
    return tuple(series)


def _joined(series: list[CaseHistory], beside: _Beside) -> Iterator[CaseHistory]:
    """The series of one case with their steps; one that begins later than another, of other evidence, begins
    with that change."""
    ends = [(history.points[0].run, history.points[-1].run, history) for history in series]
    for first, last, history in ends:
        earlier = [
            (beside.order[point.run], point, other.evidence)
            for _, _, other in ends
            for point in other.points
            if other is not history and beside.order[point.run] < beside.order[first]
        ]
        before = after = None
        if earlier:
            _, point, grade = max(earlier, key=lambda entry: entry[0])
            before = Outside(point, grade) if grade is not history.evidence else None
        elif (run := beside.neighbour(first, -1)) is not None:
            before = Outside(_point(run, Status.SKIPPED, None, None))
        latest = max(beside.order[end] for _, end, _ in ends)
        if beside.order[last] == latest and (run := beside.neighbour(last, 1)) is not None:
            after = Outside(_point(run, Status.SKIPPED, None, None))
        gaps = dict(_gaps(history, beside, {point.run for _, _, other in ends for point in other.points}))
        yield with_steps(history, before, after, beside.differences, gaps)


def _gaps(
    history: CaseHistory, beside: _Beside, having: Collection[str]
) -> Iterator[tuple[str, HistoryPoint]]:
    """Runs of the series' backend and machine between two of its points in which the case is missing: of each
    gap the point before it, by its run, and the first. `having` are all runs that have the case."""
    for old, new in itertools.pairwise(history.points):
        for run in beside.between(old.run, new.run):
            here = run.backend == history.backend and history.machine in ("", run.machine)
            if here and run.id not in having:
                yield old.run, _point(run, Status.SKIPPED, None, None)
                break


class _Beside:
    """Of each run the nearest one, earlier or later, that was asked for the same and has a case in common
    with it: only beside such a run a case can be called new or lost."""

    def __init__(self, connection: sqlite3.Connection, runs: dict[int, _RunRow]) -> None:
        self._connection, self._numbers, self._runs = connection, list(runs), runs
        self.order = {run.id: at for at, run in enumerate(runs.values())}
        self._known: dict[tuple[str, int], _RunRow | None] = {}
        self._shared: dict[tuple[int, int], bool] = {}
        self._selections: dict[int, Mapping[str, Any]] = {}
        self.differences: Differences = {}

    def neighbour(self, run: str, step: int) -> _RunRow | None:
        """The nearest before (`step` −1) or after (1); one that was cut short tells of no case it lacks."""
        if (run, step) not in self._known:
            place = self.order[run]
            near = self._numbers[place + 1 :] if step > 0 else self._numbers[:place][::-1]
            self._known[run, step] = next(self._alike(place, near), None)
        return self._known[run, step]

    def between(self, run: str, later: str) -> Iterator[_RunRow]:
        """Those after `run` and before `later`, of which the same holds."""
        place = self.order[run]
        return self._alike(place, self._numbers[place + 1 : self.order[later]])

    def _alike(self, place: int, others: Iterable[int]) -> Iterator[_RunRow]:
        for other in others:
            run = self._numbers[place]
            alike = not self._runs[other].cut_short and self._selection(run) == self._selection(other)
            if alike and self._share(run, other):
                yield self._runs[other]

    def cases(self, run: str) -> Iterator[str]:
        """Those that it could carry out, in its order."""
        rows = self._connection.execute(
            "SELECT case_id FROM measurements WHERE run = ? AND status != ? ORDER BY position",
            (self._numbers[self.order[run]], Status.SKIPPED.value),
        )
        yield from dict.fromkeys(row[0] for row in rows)

    def _share(self, run: int, other: int) -> bool:
        if (run, other) not in self._shared:
            row = self._connection.execute(
                "SELECT 1 FROM measurements AS a JOIN measurements AS b"
                " ON b.case_id IN (a.case_id, a.case_id || ?, replace(a.case_id, ?, ''))"
                " WHERE a.run = ? AND b.run = ? LIMIT 1",
                (f":{Division.REPLICATED}", f":{Division.REPLICATED}", run, other),
            ).fetchone()
            self._shared[run, other] = row is not None
        return self._shared[run, other]

    def _selection(self, run: int) -> Mapping[str, Any]:
        """What the run was asked for, as far as it was narrowed; empty of an imported one."""
        if run not in self._selections:
            ((head,),) = self._connection.execute("SELECT head FROM runs WHERE number = ?", (run,))
            settings = _decoded(head).get("settings")
            asked = settings.get("selection") if isinstance(settings, dict) else None
            named = asked if isinstance(asked, dict) else {}
            self._selections[run] = {name: value for name, value in named.items() if value}
        return self._selections[run]


def _runs(connection: sqlite3.Connection, tags: Sequence[str], last: int) -> dict[int, _RunRow]:
    """By their numbers, in the order of time: merged and imported ones may be older than those before."""
    rows = connection.execute(
        "SELECT number, id, created, tool_version, backend, content, finished, interrupted,"
        " planned - (SELECT count(*) FROM measurements WHERE measurements.run = number) FROM runs"
        " LEFT JOIN environments ON environments.run = number ORDER BY created, number"
    ).fetchall()
    for tag in tags:
        bearing = {row[0] for row in connection.execute("SELECT run FROM tags WHERE tag = ?", (tag,))}
        rows = [row for row in rows if row[0] in bearing]
    return {
        number: _run_row(run, created, version, backend, _decoded(content), shortness(*ending))
        for number, run, created, version, backend, content, *ending in rows[-last:]
    }


def _run_row(
    id: str, created: str, version: str, backend: str, environment: dict[str, Any], cut_short: str
) -> _RunRow:
    commit, dirty = environment.get("git_commit"), environment.get("git_dirty")
    return _RunRow(
        *(id, created, version, backend, environment, cut_short, machine_of(environment)),
        commit if isinstance(commit, str) else "",
        dirty if isinstance(dirty, bool) else None,
    )


def _decoded(content: str | None) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content or "{}", type=dict[str, Any])
    except msgspec.MsgspecError:  # `store check` says so; its case is shown without
        return {}


def _chosen(
    connection: sqlite3.Connection, cases: Sequence[str], runs: dict[int, _RunRow], beside: _Beside
) -> Iterator[str]:
    """Ids in the order of the newest run, then of what it lost, or of the arguments."""
    if not cases:
        newest = next(reversed(runs), -1)
        rows = connection.execute(
            "SELECT case_id FROM measurements WHERE run = ? ORDER BY position", (newest,)
        )
        ids = [row[0] for row in rows]
        if runs and (before := beside.neighbour(runs[newest].id, -1)) is not None:
            ids += beside.cases(before.id)
        spelt: dict[str, str] = {}
        for id_ in ids:
            spelt.setdefault(joint(id_), id_)
        yield from spelt.values()
        return
    stored: list[str] = []
    yielded: set[str] = set()
    for asked in cases:
        ids = [row[0] for row in connection.execute(_STORED, _spellings(asked))]
        if not ids:
            stored = stored or _all(connection)
            ids = [id_ for id_ in stored if asked == "*" or _fits(id_, asked)]
        if not ids:
            names = {name for id_ in stored for name in _names(id_)}
            raise UnknownName("case", asked, names, try_="trnbench runs show latest")
        yield from (id_ for id_ in ids if joint(id_) not in yielded)
        yielded.update(map(joint, ids))


_STORED = "SELECT case_id FROM measurements WHERE case_id IN (?, ?) ORDER BY case_id DESC LIMIT 1"


def _spellings(case_id: str) -> tuple[str, str]:
    """As today and as older runs have it, which say nothing of how a problem is divided."""
    bare = joint(case_id)
    return f"{bare}:{Division.REPLICATED}", bare


def _all(connection: sqlite3.Connection) -> list[str]:
    """Every case once, as the newest runs spell it."""
    rows = connection.execute("SELECT DISTINCT case_id FROM measurements ORDER BY case_id")
    return sorted({joint(row[0]): row[0] for row in rows}.values(), key=_by_numbers)


def _by_numbers(case_id: str) -> list[tuple[int, str]]:
    """size=128 before size=1024; numbers by their digits, of which a stored id may have any number."""
    parts = _DIGITS.split(case_id)
    return [
        (len(number := piece.lstrip("0")), number) if at % 2 else (0, piece) for at, piece in enumerate(parts)
    ]


def _names(case_id: str) -> Iterator[str]:
    yield case_id
    full = case_id.partition("::")[2]
    yield from (full, full.partition("[")[0].partition("@")[0])


def _fits(case_id: str, asked: str) -> bool:
    pattern = asked.replace("[", "[[]")  # every case has brackets of its own
    spellings = dict.fromkeys((case_id, joint(case_id)))
    return any(fnmatchcase(name, pattern) for spelling in spellings for name in _names(spelling))


def _rows(
    connection: sqlite3.Connection, cases: Iterable[str], runs: dict[int, _RunRow]
) -> Iterator[tuple[str, list[Any]]]:
    """Each case with its rows in the order of `runs`; many cases by one question."""
    order = {number: at for at, number in enumerate(runs)}
    remaining = iter(cases)
    while some := list(islice(remaining, _ASKED)):
        rows: dict[str, list[Any]] = {case: [] for case in some}
        case_of = {spelling: case for case in some for spelling in _spellings(case)}
        for row in connection.execute(
            "SELECT run, case_id, grade, status, metric, unit, value, time_s FROM measurements"
            f" WHERE case_id IN ({','.join('?' * len(case_of))})",
            tuple(case_of),
        ):
            if row[0] in order:
                rows[case_of[row[1]]].append(row)
        for case, mine in rows.items():
            mine.sort(key=lambda row: order[row[0]])
            yield case, mine


_ASKED = 400
"""Cases of a question: with two spellings each fewer than SQLite takes, which is 999 in old versions."""


def _of_a_case(
    case: str, rows: Iterable[Any], runs: dict[int, _RunRow], order: dict[str, int]
) -> Iterator[CaseHistory]:
    """`rows` in the order of `runs`; a series for each metric, unit, grade, backend and measured machine."""
    series: dict[tuple[str, ...], list[HistoryPoint]] = {}
    without: list[tuple[_RunRow, HistoryPoint]] = []
    for number, _, grade, status, metric, unit, value, time_s in rows:
        run = runs[number]
        point = _point(run, Status(status), value, time_s)
        if value is not None:
            machine = run.machine if grade != Grade.EMULATED.value else ""
            series.setdefault((metric, unit, grade, run.backend, machine), []).append(point)
        elif point.status is not Status.SKIPPED:
            without.append((run, point))
    for (metric, unit, grade, backend, machine), points in series.items():
        # A run without a value has no metric either.
        more = [point for run, point in without if run.backend == backend and machine in ("", run.machine)]
        if more:
            points = sorted([*points, *more], key=lambda point: order[point.run])
        yield CaseHistory(
            case=case,
            metric=metric,
            unit=unit,
            evidence=Grade(grade),
            backend=backend,
            machine=machine,
            points=tuple(points),
        )


def _point(run: _RunRow, status: Status, value: float | None, time_s: float | None) -> HistoryPoint:
    return HistoryPoint(
        run=run.id,
        created=run.created,
        status=status,
        value=value,
        time_s=time_s,
        tool_version=run.tool_version,
        commit=run.commit,
        dirty=run.dirty,
        environment=run.environment,
        cut_short=run.cut_short,
    )
