"""What differs between a run as it began and the same run begun now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trnbench.results.evidence import Grade
from trnbench.results.run import Run

_OF_THE_MACHINE = (
    "system",
    "machine",
    "cpu_model",
    "cpu_count",
    "memory_bytes",
    "byte_order",
    "host_name",
)
"""An emulated number does not depend on them."""

_OF_THE_MOMENT = ("load_average", "neuron_devices_busy", "gpu_notes", "git_commit", "git_dirty")
"""What a machine says of itself and changes from minute to minute; the files that cases are written in are
compared by themselves, whatever else their folder's commit has."""

_SHOWN = 60


def differences(before: Run, now: Run) -> tuple[str, ...]:
    """In a line each, what could make cases of `now` other than those of `before`; both without cases."""
    return tuple(_differences(before, now))


def _differences(before: Run, now: Run) -> Iterator[str]:
    for name in ("tool_version", "backend", "grade", "policy"):
        yield from _differs(name.replace("_", " "), getattr(before, name), getattr(now, name))
    yield from _in_mapping("setting", before.settings, now.settings)
    yield from _in_mapping("environment", _lasting(before), _lasting(now))
    yield from _in_mapping("plugin", _plugins(before), _plugins(now))
    yield from _in_mapping("system", before.systems, now.systems)
    for kind, called in (("books", "facts of"), ("topologies", "graph of")):
        yield from _in_mapping(called, getattr(before, kind), getattr(now, kind))
    if before.fidelity != now.fidelity:
        yield "the emulator's error on published points differs: its model, costs or points changed"


def _lasting(run: Run) -> dict[str, Any]:
    left_out = _OF_THE_MOMENT if run.grade is Grade.MEASURED else (*_OF_THE_MOMENT, *_OF_THE_MACHINE)
    return {name: value for name, value in run.environment.items() if name not in left_out}


def _plugins(run: Run) -> dict[str, str]:
    return {each.name: f"{each.distribution} {each.version} {each.error}".strip() for each in run.plugins}


def _in_mapping(called: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*before, *now}):
        yield from _differs(f"{called} {name}", before.get(name), now.get(name))


def _differs(what: str, before: Any, now: Any) -> Iterator[str]:
    if before == now:
        return
    if before is None or now is None:
        yield f"{what} is {'new' if before is None else 'missing'}"
    elif len(f"{before}{now}") <= 2 * _SHOWN:
        yield f"{what} was {before}, is {now}"
    else:
        yield f"{what} differs"
