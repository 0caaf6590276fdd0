"""The plan: every case of a selection or of one shard of it, with the reason where a case cannot run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from trnbench.case_key import CaseKey, Division
from trnbench.errors import NothingSelected, TrnbenchError, UsageError, brief, counted, listed, quoted
from trnbench.facts.fact import Scope
from trnbench.generation import Instance, System
from trnbench.kernels.kernel import Case, Kernel, Point
from trnbench.kernels.work import Extent, Spread
from trnbench.record import Record
from trnbench.run.extents import extent_of, shortage
from trnbench.run.points import Combined, Points, Test, Words, parse_keyword, strangers, words_at, words_of
from trnbench.run.selection import (
    Selection,
    choose_instances,
    choose_kernels,
    choose_scopes,
    divisions_of,
    scopes_of,
)
from trnbench.run.sources import kernel_files

if TYPE_CHECKING:
    from trnbench.registry import Registry


MOST_CASES = 100_000
"""Of one run: more is a slip of the finger, as are more than 10,000 values of an axis."""


class Plan(Record, kw_only=True):
    """`cases` by system, kernel, scope and point; `systems` by name, in the order of reports.

    `notes` say what was left out without becoming a case, and why.
    """

    selection: Selection
    cases: tuple[Case, ...]
    systems: dict[str, System]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        asked = self.selection.asked() or "everything"
        systems = listed(self.systems, "system")
        return brief(
            self,
            f"of {asked}: {counted(len(self.cases), 'case')} on {systems}, {len(self.skipped):,} skipped",
        )

    @property
    def runnable(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if not case.skip)

    @property
    def skipped(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.skip)

    def sources(self) -> dict[str, bytes]:
        """The files that its kernels are written in, by name: see `kernel_files`."""
        kinds = {kind for system in self.systems.values() for kind in system.instance.stack}
        chosen = kinds.intersection(self.selection.kinds or kinds)
        return kernel_files({case.kernel.name: case.kernel for case in self.cases}.values(), chosen)

    def digest(self) -> str:
        """SHA-256 over the cases in their order, and which of them are skipped and why."""
        from hashlib import sha256  # OpenSSL comes with it

        told = sha256()
        for case in self.cases:
            told.update(
                f"{case.key.joint}\0{case.skip}\0{case.explain}\n".encode("utf-8", "backslashreplace")
            )
        return told.hexdigest()


def plan(
    registry: Registry, selection: Selection | None = None, *, extra_facts: tuple[Path, ...] = ()
) -> Plan:
    """Every case that `selection` asks for; cases that cannot run carry the reason in `skip`.

    A system made of another one that is planned too ("UltraCluster of trn1.32xlarge") has no core
    and device cases of its own unless a scope is asked for: they would be the same cases twice.

    Raises `NothingSelected` when no case is left, `UnknownName` and `UsageError` for what cannot be
    read, `UsageError` for more than `MOST_CASES`, and what reading facts raises.
    """
    selection = selection or Selection()
    shard = parse_shard(selection.shard) if selection.shard else None
    kernels = choose_kernels(registry, selection)
    scopes = choose_scopes(selection)
    keyword = parse_keyword(selection.keyword) if selection.keyword else None
    points = Points.of(selection, kernels, registry.kernels.values())
    fitting = _fitting(registry, selection, kernels)
    systems = {system.name: system for system in registry.systems(fitting, extra_facts)}

    planner = _Planner(points, keyword, selection, once=bool(selection.kinds) and not scopes)
    parents = {
        name: each.instance.parent
        for name, each in systems.items()
        if not scopes and each.instance.parent in systems
    }
    for system in systems.values():
        repeats = system.name in parents
        for kernel in kernels:
            if not runs_on(kernel, system.instance, selection.kinds):
                planner.elsewhere += 1
                continue
            for scope in scopes_of(kernel, system.instance.scope, scopes):
                if not (repeats and scope.rank < system.instance.scope.rank):
                    planner.add(kernel, system, scope)
    if not planner.cases:
        raise _nothing(selection, kernels, systems, planner)
    cases = tuple(_explained_once(planner.cases, parents))
    if shard is not None:
        cases = shard.of(cases)
        if not cases:
            raise _empty_shard(shard, len(planner.cases))
        left = {case.key.instance for case in cases}
        systems = {name: system for name, system in systems.items() if name in left}
    return Plan(selection=selection, cases=cases, systems=systems, notes=tuple(planner.notes))


def runs_on(kernel: Kernel, instance: Instance, kinds: Sequence[str] = ()) -> bool:
    """Whether `instance` has a stack for any implementation of `kernel`; one without any runs anywhere.

    `kinds` narrows down which implementations count: those that a backend carries out.
    """
    have = kernel.implementations
    return not have or any(kind in have and (not kinds or kind in kinds) for kind in instance.stack)


def _fitting(registry: Registry, selection: Selection, kernels: Sequence[Kernel]) -> tuple[str, ...]:
    """The systems of the selection; where it names none and no default one can run any of `kernels`,
    those that can."""
    names = choose_instances(registry, selection)
    if selection.instances or selection.generations:
        return names
    names = registry.readable(names)

    def fits(name: str) -> bool:
        return any(runs_on(kernel, registry.instance(name)[1], selection.kinds) for kernel in kernels)

    if any(map(fits, names)):
        return names
    return registry.readable(filter(fits, registry.instance_names())) or names


class _Planner:
    """Collects cases; what is the same for many of them is worked out once.

    With `once`, what takes the same part of a machine at two scopes makes one case: a measurement
    under a larger scope's name would be the same one again.
    """

    def __init__(self, points: Points, keyword: Test | None, selection: Selection, *, once: bool) -> None:
        self.points, self.keyword, self.selection, self.once = points, keyword, selection, once
        self._taken: set[tuple[object, ...]] = set()
        self.cases: list[Case] = []
        self.notes: dict[str, None] = {}
        self.keyed_out = 0
        self.pointless = False  # whether no point was left of a kernel at a scope that it has
        self.elsewhere = 0  # kernels of another stack
        self.undivided: dict[str, None] = {}  # kernels that are not there as they are asked for
        self.words: set[str] = set()  # all that -k could have meant
        self._combined: dict[tuple[str, bool], Combined] = {}
        self._lacks: dict[str, dict[str, str]] = {}  # by system, by what is needed

    def add(self, kernel: Kernel, system: System, scope: Scope) -> None:
        """All points of one kernel at one scope of one system, in each division."""
        cores = 2 if kernel.spread is Spread.PAIR else extent_of(kernel, system, scope, {}).cores
        divisions = divisions_of(kernel, scope, cores, self.selection)
        if not divisions:
            self.undivided[kernel.name] = None
        for division in divisions:
            self._add(kernel, system, scope, division)

    def _add(self, kernel: Kernel, system: System, scope: Scope, division: Division | None) -> None:
        combined, invalid = self._points(kernel, scope)
        self.notes.update((f"{kernel.name}: points left out: {why}", None) for why in invalid)
        called = _called(kernel, system, scope, division) if self.keyword else frozenset()
        name, generation = system.name, system.generation.name
        lacks = self._lacks.setdefault(name, {})
        self.pointless |= not combined
        if len(self.cases) + len(combined) > MOST_CASES:
            raise _too_many_cases(kernel, len(combined))
        for point in combined:
            if self.keyword and not self.keyword(words := called | words_at(point)):
                self.keyed_out += 1
                self.words |= words
                continue
            extent, skip = self._fit(kernel, system, scope, division, point, lacks)
            if self.once and self._repeats(kernel, system, point, extent):
                continue
            key = CaseKey(
                kernel=kernel.name,
                family=kernel.family,
                instance=name,
                generation=generation,
                scope=scope,
                point=dict(point),
                tags=kernel.tags,
                division=division,
            )
            self.cases.append(Case(key=key, kernel=kernel, extent=extent, skip=skip))

    def _repeats(self, kernel: Kernel, system: System, point: Point, extent: Extent) -> bool:
        part = (extent.cores, extent.devices, extent.hosts, extent.ranks)
        mark = (kernel.name, system.name, tuple(point.items()), part)
        if mark in self._taken:
            return True
        self._taken.add(mark)
        return False

    def _points(self, kernel: Kernel, scope: Scope) -> Combined:
        wide = scope.rank > Scope.LOGICAL_CORE.rank
        key = (kernel.name, wide)
        if key not in self._combined:
            self._combined[key] = self.points.combine(kernel, wide=wide)
        return self._combined[key]

    def _fit(
        self,
        kernel: Kernel,
        system: System,
        scope: Scope,
        division: Division | None,
        point: Point,
        lacks: dict[str, str],
    ) -> tuple[Extent, str]:
        """The extent of a case, and why it cannot run: "" when it can. `lacks`: what is known of it."""
        try:
            extent = extent_of(kernel, system, scope, point)
            if scope is Scope.LOGICAL_CORE and (why := system.lacks_logical_cores()):
                return extent, why
            for need in kernel.requires(point):
                if need not in lacks:
                    lacks[need] = system.lacks(need)
                if why := lacks[need]:
                    return extent, why
            if why := kernel.refuses(point, extent):
                return extent, why
            split = None
            if division is Division.SHARDED and kernel.split is not None:
                split = kernel.split(point, extent.cores)
                if split.refusal:
                    return extent, split.refusal
            return extent, shortage(kernel, point, extent, system, split)
        except TrnbenchError:
            raise
        except (Exception, SystemExit) as error:
            # A kernel is a plugin's code: its mistake costs its own cases, not the run.
            why = f"{kernel.name} could not be planned: {type(error).__name__}: {error}"
            return Extent(scope=scope), why


def _explained_once(cases: Sequence[Case], parents: Mapping[str, str]) -> Iterator[Case]:
    """Of one kernel, system and point the runnable case of the smallest scope is explained: what holds a core
    back there holds it back everywhere, and finding out takes several times as long as the time itself.

    `parents`: systems whose smaller scopes are planned as another system's.
    """
    smallest: dict[tuple[object, ...], int] = {}

    def mark(case: Case) -> tuple[object, ...]:
        system = case.key.instance
        sharded = case.key.division is Division.SHARDED
        return (case.key.kernel, parents.get(system, system), sharded, *case.key.point.items())

    marks = list(map(mark, cases))
    for case, marked in zip(cases, marks, strict=True):
        if not case.skip:
            rank = case.key.scope.rank
            smallest[marked] = min(rank, smallest.get(marked, rank))
    for case, marked in zip(cases, marks, strict=True):
        if case.skip or case.key.scope.rank > smallest[marked]:
            yield replace(case, explain=False)
        else:
            yield case


def _called(kernel: Kernel, system: System, scope: Scope, division: Division | None) -> Words:
    """All that -k can call the cases of one kernel at one scope of one system."""
    names = (kernel.name, kernel.family, *kernel.tags)
    names += (system.instance.name, *system.instance.aliases, system.generation.name, scope.value)
    names += (division.value,) if division else ()
    return words_of(*names)


def _nothing(
    selection: Selection, kernels: tuple[Kernel, ...], systems: dict[str, System], planner: _Planner
) -> NothingSelected:
    size = f"{counted(len(kernels), 'kernel')} on {counted(len(systems), 'system')}"
    if planner.keyed_out:
        cause = f"-k {selection.keyword!r} fits none of the {counted(planner.keyed_out, 'case')} of {size}"
        if unknown := strangers(selection.keyword, planner.words):
            cause += f"; not known there: {', '.join(unknown)}"
        axis = re.search(r"[\w-]+=[^\s()]+", selection.keyword)
        try_ = f"-a {axis[0]}" if axis else "trnbench list kernels, trnbench list tags: the words it knows"
    elif planner.undivided:
        cause = f"not there as {', '.join(selection.divisions)}: {', '.join(planner.undivided)}"
        try_ = "--division replicated, or none"
    elif planner.notes:
        cause, try_ = "; ".join(planner.notes), "other values on those axes"
    elif planner.elsewhere == len(kernels) * len(systems):
        cause = f"{size}: none has an implementation for these machines"
        try_ = f"trnbench info {kernels[0].name}  names the stacks of a kernel"
        if selection.instances:
            try_ = f"trnbench list kernels -i {selection.instances[0]}: what has one there; or another -i"
    elif planner.pointless and (typed := _choice_of_points(selection)):
        cause = f"{typed} leaves no point of {size}"
        try_ = f"trnbench info {kernels[0].name}  lists the values of its axes"
    elif selection.scopes:
        cause = f"nothing of {size} runs at scope {', '.join(selection.scopes)}"
        try_ = "--scope system for the whole of each system; trnbench list kernels shows the scopes"
    else:
        cause, try_ = f"no point of {size} is left", "trnbench list kernels"
    asked = selection.asked()
    return NothingSelected(
        f"nothing selected by {asked}" if asked else "nothing selected", cause=cause, try_=try_
    )


def _choice_of_points(selection: Selection) -> str:
    return Selection(dtypes=selection.dtypes, axes=selection.axes, excludes=selection.excludes).asked()


def _too_many_cases(kernel: Kernel, points: int) -> UsageError:
    return UsageError(
        f"more than {MOST_CASES:,} cases are selected",
        cause=f"{kernel.name} alone has {points:,} points on its axes, on each system and at each scope",
        try_="fewer values on an axis (-a), fewer systems (-i) or one --scope; a report takes several runs",
    )


def _empty_shard(shard: Shard, planned: int) -> NothingSelected:
    return NothingSelected(
        f"part {shard.number} of {shard.parts} has no case",
        cause=f"the whole plan has {counted(planned, 'case')}: there are more parts than cases",
        try_=f"--shard 1/{planned}",
    )


MOST_PARTS = 100_000
"""Parts of a plan; no plan has as many cases."""


_SHARD = r"([0-9]{1,6})/([0-9]{1,6})"


class Shard(NamedTuple):
    """Number `number`, counted from 1, of `parts`."""

    number: int
    parts: int

    def of(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Its part, in order. No two parts have a case in common, and all of them together have every one.

        Neighbours in a plan take about as long as each other, so they are dealt like cards.
        """
        return tuple(cases[self.number - 1 :: self.parts])


def parse_shard(text: str) -> Shard:
    """`2/8` as typed. Raises `UsageError`."""
    match = re.fullmatch(_SHARD, text)
    shard = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.parts <= MOST_PARTS:
        raise UsageError(
            f"--shard {quoted(text)} is no part of a plan",
            cause=f"it is the number of the part, from 1 on, and of how many: up to {MOST_PARTS:,}",
            try_="--shard 1/8",
        )
    return shard
