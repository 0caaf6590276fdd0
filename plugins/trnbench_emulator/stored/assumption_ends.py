"""What either end of what is assumed would do to an emulated time: the case asked again under each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import UsageError
from trnbench.results.measurement import Measurement
from trnbench.workload import FAMILY
from trnbench_emulator.stored.case import case_again, check_emulated

if TYPE_CHECKING:
    from trnbench.registry import Registry

_NAMED = re.compile(r"assumed ([\w-]+): ")


class AssumptionEnd(msgspec.Struct, frozen=True, kw_only=True):
    """`name` at `value` in place of `taken`, base units of `unit`: seconds, and those over the usual ones."""

    name: str
    taken: float
    value: float
    unit: str
    time_s: float
    ratio: float
    reason: str


def assumption_ends(found: Measurement, registry: Registry) -> tuple[float, list[AssumptionEnd]]:
    """The time as the model gives it now, and at both ends of the range of each assumption that the case
    names, the largest change first.

    Raises `UsageError` for a case that was not emulated or is a step of a model, `UnknownName` for a kernel
    or system that is not here any more, `KernelError` for a kernel that cannot be recorded.
    """
    check_emulated(found, "only a model has assumptions to move")
    if found.case.family == FAMILY:
        raise UsageError(
            f"{found.id} is a step of a model: its assumptions are those of its operators",
            try_=f"trnbench workload run {found.case.kernel} --help",
        )
    from trnbench.facts.metric import METRICS
    from trnbench_emulator.assumed import assuming
    from trnbench_emulator.backend import EmulatedBackend

    case, system = case_again(found, registry)
    short = msgspec.structs.replace(case, explain=False)
    backend = EmulatedBackend()
    observed = backend.observe(short, system)
    usual = observed.time_s or 0.0
    ends = []
    for name in dict.fromkeys(name for note in observed.notes for name in _NAMED.findall(note)):
        known = system.book.assumptions[name]
        for value in dict.fromkeys((known.low, known.high)):
            if value == known.value:
                continue
            time_s = backend.observe(short, assuming(system, name, value)).time_s or 0.0
            ends.append(
                AssumptionEnd(
                    name=name,
                    taken=known.value,
                    value=value,
                    unit=METRICS[known.metric].unit,
                    time_s=time_s,
                    ratio=time_s / usual,
                    reason=known.reason,
                )
            )
    return usual, sorted(ends, key=lambda each: (-abs(each.ratio - 1), each.name, each.value))
