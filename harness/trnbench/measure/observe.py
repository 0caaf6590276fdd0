"""From a prepared program to an observation: times, statistics, evidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from trnbench.backend import Observation, Program, Proof, Witness
from trnbench.facts.units import show
from trnbench.measure.conditions import Watch
from trnbench.measure.series import Series
from trnbench.measure.session import Flush, Measured, Timing, Watching, measure
from trnbench.measure.turns import Borrower, borrower
from trnbench.results.measurement import Evidence, Grade, Reason
from trnbench.results.statistics import median


def observe(
    program: Program,
    *,
    device: str,
    named_by: str,
    version: str = "",
    implementation: str = "",
    timing: Timing | None = None,
    flush: Flush | None = None,
    detail: dict[str, Any] | None = None,
    timer: Callable[[], float] = time.perf_counter,
    watch: Callable[[], Watching] = Watch,
) -> Observation:
    """What `program` took, and what proves it. `device` is the name the device gave itself, `named_by` how it
    was asked, `version` that of the library, `timer` the host's clock in seconds, `watch` whoever looks at
    the machine meanwhile.

    The output is checked before a time is taken and again after the last sample: a wrong result is no
    result, however fast. Raises whatever the program raises; its `close` is called in any case.
    """
    evidence = Evidence(grade=Grade.MEASURED, by=device, version=version)
    try:
        wrong, first_s = _checked(program, program.run(), timer)
        if wrong:
            return _wrong(evidence, implementation, f"{wrong} (first call)")
        if (asked := borrower()) is not None:
            return _borrowed(program, asked, evidence, implementation)
        seen = measure(program, timing, flush=flush, timer=timer, watch=watch)
        wrong, last_s = _checked(program, seen.output, timer)
        if wrong:
            return _wrong(evidence, implementation, f"{wrong} (last of the timed calls)")
        counted = program.counted() if program.counted is not None else {}
        witness = program.witness() if program.witness is not None else Witness()
    finally:
        if program.close is not None:
            program.close()
    proof = Proof(
        device=named_by,
        completion=program.awaited,
        output=program.checked,
        growth=seen.growth,
        counted=counted,
        clocks=seen.clocks,
        contradicted=witness.doubts,
        backlog=backlog(
            first_s, last_s, sum(sum(each.samples) * each.iterations for each in seen.series.values())
        ),
    )
    return _observation(program, seen, evidence, proof, implementation, detail or {}, witness)


def _borrowed(program: Program, asked: Borrower, evidence: Evidence, implementation: str) -> Observation:
    """Of a program that is called in turns with another one: that its output is right, and no time."""
    wrong = program.check(asked(program))
    if wrong:
        return _wrong(evidence, implementation, f"{wrong} (last of the timed calls)")
    return Observation(evidence=evidence, clock="", implementation=implementation)


BACKLOG_S = 0.05
"""More than a check's own time varies by."""


def backlog(first_s: float, last_s: float, spent_s: float) -> tuple[str, ...]:
    """What the check of the last output says against the times: reading it waits for all that was queued.

    A call that only queues its work is as short as an empty one, so that its time cannot be seen to grow
    with the work. `first_s` is the check after one call, `last_s` after all, `spent_s` the timed calls.
    """
    if last_s <= 2.0 * first_s + max(spent_s, BACKLOG_S):
        return ()
    return (
        f"the calls took {show(spent_s, 's')} in all, and reading the last output then {show(last_s, 's')} "
        f"(after one call {show(first_s, 's')}). Most likely they returned when the work was queued, not "
        "when it was done",
    )


def _checked(program: Program, output: Any, timer: Callable[[], float]) -> tuple[str, float]:
    """What is wrong with it, and how long it took to find out."""
    begun = timer()
    return program.check(output), timer() - begun


def _wrong(evidence: Evidence, implementation: str, text: str) -> Observation:
    return Observation(
        evidence=evidence,
        clock="",
        implementation=implementation,
        reason=Reason.WRONG_RESULT,
        reason_text=f"the output is wrong: {text}",
    )


def _observation(
    program: Program,
    seen: Measured,
    evidence: Evidence,
    proof: Proof,
    implementation: str,
    detail: dict[str, Any],
    witness: Witness,
) -> Observation:
    chosen = seen.chosen
    on_device = bool(chosen.device_samples)
    times = chosen.device_samples if on_device else chosen.samples
    judged = times if on_device else chosen.judged
    per = program.repeats
    return Observation(
        evidence=evidence,
        time_s=median(judged) / per,
        samples=tuple(time_s / per for time_s in times),
        cpu_s=tuple(each / per for each in chosen.cpu_s),
        preempted=chosen.preempted,
        clock="device" if on_device else "host",
        stop_reason=chosen.stop_reason,
        implementation=implementation,
        proof=proof,
        conditions=seen.conditions,
        counters=witness.counters,
        notes=(*program.notes, *witness.notes, *_notes(chosen)),
        detail={
            **detail,
            **witness.detail,
            **({"settings": dict(program.settings)} if program.settings else {}),
            "timing": {
                "series": {name: each.describe() for name, each in seen.series.items()},
                "judged": seen.primary,
                "clock_tick_s": seen.tick_s,
                "warm_up_calls": seen.warm_up_calls,
                "stability": msgspec.to_builtins(seen.stability),
                "repeats_per_call": per,
            },
        },
    )


def _notes(chosen: Series) -> tuple[str, ...]:
    if not chosen.first_is_far:
        return ()
    times = chosen.samples[0] / median(chosen.judged)
    return (
        f"the first sample took {times:.3g} times the median and is left out of it: "
        "something was still being made ready",
    )
