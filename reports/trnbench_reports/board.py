"""The scoreboard's rows and cells: kernels against generations, every sweep by its range.

A cell holds the systems of a generation that gave the same; others have rows of their own. What a larger
system repeats of its devices is said once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from trnbench import Measurement, Record, Run, Scope, Status, SystemRecord
from trnbench_reports import view

COUNTED = {"network_bytes_per_s": "bytes of a host on the network", "busbw_bytes_per_s": "bus bandwidth"}
BAD = (Status.SUSPECT, Status.FAILED)
_SCOPES = ("device", "core", "logical-core", "whole system", "instance", "ultraserver", "cluster")
"""The first that a kernel has leads: what is said of one device can be compared."""


class Variant(NamedTuple):
    """What the cells of a row share: never two scopes, types, metrics or kinds of ranks in one."""

    reach: str
    dtype: str
    division: str
    counted: str
    ranks: str

    @property
    def label(self) -> str:
        scope = f"one {self.reach.replace('-', ' ')}" if self.reach in _SCOPES[:3] else self.reach
        return " · ".join(filter(None, (self.dtype, scope, self.division, self.ranks, self.counted)))


class Cell(Record, kw_only=True):
    """One sweep: `best` stands for it, `cases` are all of it; None where nothing good came of it.

    `bad` are suspect, failed and inconclusive cases of the whole kernel here, which a best must not hide.
    """

    systems: tuple[str, ...]
    cases: tuple[Measurement, ...]
    best: Measurement | None
    bad: tuple[Measurement, ...]

    @property
    def share(self) -> float | None:
        """Of the documented peak, of the best."""
        judged = self.best.judgement if self.best is not None else None
        return judged.fraction if judged is not None else None

    @property
    def least(self) -> Measurement | None:
        """The other end of the range; None where the sweep is one case, or its ends cannot be compared."""
        best = self.best
        if best is None:
            return None
        alike = [
            case
            for case in self.cases
            if case.status in view.GOOD
            and case.evidence.grade is best.evidence.grade
            and (case.judgement is None) is (best.judgement is None)
            and case.primary == best.primary
            and view.primary(case) is not None
        ]
        if len(alike) < 2:
            return None
        return min(alike, key=view.merit)


class Row(Record, kw_only=True):
    """`cells` stand in the order of the generations. `system` names those of a row that differs from the main
    one; `also` the wider reaches that repeat it."""

    kernel: str
    family: str
    variant: Variant
    cells: tuple[Cell | None, ...]
    main: bool = False
    system: str = ""
    also: tuple[str, ...] = ()


def generations(run: Run) -> list[str]:
    """Those that have cases, in the order of the page."""
    ran = {measurement.case.instance for measurement in run.measurements}
    ran_generations = [record.generation for record in view.systems(run) if record.instance in ran]
    return list(
        dict.fromkeys([*ran_generations, *(measurement.case.generation for measurement in run.measurements)])
    )


def groups(run: Run) -> list[tuple[str, list[Row]]]:
    """Kernels as the run has them; the main row first, then other types, reaches and systems."""
    own = {record.instance: record for record in view.systems(run)}
    wanted = generations(run)
    grouped = []
    for kernel, cases in view.by_kernel(run.measurements).items():
        table = _by_variant(own, cases)
        kept, also = _told_once(table)
        main = _main(kept)
        rows: list[Row] = []
        for variant in sorted(kept, key=lambda each: (each != main, _rank(each), each)):
            rows += _rows(kernel, variant, kept[variant], wanted, cases if variant == main else None)
        first = replace(rows[0], main=True, also=tuple(also.get(main, ())))
        grouped.append((kernel, [first, *rows[1:]]))
    return grouped


def _by_variant(
    own: dict[str, SystemRecord], found: Sequence[Measurement]
) -> dict[Variant, list[Measurement]]:
    usual = Counter(each.primary for each in found if each.primary).most_common(1)
    divided = len({each.case.division for each in found if each.case.division}) > 1
    table: dict[Variant, list[Measurement]] = defaultdict(list)
    for case in found:
        metric = case.primary if usual and case.primary not in ("", usual[0][0]) else ""
        record = own.get(case.case.instance)
        wide = (
            record is not None and case.case.scope is record.scope and record.scope.rank > Scope.DEVICE.rank
        )
        table[
            Variant(
                "whole system" if wide else str(case.case.scope),
                case.case.dtype,
                str(case.case.division or "") if divided else "",
                COUNTED.get(metric, metric.replace("_", " ")),
                view.rank_kind(case),
            )
        ].append(case)
    # Cases that were skipped have no metric and no ranks: they belong where their sweep is.
    for variant in [each for each in table if not each.ranks and not each.counted]:
        twin = next((each for each in table if each[:3] == variant[:3] and each.ranks), None)
        if twin is not None and all(each.status is Status.SKIPPED for each in table[variant]):
            table[twin] += table.pop(variant)
    return dict(table)


def _told_once(
    table: dict[Variant, list[Measurement]],
) -> tuple[dict[Variant, list[Measurement]], dict[Variant, list[str]]]:
    """Variants without those that repeat a narrower one, and by the narrower one the reaches that do."""
    remaining: dict[Variant, list[Measurement]] = {}
    also: dict[Variant, list[str]] = {}
    for variant in sorted(table, key=_rank):
        marks = {_mark(case) for case in table[variant] if case.judgement is not None}
        judged = all(case.judgement is not None or case.status is Status.SKIPPED for case in table[variant])
        twin = next(
            (
                case
                for case in remaining
                if (case.dtype, case.division) == (variant.dtype, variant.division)
                and case.reach in _SCOPES[:3]
                and variant.reach not in _SCOPES[:3]
                and not variant.ranks
            ),
            None,
        )
        if twin is not None and marks and judged and marks <= {_mark(case) for case in table[twin]}:
            also.setdefault(twin, []).append(variant.reach)
        else:
            remaining[variant] = table[variant]
    return remaining, also


def _mark(each: Measurement) -> object:
    """Generation, point, and share of the peak: what a larger system repeats of its devices."""
    share = each.judgement.fraction if each.judgement is not None else None
    return (
        each.case.generation,
        tuple(each.case.point.items()),
        round(share, 9) if share is not None else each.status,
    )


def _rank(variant: Variant) -> tuple[int, int, int]:
    """One problem of all cores before one of each."""
    reach = _SCOPES.index(variant.reach) if variant.reach in _SCOPES else len(_SCOPES)
    return reach, int(variant.division == "replicated"), int(bool(variant.counted))


def _main(table: dict[Variant, list[Measurement]]) -> Variant:
    """The reach that can be compared, in the type the documents lead with."""
    ran = [variant for variant in table if any(case.status in view.GOOD for case in table[variant])] or list(
        table
    )
    reach = min(_rank(variant) for variant in ran)
    here = [variant for variant in ran if _rank(variant) == reach]
    wanted = view.preferred_dtype([case for variant in here for case in table[variant]])
    return next((variant for variant in here if variant.dtype == wanted), here[0])


def _rows(
    kernel: str,
    variant: Variant,
    found: Sequence[Measurement],
    wanted: Sequence[str],
    everything: Sequence[Measurement] | None,
) -> list[Row]:
    """One row, and one more for each system that differs from those before it."""
    cells: list[list[Cell]] = []
    for generation in wanted:
        mine = [each for each in found if each.case.generation == generation]
        others = [each for each in everything if each.case.generation == generation] if everything else mine
        cells.append(list(_cells(mine, others)))
    depth = max((len(each) for each in cells), default=0)
    rows = []
    for level in range(max(depth, 1)):
        here = tuple(each[level] if level < len(each) else None for each in cells)
        named = [", ".join(each.systems) for each in here if each is not None]
        apart = any(len(each) > 1 for each in cells)
        rows.append(
            Row(
                kernel=kernel,
                family=found[0].case.family,
                variant=variant,
                cells=here,
                system="; ".join(named) if apart else "",
            )
        )
    return rows


def _cells(mine: Sequence[Measurement], rest: Sequence[Measurement]) -> Iterable[Cell]:
    by_system: dict[str, list[Measurement]] = defaultdict(list)
    for each in mine:
        by_system[each.case.instance].append(each)
    merged: list[tuple[list[str], list[Measurement], frozenset[object]]] = []
    for system, cases in by_system.items():
        marks = frozenset((_mark(each), each.status) for each in cases)
        # One that skipped all of it says nothing that another has not said.
        twin = next((each for each in merged if marks == each[2]), None)
        if twin is not None:
            twin[0].append(system)
        else:
            merged.append(([system], list(cases), marks))
    ran = [each for each in merged if any(case.status is not Status.SKIPPED for case in each[1])]
    for place, (systems, cases, _) in enumerate(ran or merged[:1]):
        bad = [each for each in (rest if place == 0 else cases) if _loud(each)]
        if place == 0 and len(ran) > 1:
            bad = [each for each in bad if each.case.instance not in {n for g in ran[1:] for n in g[0]}]
        bad.sort(key=lambda each: each.status is Status.INCONCLUSIVE)
        yield Cell(systems=tuple(systems), cases=tuple(cases), best=view.best(cases), bad=tuple(bad))


def _loud(each: Measurement) -> bool:
    return each.status in (*BAD, Status.INCONCLUSIVE)
