"""Whether a verdict on a number can be believed: that its times are steady comes first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.results.between import stability_of
from trnbench.results.measurement import Status
from trnbench.results.process_samples import ProcessSamples
from trnbench.results.stability import Stability


class Belief(msgspec.Struct, frozen=True, kw_only=True):
    """`stability` is None where it was not asked for."""

    status: Status
    reason_text: str = ""
    stability: Stability | None = None


def believed(
    status: Status, text: str, processes: Sequence[ProcessSamples], *, host_clock: bool, steady: bool
) -> Belief:
    """`status` and `text`, as peaks have them, after what the processes have to say.

    What speaks against the number whatever the machine did makes it suspect. Times held against each other
    (growth, clocks, a rate above the peak) count where the times are steady, and growth where most processes
    saw it; where they are not, nothing is known. `steady`: whether to ask, which is of no use of a model, nor
    of one process of several.
    """
    doubts = next((each.doubts for each in processes if each.doubts), ())
    doubting = [each.doubts_of_time for each in processes if each.doubts_of_time]
    of_time = doubting[0] if 2 * len(doubting) > len(processes) else ()
    told = (text,) if text else ()
    if not steady:
        return (
            _suspect((*doubts, *of_time), told)
            if doubts or of_time
            else Belief(status=status, reason_text=text)
        )
    stability = stability_of(processes, host_clock=host_clock)
    # The host's times are part of these doubts even where a device's clock took the result.
    unsure = stability if host_clock or not of_time else stability_of(processes)
    unsteady = "unstable" in (stability.verdict, unsure.verdict)
    if doubts:
        return _suspect((*doubts, *(() if unsteady else of_time)), told, stability)
    if unsteady:
        shaky = stability if stability.verdict == "unstable" else unsure
        return Belief(
            status=Status.INCONCLUSIVE, reason_text=f"{shaky.why}; try: {shaky.advice}", stability=stability
        )
    if of_time:
        return _suspect(of_time, told, stability)
    return Belief(status=status, reason_text=text, stability=stability)


def _suspect(doubts: Sequence[str], told: Sequence[str], stability: Stability | None = None) -> Belief:
    return Belief(status=Status.SUSPECT, reason_text="; ".join((*doubts, *told)), stability=stability)
