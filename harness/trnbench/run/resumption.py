"""An earlier run taken up again: read from its journal, with what has changed since."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from trnbench.backend import READS, Backend
from trnbench.errors import UsageError
from trnbench.results.history import OF_THE_MACHINE
from trnbench.results.json import dumps, loads
from trnbench.results.measurement import Grade, Measurement, Status
from trnbench.results.run import Run
from trnbench.run.identity import identity, is_shortened
from trnbench.run.plan import Plan, plan
from trnbench.run.preparation import prepared, recalled
from trnbench.run.selection import RunSettings, Selection, with_division
from trnbench.run.snapshot import begin, now
from trnbench.run.sources import changed_files, file_digests
from trnbench.store.entry import Entry
from trnbench.store.layout import Attached
from trnbench.store.recording import Recording, Reopened, reopened
from trnbench.store.store import Store
from trnbench.store.tag import LATEST

if TYPE_CHECKING:
    from trnbench.registry import Registry


AGAIN = (Status.FAILED, Status.INCONCLUSIVE)
"""What is carried out again where a run is taken up: another moment may tell more."""

_NAMED = 6
"""Differences that a message names before it counts."""


class Resumption(NamedTuple):
    """`begun` is the run before its first case, `kept` what is done by position in the plan; only the other
    cases are carried out. `rounds` are what processes of these came to before, by
    position and round: only their other rounds are."""

    begun: Run
    parts: tuple[Attached, ...]
    kept: dict[int, Entry]
    recording: Recording
    rounds: dict[int, dict[int, Measurement]]


def unfinished(store: Store, ref: str = "") -> str:
    """The full id of the run that `ref` names; without one, the latest that is not complete and has a
    journal.

    Raises `UsageError` where every run is complete, `UnknownName`, and `StoreError` without a store.
    """
    if ref:
        return store.resolve(ref)
    store.resolve(LATEST)  # an empty store says so itself
    unfinished_ids = [run.id for run in store.list() if run.state != "done"]
    for run_id in reversed(unfinished_ids):
        if store.journal(run_id).exists():
            return run_id
    if unfinished_ids:
        return unfinished_ids[-1]
    raise UsageError(
        "there is nothing to resume: every stored run is complete",
        cause=f"a run is incomplete where cases are missing; {store.path} has none such",
        try_="trnbench resume RUN  tries those of a complete one again that failed or are inconclusive",
    )


class Earlier:
    """A stored run, locked against other processes until it is closed."""

    def __init__(self, store: Store, run_id: str) -> None:
        if not store.journal(run_id).exists():
            stored = next(each for each in store.list() if each.id == run_id)
            if stored.state == "done" and not any(stored.counts[status] for status in AGAIN):
                raise _complete(run_id, stored.cases)
        self._reopened: Reopened = reopened(store, run_id)
        self._journal = self._reopened.recording.journal
        self.id = run_id
        self.opening, self.run = self._reopened.found.opening, self._reopened.found.run

    def __enter__(self) -> Earlier:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    @property
    def facts(self) -> tuple[Path, ...]:
        """The user's own fact files, as the run was given them."""
        return tuple(Path(os.path.expanduser(fact)) for fact in self.opening.facts)

    @property
    def settings(self) -> RunSettings:
        """As the run was carried out. Raises `UsageError` for those of another version."""
        fields = {name: value for name, value in self.run.settings.items() if name != "selection"}
        try:
            return msgspec.convert(
                {
                    **fields,
                    "policy": str(self.run.policy),
                    "argv": self.run.argv,
                    "facts": self.opening.facts,
                },
                RunSettings,
            ).checked()
        except msgspec.ValidationError as error:
            raise self._strange(f"settings: {error}") from error

    def selection(self, registry: Registry) -> Selection:
        """What was asked for. Raises `UsageError` for that of another version."""
        try:
            return Selection.stored(self.run.settings.get("selection", {}), registry)
        except msgspec.ValidationError as error:
            raise self._strange(f"selection: {error}") from error

    def planned(self, registry: Registry, facts: Sequence[Path] = ()) -> Plan:
        """Its plan, made again, with the peaks that were measured when it began; with `facts` in place of the
        files it was made with. Raises what planning raises, and `UsageError` for files that only their last
        names are known of."""
        lost = [fact for fact in self.opening.facts if is_shortened(fact)]
        if lost and not facts:
            raise UsageError(
                f"run {self.run.id} was made with {', '.join(lost)}",
                cause="a run keeps no folders below the home folder, so the file has to be named again",
                try_=f"trnbench resume {self.run.id} "
                + " ".join(f"--facts …/{Path(path).name}" for path in lost),
            )
        new_plan = plan(registry, self.selection(registry), extra_facts=tuple(facts) or self.facts)
        return recalled(new_plan, self._reopened.found._replace(cases={}).whole())

    def taken_up(self, planned: Plan, backend: Backend, registry: Registry, *, anyway: bool) -> Resumption:
        """All that `execute` takes to go on.

        Raises `UsageError` that names what differs unless `anyway`, and where no case of this plan is left.
        """
        settings = self.settings
        attempts = prepared(planned, backend, settings, registry)
        with identity(kept=settings.keep_identity):
            new_run = begin(planned, attempts.backend, registry, settings, grade=attempts.unseen.grade)
        new_run = loads(dumps(new_run))  # as a journal gives it back: a list is a list, a tuple too
        reopened = self._reopened.found
        before = reopened._replace(cases={}).whole()
        changed = (
            *differences(before, new_run),
            *changed_files(self.opening.sources, file_digests(planned.sources())),
        )
        if self.opening.plan != planned.digest():
            then, here = self.opening.planned, len(planned.cases)
            raise UsageError(
                f"run {self.id} cannot be resumed: its plan is another one now",
                cause=_listed((f"the plan: {then} cases then, {here} now", *changed)),
                try_="the same command again, as a new run",
            )
        if changed and not anyway:
            raise UsageError(
                f"run {self.id} cannot be resumed as it began",
                cause=_listed(changed),
                try_="undo that, or: --anyway  goes on with what is here, and the run notes it",
            )
        finished = {
            position: measurement
            for position, measurement in reopened.measurements().items()
            if measurement.status not in AGAIN
        }
        if len(finished) == len(planned.cases) and reopened.ended and not reopened.run.interrupted:
            raise _complete(self.id, len(finished))
        recording = self._reopened.recording
        reopened = recording.renew(reopened)
        entries = {
            position: Entry(measurement, zlib.decompress(reopened.cases[position].document))
            for position, measurement in finished.items()
        }
        recording.go_on(now(), changed)
        notes = (*new_run.notes, *(f"resumed with a difference: {difference}" for difference in changed))
        run = replace(before, finished="", interrupted=False, missing=0, digest="", notes=notes)
        return Resumption(run, reopened.parts, entries, recording, reopened.begun())

    def _strange(self, what: str) -> UsageError:
        return UsageError(
            f"run {self.id} cannot be resumed: its {what}",
            cause="another version of trnbench made it",
            try_="the same command again, as a new run",
        )


def _complete(run_id: str, cases: int) -> UsageError:
    return UsageError(
        f"run {run_id} is complete: none of its {cases} cases is missing, failed or inconclusive",
        cause="only such cases are carried out again",
        try_=f"trnbench report {run_id}",
    )


def _listed(changed: Sequence[str]) -> str:
    more = len(changed) - _NAMED
    return "; ".join(changed[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


_OF_THE_MOMENT = (READS, "load_average", "neuron_devices_busy", "gpu_notes", "git_commit", "git_dirty")
"""What a machine says of itself and changes from minute to minute; the files that cases are written in are
compared by themselves, whatever else their folder's commit has."""


_SHOWN, _NAMED = 60, 3


def differences(before: Run, now: Run) -> tuple[str, ...]:
    """In a line each, what could make cases of `now` other than those of `before`; both without cases."""
    return tuple(_differences(before, now))


def _differences(before: Run, now: Run) -> Iterator[str]:
    for name in ("tool_version", "backend", "grade", "policy"):
        yield from _differs(name.replace("_", " "), getattr(before, name), getattr(now, name))
    named: list[dict[str, Any]] = [{}, {}]
    for run, values in zip((before, now), named, strict=True):
        for called, mapping in (
            ("setting", _settings(run)),
            ("environment", _lasting(run)),
            ("plugin", _plugins(run)),
            ("system", run.systems),
            ("facts of", run.books),
            ("graph of", run.topologies),
        ):
            values |= {
                f"{called} {name}": mapping[name] for name in sorted(mapping) if mapping[name] is not None
            }
    yield from _in_mapping(*named)
    if before.fidelity != now.fidelity:
        yield "the emulator's error on published points differs: its model, costs or points changed"


def _settings(run: Run) -> dict[str, Any]:
    return {**run.settings, "selection": with_division(run.settings.get("selection"))}


def _lasting(run: Run) -> dict[str, Any]:
    left_out = _OF_THE_MOMENT if run.grade is Grade.MEASURED else (*_OF_THE_MOMENT, *OF_THE_MACHINE)
    return {name: value for name, value in run.environment.items() if not name.startswith(left_out)}


def _plugins(run: Run) -> dict[str, str]:
    return {
        plugin.name: f"{plugin.distribution} {plugin.version} {plugin.error}".strip()
        for plugin in run.plugins
    }


def _in_mapping(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What both have, each with its values; what one lacks in one line, for an imported run lacks most."""
    for name, value in before.items():
        if name in now:
            yield from _differs(name, value, now[name])
    for how, one, other in (("missing", before, now), ("new", now, before)):
        if names := [name for name in one if name not in other]:
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            yield f"{', '.join(names[:_NAMED])}{more} {'are' if len(names) > 1 else 'is'} {how}"


def _differs(what: str, before: Any, now: Any) -> Iterator[str]:
    if before == now:
        return
    if len(f"{before}{now}") <= 2 * _SHOWN:
        yield f"{what} was {before}, is {now}"
    else:
        yield f"{what} differs"
