"""The run before one: what its page says has changed since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.errors import TrnbenchError

if TYPE_CHECKING:
    from trnbench.results.run import Run


def run_before(store: Path | None, run: Run) -> Run | None:
    """The newest finished run that is older, of the same backend, evidence and peak policy, and has a system
    and a case of `run`; None where there is none. A store that cannot be read has none to show."""
    from trnbench.store.store import Store

    try:
        with Store(store) as opened:
            older = [
                each
                for each in opened.list()
                if each.created < run.created
                and each.id != run.id
                and each.state == "done"
                and (each.backend, each.grade, each.policy) == (run.backend, run.grade, str(run.policy))
                and set(each.instances) & set(run.systems)
            ]
            if not older:
                return None
            found = opened.load(max(older, key=lambda each: each.created).id)
    except TrnbenchError:
        return None
    known = {each.id for each in found.measurements}
    return found if any(each.id in known for each in run.measurements) else None
