"""An earlier run taken up again: what it needs is read from its journal, what changed since is named."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from trnbench.backend import Backend
from trnbench.errors import UsageError
from trnbench.results.json import dumps, loads
from trnbench.results.measurement import Measurement, Status
from trnbench.results.run import SCHEMA_VERSION, Run
from trnbench.run.calibration import recalled
from trnbench.run.identity import identity, is_shortened
from trnbench.run.plan import Plan, plan
from trnbench.run.preparation import prepared
from trnbench.run.sameness import differences
from trnbench.run.selection import Selection
from trnbench.run.settings import RunSettings
from trnbench.run.snapshot import begin, now
from trnbench.run.written import rewritten, written
from trnbench.store.beginning import Reopened, reopened
from trnbench.store.recording import Recording
from trnbench.store.rows import Attached
from trnbench.store.store import Store
from trnbench.store.tag import LATEST

if TYPE_CHECKING:
    from trnbench.registry import Registry

AGAIN = (Status.FAILED, Status.INCONCLUSIVE)
"""What is carried out again where a run is taken up: another moment may tell more."""

_NAMED = 6
"""Differences that a message names before it counts."""


class Resumption(NamedTuple):
    """`begun` is the run before its first case, `kept` what is done by position in the plan, each with its
    JSON; only the other cases are carried out. `rounds` are what processes of these came to before, by
    position and round: only their other rounds are."""

    begun: Run
    parts: tuple[Attached, ...]
    kept: dict[int, tuple[Measurement, bytes]]
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
    left = [each.id for each in store.list() if each.state != "done" or each.cases < each.planned]
    for run_id in reversed(left):
        if store.journal(run_id).exists():
            return run_id
    if left:
        return left[-1]
    raise UsageError(
        "there is nothing to resume: every stored run is complete",
        cause=f"a run is incomplete where cases are missing; {store.path} has none such",
        try_="trnbench resume RUN  tries those of a complete one again that failed or are inconclusive",
    )


class Earlier:
    """A stored run, locked against other processes until it is closed."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._reopened: Reopened = reopened(store, run_id)
        self._stack = ExitStack()
        self._stack.callback(self._reopened.recording.journal.close)
        self.id = run_id
        self.opening, self.run = self._reopened.found.opening, self._reopened.found.run

    def __enter__(self) -> Earlier:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def facts(self) -> tuple[Path, ...]:
        """The user's own fact files, as the run was given them."""
        return tuple(Path(os.path.expanduser(each)) for each in self.opening.facts)

    @property
    def settings(self) -> RunSettings:
        """As the run was carried out. Raises `UsageError` for those of another version."""
        told = {name: value for name, value in self.run.settings.items() if name != "selection"}
        try:
            return msgspec.convert(
                {**told, "policy": str(self.run.policy), "argv": self.run.argv, "facts": self.opening.facts},
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
        lost = [each for each in self.opening.facts if is_shortened(each)]
        if lost and not facts:
            raise UsageError(
                f"run {self.run.id} was made with {', '.join(lost)}",
                cause="a run keeps no folders below the home folder, so the file has to be named again",
                try_=f"trnbench resume {self.run.id} "
                + " ".join(f"--facts …/{Path(each).name}" for each in lost),
            )
        made = plan(registry, self.selection(registry), extra_facts=tuple(facts) or self.facts)
        return recalled(made, self._reopened.found._replace(cases={}).whole())

    def taken_up(self, planned: Plan, backend: Backend, registry: Registry, *, anyway: bool) -> Resumption:
        """All that `execute` takes to go on.

        Raises `UsageError` that names what differs unless `anyway`, and where no case of this plan is left.
        """
        settings = self.settings
        attempts = prepared(planned, backend, settings, registry)
        with identity(kept=settings.keep_identity):
            begun = begin(planned, attempts.backend, registry, settings, grade=attempts.unseen.grade)
        begun = loads(dumps(begun))  # as a journal gives it back: a list is a list, a tuple too
        reopened = self._reopened.found
        before = reopened._replace(cases={}).whole()
        changed = (*differences(before, begun), *rewritten(self.opening.sources, written(planned)))
        if reopened.schema != SCHEMA_VERSION:
            raise self._strange(f"results are written in schema {reopened.schema}")
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
        kept = {
            position: (measurement, zlib.decompress(reopened.cases[position].document))
            for position, measurement in reopened.measurements().items()
            if measurement.status not in AGAIN
        }
        if len(kept) == len(planned.cases) and reopened.ended and not reopened.run.interrupted:
            raise UsageError(
                f"run {self.id} is complete: none of its {len(kept)} cases is missing, failed "
                "or inconclusive",
                cause="only such cases are carried out again",
                try_=f"trnbench report {self.id}",
            )
        recording = self._reopened.recording
        recording.journal.append("resumed", {"at": now(), "changed": list(changed)})
        notes = (*begun.notes, *(f"resumed with a difference: {each}" for each in changed))
        run = msgspec.structs.replace(before, finished="", interrupted=False, digest="", notes=notes)
        return Resumption(run, reopened.parts, kept, recording, reopened.begun())

    def _strange(self, what: str) -> UsageError:
        return UsageError(
            f"run {self.id} cannot be resumed: its {what}",
            cause="another version of trnbench made it",
            try_="the same command again, as a new run",
        )


def _listed(changed: Sequence[str]) -> str:
    more = len(changed) - _NAMED
    return "; ".join(changed[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
