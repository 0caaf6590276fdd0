"""A device with a queue and a clock of its own: what is timed, by whom, and what contradicts itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from measured_machine import Quiet

from trnbench import Observation, Program, Timing
from trnbench.backend import Clocks, Growth, Proof, Witness
from trnbench.measure.observe import observe
from trnbench.measure.sampling import SampleLimit, Way, sampled

# A limit by this machine's clock: it is never reached, however busy that is.
QUICK = Timing(warm_up_s=0.0, sample_s=60.0, samples=40, growth_s=0.02)
LAUNCH = 1e-5


class Queue:
    """Takes `LAUNCH` of the host's time to be told, works when it is waited for, and keeps time."""

    def __init__(self, clock: Any) -> None:
        self.clock, self.last, self.log = clock, 0.0, [""]

    def work(self, seconds: float, count: int = 1) -> str:
        self.clock.spend(LAUNCH)
        self.clock.spend(seconds * count)
        self.last = seconds * count
        return "right"

    def program(self, seconds: float, **changes: Any) -> Program:
        def smaller() -> Program:
            return self.program(seconds / 4, **{**changes, "amount": 1.0})

        fields: dict[str, Any] = {
            "run": lambda: self.work(seconds),
            "check": lambda found: "" if found == "right" else "wrong",
            "awaited": "it waits",
            "checked": "a word",
            "amount": 4.0,
            "smaller": smaller,
            "idle": lambda: self.work(1e-6),
            "queued": lambda count: self.work(seconds, count),
            "idle_queued": lambda count: self.work(1e-7, count),
            "device_clock": lambda: self.last,
            "device_tick_s": 5e-7,
        }
        return Program(**{**fields, **changes})


def seen(clock: Any, made: Program) -> Observation:
    return observe(made, device="tiny", named_by="itself", timing=QUICK, timer=clock, watch=Quiet)


def test_a_short_call_is_queued_until_the_devices_clock_can_tell(clock: Any) -> None:
    found = seen(clock, Queue(clock).program(5e-6))
    timing = found.detail["timing"]
    assert timing["judged"] == "batched"
    assert timing["series"]["batched"]["iterations"] == 100  # 1000 ticks of 0.5 µs
    assert timing["series"]["batched"]["median_s"] == pytest.approx(5.1e-6, rel=1e-3)  # and a launch
    assert found.clock == "device"
    assert found.time_s == pytest.approx(5e-6)
    assert found.proof.growth == Growth(work_ratio=4.0, time_s=5e-6, less_s=1.25e-6, floor_s=1e-7)


@pytest.mark.parametrize(
    ("call_s", "iterations", "most", "samples"),
    [(1.0, 1, 1, 1), (0.021, 1, 1, 1), (0.0049, 1, 1, 4), (0.0004, 10, 1, 5),  # 20 ms of them
     (0.0004, 1, 1, 50), (0.0, 1, 1, 50), (0.0004, 1, 511, 550), (0.0004, 1, 551, 605),  # then a tenth
     (0.0004, 1, 2080, 2279), (0.0004, 1, 2480, 2679),  # and 200 at most
     (0.011, 1, 100, 100), (0.01, 1, 100, 100), (0.009, 1, 100, 103)],  # of long samples one at a time
)  # fmt: skip
def test_rules_look_often_at_few_samples_and_rarely_at_many(
    clock: Any, call_s: float, iterations: int, most: int, samples: int
) -> None:
    way, rules = Way(name="way", iterations=iterations, timer=clock), (SampleLimit(samples=most),)
    program = Queue(clock).program(1e-6)
    assert len(sampled(way, program, rules, call_s)[0].samples) == samples


def test_a_long_call_is_timed_alone_by_the_devices_clock(clock: Any) -> None:
    found = seen(clock, Queue(clock).program(2e-3))
    assert found.detail["timing"]["judged"] == "hot"
    assert found.time_s == pytest.approx(2e-3)
    assert found.detail["timing"]["series"]["hot"]["median_s"] == pytest.approx(2.01e-3, rel=1e-3)


def test_a_program_that_asks_for_it_is_judged_cold(clock: Any) -> None:
    queue = Queue(clock)
    flushed: list[float] = []
    made = queue.program(
        5e-6, cold=True, flush=lambda: flushed.append(clock.now), flushed="256 MB written to the cache"
    )
    found = seen(clock, made)
    series = found.detail["timing"]["series"]
    assert found.detail["timing"]["judged"] == "cold"
    assert series["cold"]["flush"] == "256 MB written to the cache"
    assert len(flushed) >= series["cold"]["samples"] >= 20
    assert not (*found.proof.doubts({}), *found.proof.doubts_of_time())


def test_it_is_made_ready_before_each_sample_and_outside_of_it(clock: Any) -> None:
    queue = Queue(clock)
    ready: list[int] = []

    def reset() -> None:
        ready.append(1)
        clock.spend(1.0)

    found = seen(clock, queue.program(2e-3, ready=reset))
    assert len(ready) >= len(found.samples)
    assert found.detail["timing"]["series"]["hot"]["max_s"] < 0.1


def test_a_sample_lasts_as_long_as_what_surrounds_it_asks_for(clock: Any) -> None:
    made = Queue(clock).program(1e-3, device_clock=None, device_tick_s=0.0, least_s=0.02)
    found = seen(clock, made)
    assert found.clock == "host"
    assert found.detail["timing"]["series"]["batched"]["iterations"] == 20


def test_work_where_the_devices_clock_does_not_look_is_suspect(clock: Any) -> None:
    queue = Queue(clock)

    def elsewhere() -> str:
        clock.spend(0.01)  # the host waits for it, the events are behind one another on another stream
        return queue.work(2e-6)

    found = seen(clock, queue.program(2e-6, run=elsewhere))
    assert found.proof.doubts_of_time()[-1] == (
        "the device's clock saw 2 µs of the 10 ms that the host waited: most likely the work ran where "
        "that clock does not look (another stream)"
    )


def test_a_device_that_counts_more_than_the_host_waited_is_not_believed() -> None:
    assert Clocks(host_s=1e-3, device_s=2e-3).apart == (
        "the device's clock tells of 2 ms while the host's went 1 ms: not of this call"
    )
    assert not Clocks(host_s=3e-5, device_s=2e-6, floor_s=2e-5).apart  # all of it is what a call takes
    assert not Clocks(host_s=1.02e-3, device_s=1e-3, floor_s=2e-5).apart
    ends = [
        (1.0, 1.05, 0.0),
        (1.0, 1.06, 0.0),
        (2.0, 1.0, 0.0),
        (2.1, 1.0, 0.0),
        (3.0, 0.5, 1.0),
        (3.1, 0.5, 1.0),
    ]
    doubted = [bool(Clocks(host_s=h, device_s=d, floor_s=floor).apart) for h, d, floor in ends]
    assert doubted == [False, True] * 3


def test_what_the_machine_says_of_itself_is_kept_and_may_cast_doubt(clock: Any) -> None:
    told = Witness(
        counters={"sm_clock_hz": 1.2e9},
        notes=("its power was capped",),
        doubts=("its clock was cut: too hot",),
        detail={"gpu": {"power_w": 700.0}},
    )
    found = seen(clock, Queue(clock).program(2e-3, witness=lambda: told))
    assert found.counters == {"sm_clock_hz": 1.2e9}
    assert "its power was capped" in found.notes
    assert found.detail["gpu"] == {"power_w": 700.0}
    assert found.proof.doubts({}) == ("its clock was cut: too hot",)


def test_proofs_without_a_second_clock_are_as_they_were() -> None:
    growth = Growth(work_ratio=4.0, time_s=4.0, less_s=1.0)
    proof = Proof(device="a", completion="b", output="c", growth=growth)
    assert not (*proof.doubts({}), *proof.doubts_of_time())
    assert msgspec.structs.replace(proof, contradicted=("no",)).doubts({}) == ("no",)
