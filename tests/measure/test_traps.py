"""Each way in which a published benchmark was fooled, tried on ours: impossible, or loud."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from measured_machine import Quiet

from trnbench import Grade, Measurement, Observation, Program, Reason, Scope, Status, Timing
from trnbench.backend import Growth
from trnbench.facts.fact import PeakPolicy
from trnbench.measure.observe import backlog, observe
from trnbench.measure.sampling import SampleLimit
from trnbench.measure.session import Flush, calibrate, host_flush, measure, tick_of, warm_up
from trnbench.results.measurement import Evidence, Metric
from trnbench.run.judge import Judge
from trnbench.run.plan import plan

# A limit by this machine's clock: it is never reached, however busy that is.
QUICK = Timing(warm_up_s=0.0, sample_s=60.0, samples=60, cold_samples=2)


def program(clock: Any, seconds: float = 1e-3, **changes: Any) -> Program:
    """Work that takes `seconds`; a quarter of it takes a quarter."""

    def smaller() -> Program:
        return program(clock, seconds / 4, **{**changes, "amount": changes.get("amount", 4.0) / 4})

    fields: dict[str, Any] = {
        "run": clock.call(seconds),
        "check": lambda output: "" if output == "right" else f"{output!r} is not right",
        "awaited": "the call returns when it is done",
        "checked": "the word it should give",
        "amount": 4.0,
        "smaller": smaller,
    }
    return Program(**{**fields, **changes})


def seen(clock: Any, made: Program, **changes: Any) -> Observation:
    fields: dict[str, Any] = {"device": "tiny core 0", "named_by": "its own registers", "timing": QUICK}
    return observe(made, timer=clock, watch=Quiet, **{**fields, **changes})


def judged(observation: Observation) -> Measurement:
    registry = tiny.registry("half")
    planned = plan(registry)
    (case,) = [each for each in planned.cases if each.key.scope is Scope.CORE][:1]
    # The tiny kernel's work is fixed; its time is set so that it is half of the peak.
    if observation.time_s is not None:
        observation = msgspec.structs.replace(observation, time_s=2 * tiny.FLOPS / tiny.DOCUMENTED)
    return Judge(PeakPolicy.SEED).judge(case, observation, planned.systems[case.key.instance])


def test_an_honest_program_is_a_pass_with_its_proof(clock: Any) -> None:
    found = judged(seen(clock, program(clock)))
    assert (found.status, found.reason) == (Status.OK, Reason.NONE)
    assert found.evidence.grade is Grade.MEASURED
    assert found.detail["proof"] == {
        "device": "its own registers",
        "completion": "the call returns when it is done",
        "output": "the word it should give",
        "growth": "4 times the work took 4 times as long",
    }


# ---- 1 no barrier


def test_a_time_that_does_not_grow_with_the_work_is_suspect(clock: Any) -> None:
    queued = program(clock, 0.013, smaller=lambda: program(clock, 0.013, amount=1.0))
    found = judged(seen(clock, queued))
    assert found.status is Status.SUSPECT
    assert found.reason_text == (
        "the time does not grow with the work: 4 times the work took 1 times as long; most likely the "
        "timer stopped before the work was done, or the work was optimised away"
    )


def test_a_queue_that_is_as_quick_as_an_empty_call_is_found_out_when_its_output_is_read() -> None:
    """The real thing: a thread carries out what calls leave in a queue, on the real clock."""
    queue: SimpleQueue[threading.Event | None] = SimpleQueue()

    def work() -> None:
        while (done := queue.get()) is not None:
            time.sleep(2e-4)
            done.set()

    def queued(amount: float) -> Program:
        def run() -> threading.Event:
            queue.put(done := threading.Event())
            return done

        def check(done: threading.Event) -> str:
            return "" if done.wait(60) else "it never came"

        return Program(
            run=run,
            check=check,
            awaited="(claimed) the call returns when it is done",
            checked="it was waited for, later",
            amount=amount,
            smaller=lambda: queued(amount / 4),
        )

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    short = Timing(warm_up_s=0.0, samples=25, cold_samples=0, growth_s=0.0, rules=(SampleLimit(samples=25),))
    found = observe(
        queued(4.0), device="tiny core 0", named_by="its own registers", timing=short, watch=Quiet
    )
    queue.put(None)
    thread.join()
    (told,) = found.proof.backlog
    assert told.endswith("Most likely they returned when the work was queued, not when it was done")
    # Calls of some microseconds need not tell one time here; what they tell is no pass in either case.
    assert judged(found).status in (Status.SUSPECT, Status.INCONCLUSIVE)


def test_a_check_that_takes_as_long_as_the_first_one_waits_for_nothing() -> None:
    assert backlog(1.0, 1.9, 0.001) == ()  # a busy machine
    assert backlog(0.0, 0.04, 0.0) == ()
    assert backlog(0.1, 1.1, 1.0) == ()
    assert backlog(0.1, 1.4, 1.0) == (
        "the calls took 1 s in all, and reading the last output then 1.4 s (after one call 100 ms). Most "
        "likely they returned when the work was queued, not when it was done",
    )


def test_growth_that_nobody_looked_at_is_suspect(clock: Any) -> None:
    found = judged(seen(clock, program(clock, smaller=None)))
    assert (found.status, found.reason_text) == (
        Status.SUSPECT,
        "nobody looked whether the time grows with the work",
    )


def test_a_call_as_short_as_an_empty_one_shows_no_growth_and_is_not_blamed() -> None:
    assert not Growth(work_ratio=4.0, time_s=6e-6, less_s=5.5e-6, floor_s=5e-6).flat
    assert Growth(work_ratio=4.0, time_s=60e-6, less_s=55e-6, floor_s=5e-6).flat
    # What starting a call takes is not held against it: 10 µs + 1 µs of work against 10 µs + 4 µs.
    assert not Growth(work_ratio=4.0, time_s=44e-6, less_s=21e-6, floor_s=14e-6).flat
    whole = [
        (5.0, 2.0, 1.0, 0.0),
        (5.0, 1.9, 1.0, 0.0),
        (5.0, 3.0, 2.9, 1.0),
        (5.0, 3.1, 3.0, 1.0),
        (4.0, 2.0, 0.0, 0.0),
    ]
    growths = [Growth(work_ratio=w, time_s=t, less_s=less, floor_s=floor) for w, t, less, floor in whole]
    assert [(growth.flat, growth.hidden, str(growth)) for growth in growths] == [
        (False, False, "5 times the work took 2 times as long"),
        (True, False, "5 times the work took 1.9 times as long"),
        (False, True, "5 times the work took 1.03 times as long (a call without work takes as long)"),
        (True, False, "5 times the work took 1.03 times as long"),
        (False, False, "4 times the work took inf times as long"),
    ]
    assert growths[-1].time_ratio == float("inf")


@pytest.mark.parametrize("field", ["completion", "output", "device"])
def test_missing_evidence_is_never_a_pass(clock: Any, field: str) -> None:
    observation = seen(clock, program(clock))
    bare = msgspec.structs.replace(observation.proof, **{field: ""})
    found = judged(msgspec.structs.replace(observation, proof=bare))
    assert (found.status, found.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert found.reason_text.startswith("measured on tiny core 0, but nothing says ")


# ---- 2 silent fallback


def test_a_measured_number_without_any_proof_is_failed(clock: Any) -> None:
    bare = msgspec.structs.replace(seen(clock, program(clock)), proof=None)
    found = judged(bare)
    assert (found.status, found.reason, found.time_s) == (Status.FAILED, Reason.NO_EVIDENCE, None)
    nameless = msgspec.structs.replace(bare, evidence=Evidence(grade=Grade.MEASURED, by=""))
    assert judged(nameless).reason is Reason.NO_EVIDENCE


@pytest.mark.parts
def test_another_machine_is_refused_instead_of_measured_here() -> None:
    from trnbench import load_registry

    registry = load_registry()
    host = registry.backends["host"]
    from trnbench.run.selection import Selection

    (case, *_) = plan(registry, Selection(kernels=("gemm",), instances=("trn1.2xlarge",))).cases
    why = host.unsupported(case, registry.system("trn1.2xlarge"))
    assert why == "the host backend measures this machine, which is no trn1.2xlarge"


# ---- 3 warm-up


def test_the_very_callable_is_warmed_up(clock: Any) -> None:
    calls = []

    def run() -> str:
        calls.append(clock.now)
        clock.spend(478.0 if len(calls) == 1 else 1e-3)  # the first call compiles
        return "right"

    count, last = warm_up(run, Timing(warm_up_s=0.0), clock)
    assert count == len(calls) >= 3
    assert last == pytest.approx(1e-3, rel=1e-3)


def test_a_warm_up_that_still_gets_faster_goes_on(clock: Any) -> None:
    times = [1.0 * 0.5**i for i in range(10)]

    def run() -> None:
        clock.spend(times.pop(0) if times else 0.5**9)

    count, _ = warm_up(run, Timing(warm_up_s=1.0, warm_up_calls=1), clock)
    assert count == 11


@pytest.mark.parametrize(
    ("times", "least", "calls"),
    [
        ([1.0, 1.0, 1.0], 2, 2),  # as fast as before is not faster
        ([1.0, 0.95, 0.9], 2, 2),  # neither is less than a tenth faster
        ([1.0, 0.89, 0.89], 2, 3),
        ([1.0, 0.5, 0.4, 0.3, 0.3], 2, 5),
        ([1.0, 2.0, 1.5, 1.5], 3, 3),  # faster than the call before, but not than the best
    ],
)
def test_improving_means_a_tenth_faster_than_the_best_so_far(
    clock: Any, times: list[float], least: int, calls: int
) -> None:
    left = iter(times)
    timing = Timing(warm_up_s=0.5, warm_up_calls=least)
    count, last = warm_up(lambda: clock.spend(next(left)), timing, clock)
    assert count == calls
    assert last == pytest.approx(times[calls - 1], rel=1e-6)


def test_a_warm_up_that_never_ends_getting_faster_ends_after_ten_times_as_long(clock: Any) -> None:
    times = iter([0.3 * 0.8**number for number in range(99)])  # 1.5 s in all
    count, _ = warm_up(lambda: clock.spend(next(times)), Timing(warm_up_s=0.1, warm_up_calls=1), clock)
    assert count == 5  # 1.008 s


def test_a_first_timed_sample_that_compiles_is_left_out_and_told(clock: Any) -> None:
    calls = []

    def run() -> str:
        calls.append(1)
        clock.spend(1.0 if len(calls) == 5 else 1e-3)  # after the check and three calls of warm-up
        return "right"

    found = seen(clock, program(clock, run=run), timing=msgspec.structs.replace(QUICK, cold_samples=0))
    assert found.time_s == pytest.approx(1e-3, rel=1e-2)
    assert found.samples[0] == pytest.approx(1.0, rel=1e-2)  # kept in the record
    assert any(note.startswith("the first sample took 1e+03 times the median") for note in found.notes)


# ---- 4 work optimised away


def test_a_wrong_output_is_no_result_however_fast(clock: Any) -> None:
    found = judged(seen(clock, program(clock, run=clock.call(1e-9, "nothing"))))
    assert (found.status, found.reason, found.time_s) == (Status.FAILED, Reason.WRONG_RESULT, None)
    assert found.reason_text == "the output is wrong: 'nothing' is not right (first call)"


def test_an_output_that_goes_wrong_while_it_is_timed_is_found(clock: Any) -> None:
    calls = []

    def run() -> str:
        calls.append(1)
        clock.spend(1e-3)
        return "right" if len(calls) < 3 else "stale"

    found = seen(clock, program(clock, run=run))
    assert found.reason is Reason.WRONG_RESULT
    assert found.reason_text == "the output is wrong: 'stale' is not right (last of the timed calls)"


def test_what_the_device_counted_is_held_against_the_formula(clock: Any) -> None:
    fair = program(clock, counted=lambda: {"flops": tiny.FLOPS})
    assert judged(seen(clock, fair)).status is Status.OK
    folded = judged(seen(clock, program(clock, counted=lambda: {"flops": tiny.FLOPS / 2})))
    assert folded.status is Status.SUSPECT
    assert folded.reason_text == (
        "the device counted 5e+08 flops, the formula 1e+09: work was left out, or done more than once"
    )


# ---- 5 the wrong clock


def test_every_number_names_its_clock(clock: Any) -> None:
    assert seen(clock, program(clock)).clock == "host"
    on_device = seen(clock, program(clock, device_clock=lambda: 7e-3))
    assert (on_device.clock, on_device.time_s) == ("device", 7e-3)
    hot = on_device.detail["timing"]["series"]["hot"]
    assert hot["median_s"] == pytest.approx(1e-3, rel=1e-2)  # the host's own time stays beside it
    assert hot["device_median_s"] == 7e-3
    nameless = msgspec.structs.replace(seen(clock, program(clock)), clock="")
    found = judged(nameless)
    assert found.reason is Reason.NO_EVIDENCE
    assert found.reason_text.endswith("which clock took the time, the device's or the host's")


# ---- 7 warm caches


def test_cold_hot_and_batched_are_three_series(clock: Any) -> None:
    flushed = []
    short = program(clock, 1e-6)  # a hundred ticks
    found = measure(
        short, QUICK, flush=Flush(run=lambda: flushed.append(1), declared="a cupboard"), timer=clock
    )
    assert set(found.series) == {"cold", "hot", "batched"}
    assert len(flushed) == len(found.series["cold"].samples) == 2
    cold = found.series["cold"]
    assert (cold.flush, cold.stop_reason) == ("a cupboard", "sample limit: 2 cold samples")
    hasty, flush = msgspec.structs.replace(QUICK, cold_s=0.0), Flush(run=lambda: None, declared="nothing")
    cold = measure(short, hasty, flush=flush, timer=clock).series["cold"]
    assert (len(cold.samples), cold.stop_reason) == (1, "time limit: 0 s of cold samples")
    assert found.series["hot"].flush == "none"
    assert found.primary == "batched"
    assert found.series["batched"].iterations > 1
    assert found.chosen.samples[0] == pytest.approx(1e-6, rel=0.01)


def test_a_long_call_needs_no_batches(clock: Any) -> None:
    found = measure(program(clock), QUICK, timer=clock)
    assert (set(found.series), found.primary) == ({"hot"}, "hot")


def test_a_sample_lasts_a_thousand_ticks() -> None:
    assert calibrate(1e-3, 1e-7) == 1
    assert calibrate(1e-6, 1e-7) == 100
    assert calibrate(0.0, 1e-7) == 1000
    assert (calibrate(1.0, 1e-3), calibrate(0.999, 1e-3)) == (1, 2)
    assert calibrate(1e-9, 1e-3) == 1_000_000  # at most, however coarse the clock


def test_a_tick_is_what_reading_the_clock_takes(clock: Any) -> None:
    assert tick_of(clock) == pytest.approx(clock.TICK, rel=1e-3)
    assert tick_of(lambda: 0.0) == 1e-9  # it never moves


def test_a_flush_says_what_it_empties_and_when_it_cannot() -> None:
    whole = host_flush(1 << 20)
    whole.run()
    assert whole.declared == "64 MiB read and written, against the last-level cache of 1 MiB"
    part = host_flush(1 << 24, allowed=1 << 20)
    assert part.declared.endswith("1 MiB read and written, against the last-level cache of 16 MiB: "
                                  "less than the cache, partly warm")  # fmt: skip
    assert "an unknown cache" in host_flush(0.0, allowed=1 << 20).declared


# ---- 9 too few samples


def test_why_sampling_ended_is_part_of_the_result(clock: Any) -> None:
    assert judged(seen(clock, program(clock))).stop_reason.startswith("precision reached: ")
    few = msgspec.structs.replace(QUICK, samples=5)
    assert judged(seen(clock, program(clock), timing=few)).stop_reason == "sample limit: 5 samples"


# ---- 12 above the peak


def test_a_measured_rate_above_the_peak_is_suspect_even_without_a_clock_to_bound_it() -> None:
    from trnbench.facts.fact import Direction, Peak, PeakChoice
    from trnbench.run.guard import Circumstances, weigh

    peak = Peak(metric="peak_flops", value=100e9, scope=Scope.CORE, dtype="fp32")
    choice = PeakChoice(policy=PeakPolicy.SEED, chosen=peak)
    around = Circumstances(
        unit="FLOP/s", scope=Scope.CORE, direction=Direction.NONE, grade=Grade.MEASURED, clock="host"
    )
    metric = Metric(name="flops_per_s", value=319e9, unit="FLOP/s", better="higher", scope=Scope.CORE)
    status, text, judged = weigh(metric, choice, around)
    assert status is Status.SUSPECT
    assert text.startswith("319.0 % of the documented peak; most likely: ")
    assert len(judged.causes) > 1
    assert weigh(msgspec.structs.replace(metric, value=99e9), choice, around)[0] is Status.OK


# ---- the rest of what a measurement holds


def test_the_program_is_closed_whatever_happens(clock: Any) -> None:
    closed = []
    seen(clock, program(clock, close=lambda: closed.append("well")))
    assert closed  # the smaller one is closed as well
    with pytest.raises(ZeroDivisionError):
        seen(clock, program(clock, run=lambda: 1 / 0, close=lambda: closed.append("broken")))
    assert closed[-1] == "broken"


def test_repeats_turn_the_time_of_a_call_into_the_time_of_the_case(clock: Any) -> None:
    found = seen(clock, program(clock, repeats=1000.0))
    assert found.time_s == pytest.approx(1e-6, rel=1e-2)
    assert found.detail["timing"]["series"]["hot"]["median_s"] == pytest.approx(1e-3, rel=1e-2)
