"""One case of a stored run, by its id or its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.errors import UnknownName

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.results.measurement import Measurement
    from trnbench.results.run import Run


def stored_case(shared: Session, run: str, case: str) -> tuple[Run, Measurement]:
    """`case`: an id, or the case without its system where only one has it. Raises `UnknownName`."""
    from trnbench.store.store import Store

    with Store(shared.store_path) as store:
        stored = store.load(run)
    fitting = [each for each in stored.measurements if case in (each.id, each.case.fullname)]
    if len(fitting) != 1:
        begun = [each for each in stored.measurements if each.id.startswith(case)] if case else []
        known = [each.id for each in fitting or begun or stored.measurements]
        raise UnknownName("case", case, known, try_=f"trnbench runs show {stored.id}")
    return stored, fitting[0]
