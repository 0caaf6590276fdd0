"""Typed metrics from counts and a time, the peaks they are held against, and which mistake explains more."""

from __future__ import annotations

from typing import Any

import pytest
import tiny_machine as tiny
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from trnbench import (
    Case,
    CaseKey,
    Direction,
    Evidence,
    Extent,
    Grade,
    Kernel,
    Observation,
    Peak,
    PeakChoice,
    PeakPolicy,
    PrimaryMetric,
    Reason,
    Scope,
    Status,
    Work,
)
from trnbench.digest import short_digest
from trnbench.peaks import choose_peak
from trnbench.results.measurement import Judgement, Metric, ProcessSamples
from trnbench.run.guard import TOLERANCE, Circumstances, belief_of, circumstances, rank_causes, weigh
from trnbench.run.judge import Judge
from trnbench.run.metrics import derive

SEEN = Evidence(grade=Grade.EMULATED, by="a model", version="1")


def case(kernel: Kernel, scope: Scope = Scope.CORE, **extent: Any) -> Case:
    key = CaseKey(
        kernel=kernel.name,
        family=kernel.family,
        instance="tiny.2",
        generation="tiny",
        scope=scope,
        point={"dtype": "bf16", "mode": "half"},
    )
    return Case(key=key, kernel=kernel, extent=Extent(scope=scope, **extent))


def test_every_count_becomes_a_rate_with_unit_scope_and_formula() -> None:
    counts = {"flops": 100.0, "vector_flops": 10.0, "hbm_bytes": 50.0, "sbuf_bytes": 20.0}
    found = derive(case(tiny.kernel()), counts, 2.0)
    assert [(each.name, each.value, each.unit, each.formula) for each in found.values()] == [
        ("flops_per_s", 50.0, "FLOP/s", "flops / time"),
        ("vector_flops_per_s", 5.0, "FLOP/s", "vector_flops / time"),
        ("hbm_bytes_per_s", 25.0, "B/s", "hbm_bytes / time"),
        ("sbuf_bytes_per_s", 10.0, "B/s", "sbuf_bytes / time"),
        ("flops_per_hbm_byte", 2.0, "FLOP/B", "flops / hbm_bytes"),
        ("latency_s", 2.0, "s", "time of one repetition"),
    ]
    assert {each.better for each in found.values() if each.name != "latency_s"} == {"higher"}
    assert found["latency_s"].better == "lower"


def test_busbw_is_one_ranks_and_algbw_the_collectives() -> None:
    primary = PrimaryMetric(
        name="busbw_bytes_per_s",
        unit="B/s",
        count="link_bytes",
        peak="neuronlink_bandwidth",
        direction=Direction.ONE_WAY,
        scope=Scope.DEVICE,
    )
    kernel = tiny.kernel(primary=primary)
    # An all-reduce of 64 bytes over 4 ranks: each sends 2 · 3/4 · 64 bytes.
    found = derive(
        case(kernel, Scope.INSTANCE, devices=4, ranks=4), {"link_bytes": 96.0, "payload_bytes": 64.0}, 2.0
    )
    assert list(found) == ["busbw_bytes_per_s", "algbw_bytes_per_s", "latency_s"]
    busbw, algbw = found["busbw_bytes_per_s"], found["algbw_bytes_per_s"]
    assert (busbw.value, busbw.scope, busbw.direction) == (48.0, Scope.DEVICE, Direction.ONE_WAY)
    assert (algbw.value, algbw.scope) == (32.0, Scope.INSTANCE)
    assert busbw.value / algbw.value == 2 * 3 / 4


def test_a_latency_kernel_is_judged_by_its_time() -> None:
    primary = PrimaryMetric(name="latency_s", unit="s", better="lower")
    found = derive(case(tiny.kernel(primary=primary)), {"hbm_bytes": 8.0}, 0.5)
    assert next(iter(found)) == "latency_s"
    assert found["latency_s"].value == 0.5


def test_the_backends_own_counts_go_over_the_formula() -> None:
    system = tiny.registry().system("tiny.2")
    seen = Observation(evidence=SEEN, time_s=1.0, work={"flops": 5.0})
    assert Judge(PeakPolicy.SEED).judge(case(tiny.kernel()), seen, system).metrics["flops_per_s"].value == 5.0


def test_a_primary_count_the_work_lacks_is_an_error_with_its_name() -> None:
    system = tiny.registry().system("tiny.2")
    kernel = tiny.kernel(primary=PrimaryMetric(name="x_per_s", unit="B/s", count="psum_bytes"))
    found = Judge(PeakPolicy.SEED).judge(case(kernel), Observation(evidence=SEEN, time_s=1.0), system)
    assert (found.status, found.reason) == (Status.FAILED, Reason.ERROR)
    assert found.reason_text == "kernel act is judged by psum_bytes, but its work counts flops, hbm_bytes"


@pytest.mark.parametrize("count", [float("nan"), float("inf"), -1.0])
def test_work_that_is_no_count_fails_its_own_case(count: float) -> None:
    judge, system = Judge(PeakPolicy.SEED), tiny.registry().system("tiny.2")
    wrong = case(tiny.kernel(work=lambda *_: Work(flops=count)))
    found = judge.judge(wrong, Observation(evidence=SEEN, time_s=1.0), system)
    assert (found.status, found.reason, found.work) == (Status.FAILED, Reason.ERROR, {})
    assert found.reason_text == f"kernel act counts flops = {count}: counts are finite numbers >= 0"
    assert judge.skipped(wrong, system, "no time").work == {}


def test_the_resource_that_needs_longest_bounds_the_time() -> None:
    judge, system = Judge(PeakPolicy.SEED), tiny.registry().system("tiny.2")
    time_s = tiny.FLOPS / 100e9
    core, device = case(tiny.kernel()), case(tiny.kernel(), Scope.DEVICE, cores=2)
    best = choose_peak(system, metric="hbm_bandwidth", scope=Scope.DEVICE, extent=device.extent)
    moved = 0.9 * time_s * max(peak.value for peak in (best.chosen, *best.alternatives))

    def bound(of: Case, **loads: float) -> float | None:
        loads = {name.replace("_", " "): load for name, load in loads.items()}
        found = judge.judge(of, Observation(evidence=SEEN, time_s=time_s, loads=loads), system)
        assert found.status is Status.OK
        return found.detail.get("bound_s")

    assert bound(core) is None
    assert bound(core, odd=1.0) == 0.0
    assert bound(core, tensor_bf16=tiny.FLOPS) == pytest.approx(0.5 * time_s)
    assert bound(device, tensor_bf16=tiny.FLOPS, hbm=moved) == pytest.approx(0.9 * time_s)
    # A core alone may take more than its part of the device's memory.
    assert bound(core, tensor_bf16=tiny.FLOPS, hbm=moved) == pytest.approx(0.5 * time_s)


@pytest.mark.parametrize("load", [float("nan"), float("inf"), -1.0])
def test_a_load_that_is_no_amount_fails_its_own_case(load: float) -> None:
    judge, system = Judge(PeakPolicy.SEED), tiny.registry().system("tiny.2")
    seen = Observation(evidence=SEEN, time_s=1.0, loads={"hbm": load})
    found = judge.judge(case(tiny.kernel()), seen, system)
    assert (found.status, found.reason) == (Status.FAILED, Reason.ERROR)
    assert found.reason_text == f"a model gave a load of hbm = {load}: loads are finite numbers >= 0"


def test_policies_choose_different_peaks_of_the_same_scope() -> None:
    system = tiny.registry().system("tiny.2")
    seen = Observation(evidence=SEEN, time_s=tiny.FLOPS / 100e9)
    by_seed = Judge(PeakPolicy.SEED).judge(case(tiny.kernel()), seen, system)
    by_engine = Judge(PeakPolicy.ENGINE).judge(case(tiny.kernel()), seen, system)
    assert by_seed.judgement.fraction == pytest.approx(100 / 190)
    assert by_engine.judgement.fraction == pytest.approx(100 / 200)
    assert by_seed.judgement.peaks.chosen.scope is Scope.CORE
    assert by_seed.judgement.of_engine_bound == pytest.approx(0.5)


COMPARED = (
    "110.0 % of the documented figure; no document gives a clock that bounds this figure: "
    "compared, not judged"
)
BEYOND = "110.0 % of the highest figure that a document gives: no model of these documents can say so"


@pytest.mark.parametrize(
    ("grade", "status", "comment"),
    [
        (Grade.MEASURED, Status.OK, COMPARED),
        (Grade.EMULATED, Status.SUSPECT, BEYOND),
        (Grade.DERIVED, Status.SUSPECT, BEYOND),
    ],
)
def test_a_figure_without_a_bound_is_compared_and_bounds_a_model(
    grade: Grade, status: Status, comment: str
) -> None:
    system = tiny.registry().system("tiny.2")
    primary = PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth")
    found = Judge(PeakPolicy.SEED).told(
        case(tiny.kernel(primary=primary), Scope.DEVICE, cores=2),
        system,
        Evidence(grade=grade, by="it"),
        time_s=1e6 / 110e9,
        samples=(),
        counts={"hbm_bytes": 1e6},
        notes=(),
    )
    assert found.status is status
    assert found.judgement.fraction == pytest.approx(1.1)
    assert found.judgement.of_engine_bound is None
    assert found.judgement.comment == comment


def test_what_a_backend_knows_to_be_impossible_is_suspect() -> None:
    seen = Observation(evidence=SEEN, time_s=1.0, doubts=("vector at 198 % of what the clocks allow",))
    found = Judge(PeakPolicy.SEED).judge(case(tiny.kernel()), seen, tiny.registry().system("tiny.2"))
    assert (found.status, found.reason_text) == (Status.SUSPECT, seen.doubts[0])


def test_without_a_documented_figure_there_is_no_percentage() -> None:
    system = tiny.registry().system("tiny.2")
    kernel = tiny.kernel(primary=PrimaryMetric(name="latency_s", unit="s", better="lower"))
    found = Judge(PeakPolicy.SEED).judge(case(kernel), Observation(evidence=SEEN, time_s=1e-6), system)
    assert (found.status, found.judgement) == (Status.OK, None)


def test_peaks_are_looked_up_once_for_cases_alike() -> None:
    asked: list[dict[str, Any]] = []

    def choose(system: Any, **criteria: Any) -> None:
        asked.append(criteria)

    one = Judge(PeakPolicy.SEED, choose)
    system = tiny.registry().system("tiny.2")
    for time_s in (1.0, 2.0, 3.0):
        one.judge(case(tiny.kernel()), Observation(evidence=SEEN, time_s=time_s), system)
    assert len(asked) == 1
    assert asked[0]["metric"] == "peak_flops"
    assert asked[0]["dtype"] == "bf16"


def test_a_formula_that_fails_on_a_skipped_case_does_not_hide_the_reason() -> None:
    def work(point: Any, extent: Any) -> Work:
        raise ValueError("cannot count this")

    one = Judge(PeakPolicy.SEED)
    found = one.skipped(case(tiny.kernel(work=work)), tiny.registry().system("tiny.2"), "no such instruction")
    assert (found.status, found.reason_text, found.work) == (Status.SKIPPED, "no such instruction", {})


# Above the peak: which verdict, and which mistake most likely explains it.


def around(**changes: Any) -> Circumstances:
    fields: dict[str, Any] = {
        "unit": "FLOP/s",
        "scope": Scope.CORE,
        "direction": Direction.NONE,
        "grade": Grade.MEASURED,
        "clock": "device",
        "cores": 1,
        "cores_per_device": 8,
        "devices": 16,
    }
    return Circumstances(**{**fields, **changes})


def choice(documented: float, bound: float | None) -> PeakChoice:
    def peak(value: float) -> Peak:
        return Peak(metric="peak_flops", value=value, scope=Scope.CORE)

    return PeakChoice(
        policy=PeakPolicy.SEED, chosen=peak(documented), engine_bound=None if bound is None else peak(bound)
    )


ONE_WAY = {"direction": Direction.ONE_WAY, "scope": Scope.DEVICE}
DEVICE = {"scope": Scope.DEVICE, "cores": 8}
OF_BF16 = {"other_dtype_ratios": (("bf16", 4.0),)}
SMALL = {"unit": "B/s", "working_set_bytes": 1e6, "cache_bytes": 24e6, "cores_per_device": 1}
MODEL = {"grade": Grade.EMULATED, "clock": "model"}


@pytest.mark.parametrize(
    ("ratio", "changes", "mistake", "remain"),
    [
        (1.0737, {"unit": "B/s"}, "GiB counted as GB (factor 1.074)", "99.9"),
        (1.99, {"unit": "B/s", **ONE_WAY}, "both directions counted against one (factor 2)", "99.5"),
        (8.0, {}, "a whole device counted as one core (factor 8)", "100.0"),
        (7.6, {"cores_per_device": 8}, "a whole device counted as one core (factor 8)", "95.0"),
        (1.9, {}, "LNC=2: two physical cores counted as one (factor 2)", "95.0"),
        (15.5, DEVICE, "the whole system counted as one device (factor 16)", "96.9"),
        (3.9, OF_BF16, "computed in bf16, not in the type named (factor 4)", "97.5"),
        (6.0, SMALL, "the data stayed in on-chip memory (cache-resident)", ""),
        (500.0, {"clock": "host"}, "the timer stopped before the device had finished (asynchronous)", ""),
        (500.0, MODEL, "the model charges this case less than the clocks do", ""),
    ],
)
def test_the_ratio_names_the_mistake(
    ratio: float, changes: dict[str, Any], mistake: str, remain: str
) -> None:
    first = f"{mistake}: undone, {remain} % remain" if remain else mistake
    assert rank_causes(ratio, around(**changes))[0] == first


def test_a_type_with_a_higher_peak_may_have_been_computed_in() -> None:
    system = tiny.registry().system("tiny.2")
    (own,) = (fact for fact in system.book.facts if fact.metric == "peak_flops")
    more = (
        replace(own, dtypes=(dtype,), value=times * own.value, superseded_by=newer)
        for dtype, times, newer in (("fp8", 2.0, ""), ("fp32", 0.5, ""), ("fp4", 4.0, "newer"))
    )
    system = replace(system, book=replace(system.book, facts=(*system.book.facts, *more)))
    one, metric = case(tiny.kernel()), derive(case(tiny.kernel()), {"flops": 1.0}, 1.0)["flops_per_s"]
    peak = Judge(PeakPolicy.SEED).peak(one, system)
    found = circumstances(one, Observation(evidence=SEEN, clock="host"), system, {}, metric, peak)
    fields = {"grade": Grade.EMULATED, "clock": "host", "cores_per_device": 2, "devices": 2}
    assert found == around(**fields, cache_bytes=2.0**20, other_dtype_ratios=(("fp8", 2.0),))


WHY = "3 processes agree to ±124.2% only; likeliest cause: not known: nothing was recorded"
TRY = "repeat it; --processes 6 --sample-time 2 narrows the interval"


@pytest.mark.parametrize(
    ("times", "doubts", "doubting", "steady", "status", "text"),
    [
        ((1.0, 1.0, 1.0, 1.0), (), 3, True, Status.SUSPECT, "it grows; high"),
        ((1.0, 1.0, 1.0, 1.0), (), 2, True, Status.OK, "high"),
        ((1.0, 1.0, 1.0, 1.0), ("odd",), 3, True, Status.SUSPECT, "odd; it grows; high"),
        ((1.0, 2.0, 3.0), ("odd",), 3, True, Status.SUSPECT, "odd; high"),
        ((1.0, 2.0, 3.0), (), 3, True, Status.INCONCLUSIVE, f"{WHY}; try: {TRY}"),
        ((1.0, 2.0, 3.0), (), 3, False, Status.SUSPECT, "it grows; high"),
        ((1.0, 2.0, 3.0), ("odd",), 0, False, Status.SUSPECT, "odd; high"),
        ((1.0, 2.0, 3.0), (), 1, False, Status.OK, "high"),
    ],
)
def test_what_speaks_against_a_number_counts_where_its_times_are_steady(
    times: Any, doubts: Any, doubting: int, steady: bool, status: Status, text: str
) -> None:
    grows = [("it grows" + " more" * at,) * (at < doubting) for at in range(len(times))]
    processes = [
        ProcessSamples(samples=(time,), time_s=time, doubts=doubts, doubts_of_time=doubt)
        for time, doubt in zip(times, grows, strict=True)
    ]
    found = belief_of(Status.OK, "high", processes, host_clock=True, steady=steady)
    assert (found.status, found.reason_text, found.stability is not None) == (status, text, steady)


def test_the_order_of_causes_does_not_change_unseen() -> None:
    """What rules each cause in and out, within and just beyond it; the digest is of all sentences."""
    asked: tuple[tuple[float, dict[str, Any]], ...] = (
        (1.02, {"unit": "B/s", "devices": 2, "cores_per_device": 2}),
        (1.02, {"unit": "B/s", "devices": 1, "cores_per_device": 1, "clock": "model"}),
        (1.005, {"devices": 1, "scope": Scope.DEVICE, "grade": Grade.DERIVED}),
        (1.9, {**SMALL, "devices": 1, "working_set_bytes": 24e6}),
        (1.9, {**SMALL, "working_set_bytes": 25e6, "clock": "host"}),
        (1.9, {**SMALL, "working_set_bytes": 0.0, "cores_per_device": 2}),
        (1.9, {**SMALL, **ONE_WAY}),
        (1.9, {**OF_BF16, **MODEL}),
        (1.9, {"scope": Scope.LOGICAL_CORE, "cores": 2, "cores_per_device": 4}),
    )
    told = [cause for ratio, changes in asked for cause in rank_causes(ratio, around(**changes))]
    assert short_digest("\n".join(told)) == "a7dd1aeb674cec12"


def test_nothing_known_says_so() -> None:
    causes = rank_causes(300.0, around(clock="model", cores_per_device=2, devices=1, scope=Scope.INSTANCE))
    assert causes == ("none of the known mistakes gives this ratio: read the kernel's counts",)


def weighed(
    value: float, peaks: PeakChoice, circumstances: Circumstances, better: str = "higher"
) -> tuple[Status, str, Judgement]:
    unit, scope = circumstances.unit, circumstances.scope
    return weigh(Metric(name="m", value=value, unit=unit, better=better, scope=scope), peaks, circumstances)


@given(st.floats(1.0011, 1e6))
def test_above_the_bound_is_never_a_pass(ratio: float) -> None:
    status, _, judged = weighed(100.0 * ratio, choice(90.0, 100.0), around())
    assert status is Status.SUSPECT
    assert judged.causes
    assert judged.of_engine_bound == pytest.approx(ratio)


@given(st.floats(1e-6, 1.0 + TOLERANCE / 2))
def test_within_tolerance_of_the_bound_is_never_suspect(ratio: float) -> None:
    status, _, judged = weighed(100.0 * ratio, choice(100.0, 100.0), around())
    assert (status, judged.causes) == (Status.OK, ())


@pytest.mark.parametrize(
    ("ratio", "status"), [(1.0009, Status.OK), (1.0011, Status.SUSPECT), (1.009, Status.SUSPECT)]
)
def test_a_thousandth_is_rounding(ratio: float, status: Status) -> None:
    assert weighed(100.0 * ratio, choice(100.0, 100.0), around())[0] is status


@pytest.mark.parametrize(("ratio", "explained"), [(8.079, True), (8.081, False)])
def test_a_mistake_explains_up_to_a_hundredth_more_than_the_bound(ratio: float, explained: bool) -> None:
    text = "a whole device counted as one core (factor 8)"
    assert any(each.startswith(text) for each in rank_causes(ratio, around())) is explained


@pytest.mark.parametrize(("ratio", "explained"), [(1.26, True), (1.27, False)])
def test_a_clock_is_boosted_by_a_quarter_at_most(ratio: float, explained: bool) -> None:
    assert ("a clock boosted above the documented one" in rank_causes(ratio, around())) is explained


def test_between_document_and_clocks_the_document_is_low() -> None:
    status, _, judged = weighed(10.07e15, choice(10.0e15, 10.07e15), around())
    assert status is Status.DOCUMENT_LOW
    assert judged.causes == ("the document rounds its figure down, or prints it for a lower clock",)


def test_without_a_bound_it_is_compared_and_says_so() -> None:
    status, told, beyond = weighed(110.0, choice(100.0, None), around(unit="B/s"))
    assert (status, told) == (Status.OK, f"{COMPARED}; the likeliest mistake: {beyond.causes[0]}")
    for seen, why in ((around(), "110.0 % of the documented peak, and no clock"), (around(**MODEL), BEYOND)):
        assert weighed(110.0, choice(100.0, None), seen)[2].comment.startswith(why)
    status, _, below = weighed(90.0, choice(100.0, None), around(unit="B/s"))
    assert (status, below.causes) == (Status.OK, ())
    assert below.comment == "no document gives a clock that bounds this figure: compared, not judged"


def test_a_model_may_follow_a_newer_document_than_its_peak() -> None:
    newer = Peak(metric="hbm_bandwidth", value=120.0, scope=Scope.CORE)
    both = replace(choice(100.0, None), alternatives=(newer,))
    status, told, judged = weighed(110.0, both, around(**MODEL))
    assert (status, told, judged.comment) == (Status.OK, "", COMPARED)


def test_where_less_is_better_the_share_turns_round() -> None:
    _, _, judged = weighed(2e-6, choice(1e-6, None), around(unit="s"), "lower")
    assert judged.fraction == pytest.approx(0.5)
