"""What a gate calls broken, inconclusive and well."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from messages import messages
from paired_runs import case, emulated, measured, run_of
from stored_run import message_of

import trnbench
from trnbench import (
    BadInput,
    ExitCode,
    Finding,
    Metric,
    Outcome,
    Rule,
    RuleDirection,
    Scope,
    Status,
)
from trnbench.compare.gate.judgement import judged
from trnbench.compare.gate.rule import read_rules
from trnbench.results.measurement import Measurement
from trnbench.results.statistics import Interval

STEADY = (1.000, 1.002, 0.998)
NOW = datetime(2026, 12, 22, 12, tzinfo=UTC)


def found(before: Measurement | None, after: Measurement | None, *rules: Rule, **options: Any) -> Finding:
    """The finding of a case that has something to say; another case is in both."""
    rest = emulated(case("rest"), 1.0)
    sides = [(rest,) if each is None else (each, rest) for each in (before, after)]
    gated = judged(run_of(*sides[1], id="b"), run_of(*sides[0]), rules, now=NOW, **options)
    (found,) = (each for each in gated.findings if each.kernel != "rest")
    return found


def slowed(by: float) -> Measurement:
    return measured(case(), tuple(each * by for each in STEADY))


ONE = emulated(case(), 1.0)
BROKEN = emulated(case(), 1.0, status=Status.FAILED, reason_text="signal 11", time_s=None)
SKIPPED = emulated(case(), 1.0, status=Status.SKIPPED, reason_text="no such core", time_s=None)
UNSTEADY = measured(case(), STEADY, status=Status.INCONCLUSIVE, reason_text="it drifts")
UNKNOWN = "the second run has no samples by process: nothing tells how far another would lie"
OTHER = "other evidence: emulated and measured"


def test_an_emulated_time_that_rose() -> None:
    one = emulated(case(), 1.0, implementation="nki: a.b:c")
    broken = found(one, msgspec.structs.replace(one, time_s=1.0001))
    assert (broken.outcome, broken.rule, broken.kind) == (Outcome.FAILED, "usual", "slower")
    assert broken.what == "time +0.01 % (exact), rule usual allows 0 %"
    assert broken.causes == ("its inputs are unknown: a run of schema 3 or before does not keep them",)


def test_an_instruction_that_costs_three_per_cent_fails_at_two_and_is_named_by_its_line() -> None:
    source = "import nki\n\n\ndef c(x):\n    nki.isa.load(x)\n    nki.isa.store(x)\n"
    slower = source.replace("    nki.isa.store", "    nki.isa.copy(x)\n    nki.isa.store")
    one = emulated(case(), 1.0, implementation="nki: a.b:c")
    before = run_of(one, inputs={"a/b.py": source})
    after = run_of(msgspec.structs.replace(one, time_s=1.03), id="b", inputs={"a/b.py": slower})
    for allowed, outcome in ((0.02, Outcome.FAILED), (0.05, Outcome.PASSED)):
        (finding,) = judged(after, before, [Rule(name="r", tolerance=allowed)], now=NOW).findings
        assert finding.outcome is outcome
        assert finding.causes == (("a/b.py:6 is 'nki.isa.copy(x)', was no line",) if allowed < 0.03 else ())


def test_a_measured_case_that_is_slower() -> None:
    broken = found(slowed(1.0), slowed(1.1))
    assert (broken.outcome, broken.kind, broken.verdict) == (Outcome.FAILED, "slower", "slower")
    assert broken.what == "time +10.0 % (+9.5 to +10.5 %), rule usual allows 3.0 %"
    assert broken.causes == ("unknown: nothing that was recorded differs",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ONE, emulated(case(), 0.5)),
        (ONE, emulated(case(), 1.0 + 1e-12)),  # another library rounds otherwise
        (slowed(1.0), slowed(1.01)),  # within 3 %
        (None, ONE),
        (BROKEN, BROKEN),
        (BROKEN, ONE),
    ],
)
def test_what_is_well(before: Measurement | None, after: Measurement) -> None:
    assert found(before, after).outcome is Outcome.PASSED


def test_an_interval_that_reaches_beyond_the_rule_tells_nothing() -> None:
    unsure = found(measured(case(), (1.0, 1.05, 0.95)), measured(case(), (1.01, 1.06, 0.96)))
    assert unsure.outcome is Outcome.INCONCLUSIVE
    assert unsure.what == (
        "time +1.0 % (−9.8 to +13.1 %), rule usual allows 3.0 %, and the interval reaches beyond that; about "
        "110 processes on each side would tell"
    )


@pytest.mark.parametrize(
    ("before", "after", "outcome", "kind", "what"),
    [
        (slowed(1.0), measured(case(), (), time_s=2.0), Outcome.INCONCLUSIVE, "metric", UNKNOWN),
        (ONE, BROKEN, Outcome.FAILED, "failure", "failed: signal 11"),
        (None, BROKEN, Outcome.FAILED, "failure", "failed: signal 11; it is not in the baseline"),
        (ONE, None, Outcome.FAILED, "lost", "it ran in the baseline and is not here"),
        (ONE, SKIPPED, Outcome.FAILED, "lost", "it ran in the baseline and is skipped: no such core"),
        (BROKEN, UNSTEADY, Outcome.INCONCLUSIVE, "metric", "inconclusive: it drifts"),
        (SKIPPED, UNSTEADY, Outcome.INCONCLUSIVE, "metric", "inconclusive: it drifts"),
        (None, UNSTEADY, Outcome.INCONCLUSIVE, "metric", "inconclusive: it drifts"),
        (ONE, slowed(1.0), Outcome.FAILED, "evidence", f"it cannot be compared: {OTHER}"),
    ],
)
def test_what_is_not_well(
    before: Measurement | None, after: Measurement | None, outcome: Outcome, kind: str, what: str
) -> None:
    ill = found(before, after)
    assert (ill.outcome, ill.kind, ill.what) == (outcome, kind, what)


@pytest.mark.parametrize(
    ("direction", "time", "outcome"),
    [
        (RuleDirection.WORSE, 1.2, Outcome.FAILED),
        (RuleDirection.WORSE, 0.8, Outcome.PASSED),
        (RuleDirection.BETTER, 0.8, Outcome.FAILED),
        (RuleDirection.BETTER, 1.2, Outcome.PASSED),
        (RuleDirection.EITHER, 0.8, Outcome.FAILED),
        (RuleDirection.EITHER, 1.2, Outcome.FAILED),
        (RuleDirection.NONE, 1.2, Outcome.PASSED),
        (RuleDirection.WORSE, 1.1, Outcome.PASSED),
        (RuleDirection.BETTER, 1 / 1.1, Outcome.PASSED),
    ],
)
def test_directions_and_a_tolerance(direction: RuleDirection, time: float, outcome: Outcome) -> None:
    rule = Rule(name="r", direction=direction, tolerance=0.1)
    assert found(emulated(case(), 1.0), emulated(case(), time), rule).outcome is outcome


def test_the_first_rule_that_fits_counts() -> None:
    loose, tight = Rule(name="loose", kernel="ge*", tolerance=0.5), Rule(name="tight", tolerance=0.0)
    one, two = emulated(case(), 1.0), emulated(case(), 1.2)
    assert found(one, two, loose, tight).outcome is Outcome.PASSED
    assert found(one, two, tight, loose).rule == "tight"
    assert found(one, two, Rule(name="other", kernel="rest", tolerance=0.5)).rule == "usual"


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Rule(name="r", kernel="gmm"), 'kernel = "gmm" is misspelt, did you mean gemm?'),
        (Rule(name="r", system="trn*", kernel="gemm"), 'system = "trn*" is misspelt'),
        (
            Rule(name="r", case="*dtype=bf16*"),
            'case = "*dtype=bf16*" fits none of that kernel and system: trnbench runs show latest',
        ),
    ],
)
def test_a_rule_that_speaks_of_no_case_fails(rule: Rule, why: str) -> None:
    run = run_of(emulated(case(), 1.0))
    gated = judged(run, run, [rule, Rule(name="all")], now=NOW, keyword="gemm")
    (idle,) = gated.of(Outcome.FAILED)
    assert (idle.kind, idle.id, idle.what) == ("rule", "", f"rule r speaks of no case: {why}")
    assert gated.exit_code() is ExitCode.GATE


@pytest.mark.parametrize("asked", ["flop_per_s", "speed"])
def test_a_rule_of_a_metric_that_no_case_has_fails(asked: str) -> None:
    run, broken = run_of(ONE), run_of(BROKEN)
    (idle,) = judged(run, run, [Rule(name="r", metric=asked)], now=NOW).of(Outcome.FAILED)
    near = ", did you mean flops_per_s?" if asked == "flop_per_s" else ""
    assert (idle.kind, idle.id) == ("rule", "")
    assert idle.what == f'rule r speaks of no value: metric = "{asked}" is misspelt{near}'
    assert judged(broken, broken, [Rule(name="r", metric="flops_per_s")], now=NOW).passed


def test_a_rule_of_a_case_that_the_keyword_leaves_out_is_no_misspelt_one() -> None:
    run = run_of(emulated(case(), 1.0), emulated(case("copy"), 1.0))
    assert judged(run, run, [Rule(name="r", kernel="copy")], now=NOW, keyword="gemm").passed


def test_a_rule_for_cases_by_name() -> None:
    rule = Rule(name="small", case="gemm[size=1]*", tolerance=0.5)
    sized = [emulated(case(size=1), time) for time in (1.0, 1.2)]
    assert found(*sized, rule).outcome is Outcome.PASSED
    other = [emulated(case(size=10), time) for time in (1.0, 1.2)]
    gated = judged(run_of(sized[0], other[1], id="b"), run_of(sized[0], other[0]), [rule], now=NOW)
    assert [each.rule for each in gated.of(Outcome.FAILED)] == ["usual"]


def rated(time: float, value: float, **changes: Any) -> Measurement:
    metric = Metric(name="rate", value=value, unit="B/s", better="higher", scope=Scope.CORE)
    return emulated(case(), time, metrics={"rate": metric}, **changes)


def test_a_rule_for_another_metric() -> None:
    rule = Rule(name="r", metric="rate", tolerance=0.1)
    broken = found(rated(1.0, 100.0), rated(1.0, 80.0), rule)
    assert broken.what == "rate +25.0 % (exact), rule r allows 10.0 %"
    assert found(rated(1.0, 100.0), rated(5.0, 95.0), rule).outcome is Outcome.PASSED
    odd = found(emulated(case(), 1.0), rated(1.0, 1.0), rule)
    assert odd.outcome is Outcome.INCONCLUSIVE
    assert odd.what == "the baseline has no metric 'rate' of it (known: flops_per_s)"
    for before, after in ((0.0, 1.0), (1.0, 0.0)):
        assert found(rated(1.0, before), rated(1.0, after), rule).what == "rate is not above zero"
    missing = found(rated(1.0, 1.0), emulated(case(), 1.0), rule)
    assert missing.what == "this run has no metric 'rate' of it (known: flops_per_s)"
    costs = [rated(1.0, 100.0), rated(1.0, 125.0)]
    for one in costs:
        one.metrics["rate"] = msgspec.structs.replace(one.metrics["rate"], better="lower")
    assert found(*costs, rule).what == "rate +25.0 % (exact), rule r allows 10.0 %"


def test_a_measured_rate_has_the_interval_of_its_time() -> None:
    def of(by: float, rate: float) -> Measurement:
        metric = Metric(name="rate", value=rate, unit="B/s", better="higher", scope=Scope.CORE)
        return msgspec.structs.replace(slowed(by), metrics={"rate": metric})

    rule = Rule(name="r", metric="rate", tolerance=0.05)
    assert found(of(1.0, 2.2), of(1.1, 2.0), rule).what.startswith("rate +10.0 % (+")
    apart = found(of(1.0, 1.0), of(1.0, 0.5), rule)
    assert (apart.outcome, apart.what) == (
        Outcome.INCONCLUSIVE,
        "rate was measured without samples of its own",
    )


@pytest.fixture(scope="module")
def real() -> trnbench.Run:
    return trnbench.bench(["hbm_copy"], instances=["trn1.2xlarge"], axes=["size=1M"], scopes=["core"])


@pytest.mark.parts
def test_a_minimum_of_the_peak(real: trnbench.Run) -> None:
    rule = Rule(name="r", kernel="hbm_copy", least_of_peak=0.7)
    one = real.measurements[0]

    def at(fraction: float, interval: Interval | None = None) -> Measurement:
        told = msgspec.structs.replace(one.judgement, fraction=fraction)
        return msgspec.structs.replace(one, judgement=told, interval=interval, bound="hbm")

    low = found(at(0.6), at(0.6), rule)
    assert (low.outcome, low.kind, low.causes) == (Outcome.FAILED, "peak", ("hbm limits it",))
    assert low.what == "60.0 % of its peak (exact), rule r asks for 70.0 %"
    assert found(at(0.7), at(0.7), rule).outcome is Outcome.PASSED
    wide = Interval(low=one.time_s * 0.8, high=one.time_s * 1.2, confidence=0.95)
    unsure = found(at(0.6, wide), at(0.6, wide), rule)
    assert unsure.outcome is Outcome.INCONCLUSIVE
    assert unsure.what == "60.0 % of its peak (50.0 to 75.0 %), rule r asks for 70.0 %"
    wide = Interval(low=one.time_s * 0.5, high=one.time_s * 2, confidence=0.95)
    reached = found(at(0.5, wide), at(0.5, wide), msgspec.structs.replace(rule, least_of_peak=1.0))
    assert (reached.outcome, reached.what) == (
        Outcome.INCONCLUSIVE,
        "50.0 % of its peak (25.0 to 100.0 %), rule r asks for 100.0 %",
    )
    nothing = found(
        emulated(case(), 1.0), emulated(case(), 1.0), Rule(name="r", kernel="gemm", least_of_peak=0.7)
    )
    assert nothing.what == "no peak is known that it could be held against"


def test_a_baseline_that_is_too_old() -> None:
    one = emulated(case(), 1.0)
    gated = judged(run_of(one, id="b"), run_of(one), [Rule(name="fresh", oldest_days=14)], now=NOW)
    (old,) = gated.of(Outcome.FAILED)
    assert (old.kind, old.id) == ("age", "")
    assert old.what == "run a is 30 days old, rule fresh allows 14"
    for created in ("2026-11-22T12:00:00", "2026-11-22T12:00:00+00:00"):
        for days, passed in ((30.0, True), (29.9999, False)):
            rule, before = Rule(name="r", oldest_days=days), run_of(one, created=created)
            assert judged(run_of(one, id="b"), before, [rule], now=NOW).passed is passed


def test_exit_codes() -> None:
    one, slow = emulated(case(), 1.0), emulated(case(), 2.0)
    unsure = run_of(slowed(1.0), id="b"), run_of(measured(case(), ()))
    assert judged(run_of(one, id="b"), run_of(one)).exit_code() is ExitCode.OK
    assert judged(run_of(slow, id="b"), run_of(one)).exit_code() is ExitCode.GATE
    assert judged(*unsure).exit_code() is ExitCode.OK
    assert judged(*unsure, strict=True).exit_code() is ExitCode.GATE


RULES = """
[[rule]]
name = "products"
kernel = "gemm*"
system = "trn2*"
case = "*dtype=bf16*"
metric = "flops_per_s"
direction = "either"
tolerance = "2%"
minimum_of_peak = "60 %"
maximum_age_days = 30

[[rule]]
"""


def test_rules_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(RULES)
    assert read_rules(path) == (
        Rule(
            name="products",
            kernel="gemm*",
            system="trn2*",
            case="*dtype=bf16*",
            metric="flops_per_s",
            direction=RuleDirection.EITHER,
            tolerance=0.02,
            least_of_peak=0.6,
            oldest_days=30.0,
        ),
        Rule(name="2"),
    )


@pytest.mark.parametrize(("text", "said", "code"), messages(Path(__file__).parent / "wrong_rules.txt"))
def test_a_wrong_file_of_rules(text: str, said: str, code: int) -> None:
    Path("gate.toml").write_text(f"{text}\n")
    assert message_of(BadInput, read_rules, Path("gate.toml")) == (said, code)
    assert not Path("x").exists()  # no expression is carried out
