"""Several processes of one case: the interval between them, and what is made of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from measured_machine import Quiet

from trnbench.results.measurement import ProcessSamples, Stability
from trnbench.results.stability import interval_of, stability_of, time_of

UNEXPLAINED = "not known: nothing that was recorded explains it"


def process(time_s: float, samples: tuple[float, ...] = (), **conditions: Any) -> ProcessSamples:
    seen = msgspec.structs.replace(Quiet().conditions(), **conditions)
    return ProcessSamples(samples=samples or (time_s,) * 20, time_s=time_s, conditions=seen)


def test_the_time_is_the_median_over_the_processes_and_the_interval_is_between_them() -> None:
    found = [process(1.00), process(1.03), process(1.01)]
    assert time_of(found) == 1.01
    interval = interval_of(found)
    # Mean 1.01333, standard deviation 0.0152753, over the root of three, times 4.3027.
    assert (interval.low, interval.high) == pytest.approx((0.975387, 1.051280), abs=1e-5)
    assert interval.confidence == 0.95


def test_the_interval_holds_the_time_and_no_negative_one() -> None:
    interval = interval_of([process(1.0), process(1.0), process(9.0)])
    assert interval.low == 0.0
    assert interval.high > 9.0
    many = interval_of([process(1.0)] * 60 + [process(50.0)])
    assert many.low <= 1.0 <= many.high


def test_it_is_told_how_many_samples_lost_their_processor() -> None:
    lost = {"samples": (1.0,) * 20, "preempted": (2,) * 5 + (0,) * 15}
    found = [msgspec.structs.replace(process(1.0, queued_s=1.0, preempted=10), **lost) for _ in range(3)]
    assert stability_of(found).why == (
        "it waited for a processor for 50% of the time it could have run, and was preempted 10 times, in 25% "
        "of the samples"
    )


def test_one_process_has_no_interval() -> None:
    assert interval_of([process(1.0)]) is None


@pytest.mark.parametrize(
    (
        "spread",
        "verdict",
    ),  # half the interval is 2.484 times the spread, plus nothing: the mean is the median
    [(0.019, "stable"), (0.021, "noisy"), (0.039, "noisy"), (0.041, "unstable")],
)
def test_how_well_processes_agree_decides(spread: float, verdict: str) -> None:
    found = stability_of([process(1.0 - spread), process(1.0), process(1.0 + spread)])
    assert found.verdict == verdict


def test_what_no_record_explains_is_not_explained() -> None:
    found = stability_of([process(1.0), process(2.0), process(3.0)])
    assert found == Stability(
        verdict="unstable",
        why=f"3 processes agree to ±124.2% only; likeliest cause: {UNEXPLAINED}",
        advice="repeat it; --processes 6 --sample-time 2 narrows the interval",
    )
    bare = [ProcessSamples(samples=(each,) * 9, time_s=each) for each in (1.0, 2.0, 3.0)]
    assert stability_of(bare).why.endswith("not known: nothing was recorded")


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ({"stolen": 0.2}, "other virtual machines took 20% of the processor time (steal)"),
        (
            {"queued_s": 1.0, "preempted": 125, "others": 0.5},
            "it waited for a processor for 50% of the time it could have run, and was preempted 125 times; "
            "other processes had 50% of the processors",
        ),
        ({"others": 0.3}, "other processes had 30% of the processors"),
        ({"others": None, "pressure": 0.4}, "something waited for a processor for 40% of the time (PSI)"),
    ],
)
def test_a_disturbed_machine_is_not_believed_however_well_processes_agree(
    seen: dict[str, Any], why: str
) -> None:
    disturbed = [process(1.0, **seen) for _ in range(3)]
    assert (stability_of(disturbed).verdict, stability_of(disturbed).why) == ("unstable", why)
    # A device's own clock does not see what the host is busy with.
    assert stability_of(disturbed, host_clock=False).verdict == "stable"
    # One of three is not the run.
    calm = process(1.0, **{name: None for name, value in seen.items() if value is None})
    assert stability_of([*disturbed[:1], calm, calm]).verdict == "stable"


@pytest.mark.parametrize(
    "seen",
    [
        {"stolen": 0.05},
        {"others": 0.1},
        {"others": None, "pressure": 0.1},
        {"queued_s": 1.0, "cpu_s": 19.0},
        {"queued_s": 0.0, "cpu_s": 0.0},
        {"queued_s": 1.0, "cpu_s": None},
    ],
)
def test_a_machine_that_is_hardly_disturbed_is_believed(seen: dict[str, Any]) -> None:
    assert stability_of([process(1.0, **seen)] * 3).verdict == "stable"


def test_pressure_is_asked_only_where_nothing_says_what_others_used() -> None:
    assert stability_of([process(1.0, pressure=0.9)] * 3).verdict == "stable"


def test_a_clock_that_fell_is_named() -> None:
    clocks = ((3.0e9, 3.0e9), (3.0e9, 2.4e9), (2.4e9, 2.4e9))
    found = stability_of([process(t, clock_hz=c) for t, c in zip((1.0, 1.1, 1.25), clocks, strict=True)])
    assert found.why.endswith("likeliest cause: the clock was between 2.40 and 3.00 GHz")
    assert "cpupower" in found.advice


def test_samples_that_fall_in_each_process_are_named_as_warm_up() -> None:
    falling = (1.5,) * 10 + (1.0,) * 10
    found = stability_of([process(1.25, falling)] * 3)
    assert found.verdict == "unstable"
    assert found.why == (
        "the later half of the samples took 40.0% less; likeliest cause: it was still warming up: the later "
        "half of the samples is 33% faster"
    )


def test_samples_that_climb_have_no_cause_that_nobody_saw() -> None:
    climbing = (1.0,) * 10 + (12.5,) * 10
    found = stability_of([process(6.75, climbing)] * 3)
    assert "took 170.4% longer; likeliest cause: not known" in found.why


def test_four_samples_tell_of_a_warm_up() -> None:
    warm = "it was still warming up: the later half of the samples is 35% faster"
    for samples, cause in (((1.5, 1.0, 1.0), UNEXPLAINED), ((1.6, 1.5, 1.0, 1.0), warm)):
        apart = [process(time, samples) for time in (1.0, 2.0, 3.0)]
        assert stability_of(apart).why == f"3 processes agree to ±124.2% only; likeliest cause: {cause}"


@pytest.mark.parametrize(("loose", "verdict"), [(1, "noisy"), (2, "unstable")])
def test_most_processes_have_to_be_steady_by_themselves(loose: int, verdict: str) -> None:
    """Of four whose medians lie apart by a little; five samples tell how far they spread."""
    times = (0.95, 1.0, 1.0, 1.05)
    shaky = [0.2 + at / 20 if at <= loose else 0.0 for at in range(4)]
    samples = [(1.0 - each, 1.0 - each, 1.0, 1.0 + each, 1.0 + each) for each in shaky]
    found = stability_of([process(time, each) for time, each in zip(times, samples, strict=True)])
    assert found.verdict == verdict
    assert found.why.startswith("the later half of the samples took 40.0% longer") is (loose == 2)


def test_one_process_has_to_be_steady_by_itself() -> None:
    assert stability_of([process(1.0)]).verdict == "stable"
    assert stability_of([process(1.0, (1.0,) * 5)]).verdict == "stable"
    assert stability_of([process(1.0, (1.0,) * 4)]) == Stability(
        verdict="unstable",
        why=f"one process and only 4 samples; likeliest cause: {UNEXPLAINED}",
        advice="repeat it; --processes 4 --sample-time 2 narrows the interval",
    )
    wide = stability_of([process(1.0, (0.8, 1.2) * 10)])
    assert wide.why.startswith("half of the samples lie more than 20.0% from the median; ")


def test_few_samples_of_several_processes_that_agree_are_enough() -> None:
    assert stability_of([process(t, (t,)) for t in (1.0, 1.01, 1.005)]).verdict == "stable"
