"""What is asked to be run: the cases that options choose, by whom, and how."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from trnbench.backend import Backend
from trnbench.facts.fact import as_policy
from trnbench.run.api import choose_backend, here
from trnbench.run.plan import Plan, plan
from trnbench.run.selection import RunSettings, Selection
from trnbench.store.tag import checked_tags
from trnbench.terminal.cell import WANTED, Column
from trnbench.terminal.context import Session
from trnbench.terminal.settings import SETTINGS

if TYPE_CHECKING:
    from trnbench.run.executor import Executor

CASE_COLUMNS = (Column("id", "case"), Column("planned", keep=WANTED), "reason")
"""What people are shown of a row; JSON holds all of it."""

EXACT = ("instance", "case", "planned", "reason")
"""The columns of CSV."""


def case_rows(planned: Plan) -> Iterator[dict[str, object]]:
    """One per case; `reason` says why one is skipped, and is empty for those that run."""
    for case in planned.cases:
        key = case.key
        fullname = key.fullname
        yield {
            "case": fullname,
            "instance": key.instance,
            "planned": "skip" if case.skip else "run",
            "reason": case.skip,
            "id": key.on_instance(fullname),
            "kernel": key.kernel,
            "scope": key.scope.value,
            "division": key.division.value if key.division else "",
            "point": dict(key.point),
        }


def settings_of(shared: Session, labels: tuple[str, ...], options: Mapping[str, Any]) -> RunSettings:
    """The fields that `options` name, as configured where they are not typed or no option has their name.

    Raises `UsageError` for a value that makes no sense."""
    names = [name for name in RunSettings.__struct_fields__ if name in options or name in SETTINGS]
    fields: dict[str, Any] = {name: options.get(name) for name in names}
    fields |= {name: shared.settings[name] for name, value in fields.items() if value is None}
    fields |= {
        "policy": as_policy(fields["policy"]),
        "tags": checked_tags(labels),
        "argv": tuple(sys.argv),
        "facts": tuple(str(each.absolute()) for each in shared.facts_of(options["facts"])),
    }
    return RunSettings(**fields).checked()


class Request(NamedTuple):
    """What is asked to be run: `backend` by its name, or "", cases by the options that select them."""

    shared: Session
    settings: RunSettings
    backend: str
    options: Mapping[str, Any]

    def chosen(self, by: Executor | None) -> Backend:
        """Who measures or emulates. Raises `UnknownName`, `UsageError`."""
        name = self.backend or self.shared.settings.backend
        return choose_backend(self.shared.registry, name, by, keep_identity=self.settings.keep_identity)

    def selection(self, chosen: Backend) -> Selection:
        """What is typed goes over what is configured, option by option."""
        configured = self.shared.settings.selection
        typed = {name: self.options[name] or configured[name] for name in configured}
        return here(Selection.of(**typed, shard=self.options["shard"]), chosen)

    def plan(self, selection: Selection) -> Plan:
        """The cases of `selection`. Raises `NothingSelected`, `UnknownName`."""
        facts = self.shared.facts_of(self.options["facts"])
        return plan(self.shared.registry, selection, extra_facts=facts)
