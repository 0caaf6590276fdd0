"""`trnbench nki list`: which names of NKI run here, and why the others do not."""

from __future__ import annotations

from typing import Any

from trnbench import Session
from trnbench.errors import UnknownName
from trnbench.terminal.output import emit, say
from trnbench_emulator.commands.vocabulary import STATES
from trnbench_emulator.nki.names import REMOVED, WHY
from trnbench_emulator.nki.provide import provided_names


def list_(_: Session, /, *, state: tuple[str, ...], modules: tuple[str, ...], format: str) -> None:
    """List the public names of NKI: run, refused, or removed by NKI itself."""
    entries = names()
    known = sorted({row["module"] for row in entries})
    for each in modules:
        if each not in known:
            raise UnknownName("module", each, known, try_="trnbench nki list")
    shown = [
        row
        for row in entries
        if (not state or row["state"] in state) and (not modules or row["module"] in modules)
    ]
    emit(shown, ("module", "name", "state", "why"), format)
    counts = {each: sum(row["state"] == each for row in entries) for each in STATES}
    say(", ".join(f"{count} {name}" for name, count in counts.items()), level=0)


def names() -> list[dict[str, Any]]:
    """Every name, from what the provided modules hold and what they refuse."""
    rows: dict[tuple[str, str], tuple[str, str]] = {}
    for module, provided in provided_names().items():
        if module.partition(".")[0] == "nki":
            rows.update({(module, name): ("run", "") for name in provided})
    for module, refused in WHY.items():
        for name, why in refused.items():
            rows.setdefault((module, name), ("refused", why))
    for module, gone in REMOVED.items():
        for name in gone:
            rows.setdefault((module, name), ("removed", "in Beta 1 (neuronxcc.nki), removed in NKI 0.2"))
    return [
        {"module": module, "name": name, "state": state, "why": why}
        for (module, name), (state, why) in sorted(rows.items())
    ]
