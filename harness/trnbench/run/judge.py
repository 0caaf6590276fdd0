"""From what a backend saw to a measurement: metrics, the peak they are held against, the verdict."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from trnbench.backend import Observation, Proof
from trnbench.errors import TrnbenchError
from trnbench.facts.fact import PeakChoice, PeakPolicy
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.kernels.work import Spread
from trnbench.peaks.shares import bound_of, in_time, shares_of
from trnbench.results.measurement import (
    Evidence,
    Grade,
    Judgement,
    Measurement,
    Metric,
    ProcessSamples,
    Reason,
    Status,
)
from trnbench.results.stability import interval_of, time_of, undecided
from trnbench.run.guard import belief_of, circumstances, weigh
from trnbench.run.metrics import CasePeaks, Chooser, derive

DOCUMENTS = Evidence(
    grade=Grade.DOCUMENTED, by="documents", note="not run: only the documented peaks are shown"
)
"""What stands behind a skipped case."""

NO_BOUND: Mapping[str, float] = {}
"""Where nothing was counted that has a peak beside the judged one."""


class Judge:
    """Judges every case of a run by one policy; peaks are looked up once for all cases alike. Where a
    measured case has several `processes`, that its times are steady is asked of all `together`."""

    def __init__(self, policy: PeakPolicy, choose: Chooser | None = None, *, processes: int = 1) -> None:
        self.policy, self.processes = policy, processes
        self._peaks = CasePeaks(policy, choose)

    def peak(self, case: Case, system: System) -> PeakChoice | None:
        """The peak of the case's primary metric, of the same scope; None where no document has one."""
        return self._peaks.of(case, system)

    def judge(self, case: Case, seen: Observation, system: System) -> Measurement:
        """The measurement of a case that a backend has tried; a measured one in one process."""
        counts = seen.work or case.work.as_counts()
        if wrong := _uncountable(counts):
            text = f"kernel {case.kernel.name} counts {wrong}: counts are finite numbers >= 0"
            return self._failed(case, system, seen, {}, Reason.ERROR, text)
        if wrong := _uncountable(seen.loads):
            text = f"{seen.evidence.by} gave a load of {wrong}: loads are finite numbers >= 0"
            return self._failed(case, system, seen, counts, Reason.ERROR, text)
        if seen.reason is not Reason.NONE:
            return self._failed(case, system, seen, counts, seen.reason, seen.reason_text)
        lacking = _no_evidence(seen)
        if lacking:
            return self._failed(case, system, seen, counts, Reason.NO_EVIDENCE, lacking)
        time_s = seen.time_s
        assert time_s is not None  # _no_evidence has seen to it
        if not 0.0 < time_s < math.inf:
            text = f"{seen.evidence.by} gave a time of {time_s!r} s, which is no duration"
            return self._failed(case, system, seen, counts, Reason.ERROR, text)
        proof = seen.proof or Proof()
        process = ProcessSamples(
            samples=seen.samples,
            cpu_s=seen.cpu_s,
            preempted=seen.preempted,
            time_s=time_s,
            conditions=seen.conditions,
            doubts=(*seen.doubts, *(proof.doubts(dict(counts)) if seen.proof is not None else ())),
            doubts_of_time=proof.doubts_of_time(),
        )
        return self._weighed(case, seen, system, counts, (process,), whole=self.processes == 1)

    def together(self, case: Case, system: System, rounds: Sequence[Measurement]) -> Measurement:
        """One measurement of those that several processes made of a case; none of them failed.

        What is no number is that of the process whose time is nearest to the median.
        """
        processes = tuple(process for one in rounds for process in one.processes)
        if not processes:  # a measuring backend answered with a model: once is enough
            return rounds[0]
        time_s = time_of(processes)
        typical = min(rounds, key=lambda each: abs((each.time_s or 0.0) - time_s))
        seen = Observation(
            evidence=typical.evidence,
            time_s=time_s,
            samples=tuple(sample for process in processes for sample in process.samples),
            clock=typical.clock,
            stop_reason=typical.stop_reason,
            parts=typical.parts,
            bound=typical.bound,
            implementation=typical.implementation,
            counters=typical.counters,
            notes=tuple(dict.fromkeys(note for each in rounds for note in each.notes)),
            detail=typical.detail,
        )
        return self._weighed(case, seen, system, typical.work, processes, whole=True)

    def undecided(self, rounds: Sequence[Measurement]) -> bool:
        """Whether more processes of the case would tell more than these do."""
        processes = tuple(process for one in rounds for process in one.processes)
        return undecided(processes, host_clock=rounds[0].clock == "host")

    def _weighed(
        self,
        case: Case,
        seen: Observation,
        system: System,
        counts: Mapping[str, float],
        processes: tuple[ProcessSamples, ...],
        *,
        whole: bool,
    ) -> Measurement:
        """Metrics and verdict of an observation that has a time; `whole`: these are all of its processes."""
        time_s, primary = seen.time_s or 0.0, case.primary
        try:
            metrics = derive(case, counts, time_s)
        except KeyError:
            have = ", ".join(counts) or "nothing"
            text = f"kernel {case.kernel.name} is judged by {primary.count}, but its work counts {have}"
            return self._failed(case, system, seen, counts, Reason.ERROR, text)
        status, text, judgement = self._verdict(case, seen, system, counts, metrics[primary.name])
        measured = seen.evidence.grade is Grade.MEASURED
        belief = belief_of(
            status, text, processes, host_clock=seen.clock == "host", steady=measured and whole
        )
        return _measurement(
            case,
            seen,
            counts,
            status=belief.status,
            reason_text=belief.reason_text,
            time_s=time_s,
            processes=processes if measured else (),
            interval=interval_of(processes),
            stability=belief.stability,
            metrics=metrics,
            judgement=judgement,
            bound=_bound(case, seen, system),
        )

    def told(
        self,
        case: Case,
        system: System,
        evidence: Evidence,
        *,
        time_s: float,
        samples: tuple[float, ...],
        counts: Mapping[str, float],
        notes: tuple[str, ...],
        wrong: str = "",
        judged: bool = True,
    ) -> Measurement:
        """A time that another tool gives, held against the same peaks; of its proof nothing is known.

        `wrong` is what the tool said of its result; with `judged` unset it is held against nothing.
        """
        seen = Observation(evidence=evidence, time_s=time_s, samples=samples, clock="", notes=notes)
        if wrong:
            return self._failed(case, system, seen, counts, Reason.WRONG_RESULT, wrong)
        metrics = derive(case, counts, time_s)
        status, text, judgement = Status.OK, "", None
        if judged:
            status, text, judgement = self._verdict(case, seen, system, counts, metrics[case.primary.name])
        return _measurement(
            case,
            seen,
            counts,
            status=status,
            reason_text=text,
            time_s=time_s,
            metrics=metrics,
            judgement=judgement,
        )

    def skipped(self, case: Case, system: System, why: str) -> Measurement:
        """A case that cannot run here: the reason, and the peaks it would have been held against."""
        return Measurement(
            case=case.key,
            evidence=DOCUMENTS,
            status=Status.SKIPPED,
            reason_text=why,
            primary=case.primary.name,
            work=_work(case),
            reference_peaks=self._reference(case, system),
        )

    def failed(
        self,
        case: Case,
        system: System,
        evidence: Evidence,
        reason: Reason,
        text: str,
        notes: tuple[str, ...] = (),
    ) -> Measurement:
        """A case that ended without an observation: crash, time limit, no memory."""
        seen = Observation(evidence=evidence, notes=notes, clock="")
        return self._failed(case, system, seen, _work(case), reason, text)

    def _failed(
        self,
        case: Case,
        system: System,
        seen: Observation,
        counts: Mapping[str, float],
        reason: Reason,
        text: str,
    ) -> Measurement:
        return _measurement(
            case,
            seen,
            counts,
            status=Status.FAILED,
            reason=reason,
            reason_text=text or f"failed: {reason}",
            reference_peaks=self._reference(case, system),
        )

    def _reference(self, case: Case, system: System) -> tuple[PeakChoice, ...]:
        # A case that failed for a reason of its own must not lose it to a fault in the documents.
        try:
            choice = self.peak(case, system)
        except TrnbenchError:
            return ()
        return (choice,) if choice is not None else ()

    def _verdict(
        self, case: Case, seen: Observation, system: System, counts: Mapping[str, float], metric: Metric
    ) -> tuple[Status, str, Judgement | None]:
        choice = self.peak(case, system)
        if choice is None or not choice.chosen.value > 0.0 or _in_cache(case, system):
            return Status.OK, "", None
        return weigh(metric, choice, circumstances(case, seen, system, counts, metric, choice))


def _in_cache(case: Case, system: System) -> bool:
    """Whether all data of a case that is judged by a host's memory fits into its last cache: then its rate
    says nothing of memory."""
    if case.primary.peak != "host_memory_bandwidth":
        return False
    caches = [fact.value for fact in system.book.select(system.instance.core, "cache_capacity") if fact.value]
    size = case.footprint.get("host", 0.0)
    return 0.0 < size <= max(caches, default=0.0)


def _work(case: Case) -> dict[str, float]:
    """What was asked for; nothing where the formula itself cannot cope with the point."""
    try:
        counts = case.work.as_counts()
        return {} if _uncountable(counts) else counts
    except (Exception, SystemExit):  # a skipped or crashed case keeps its own reason
        return {}


def _uncountable(counts: Mapping[str, float]) -> str:
    """Empty, or the first count that no result can hold: "hbm_bytes = nan"."""
    most = sys.float_info.max
    return next((f"{name} = {count}" for name, count in counts.items() if not 0.0 <= count <= most), "")


def _no_evidence(seen: Observation) -> str:
    """Empty, or the sentence that says what a backend failed to prove."""
    if not seen.evidence.by:
        return "the backend did not name the device or model that produced the number"
    if seen.time_s is None:
        return f"{seen.evidence.by} reported neither a time nor a reason for having none"
    if seen.evidence.grade is Grade.MEASURED and not seen.samples:
        return f"measured on {seen.evidence.by}, but without a single sample"
    if seen.evidence.grade is Grade.MEASURED:
        lacking = list((seen.proof or Proof()).missing())
        if seen.clock not in ("device", "host"):
            lacking.append("which clock took the time, the device's or the host's")
        if lacking:
            return f"measured on {seen.evidence.by}, but nothing says {'; nor '.join(lacking)}"
    if seen.evidence.grade not in (Grade.MEASURED, Grade.EMULATED, Grade.DERIVED):
        return f"a run is measured, emulated or derived; the backend calls its result {seen.evidence.grade}"
    return ""


def _measurement(
    case: Case,
    seen: Observation,
    counts: Mapping[str, float],
    *,
    bound: Mapping[str, float] = NO_BOUND,
    **fields: Any,
) -> Measurement:
    return Measurement(
        case=case.key,
        evidence=seen.evidence,
        clock=seen.clock,
        samples=seen.samples,
        stop_reason=seen.stop_reason,
        primary=case.primary.name,
        work=dict(counts),
        parts=seen.parts,
        bound=seen.bound,
        implementation=seen.implementation,
        counters=seen.counters,
        notes=seen.notes,
        detail={**_asked(case), **_ranks(case), **bound, **_detail(seen)},
        **fields,
    )


def _bound(case: Case, seen: Observation, system: System) -> Mapping[str, float]:
    """What peaks leave at the least for all that a model counted, which the judged metric is a part of."""
    if not seen.loads or not seen.time_s:
        return NO_BOUND
    # By any policy the best of the figures counts.
    shares = in_time(shares_of(system, case.extent, PeakPolicy.SEED, seen.loads), seen.time_s)
    return {"bound_s": bound_of(shares, seen.time_s)}


def _asked(case: Case) -> dict[str, Any]:
    """The question of a kernel that puts statements to the test, and these: a run outlives its plugins."""
    if not case.kernel.tests:
        return {}
    return {"asks": case.kernel.about, "tests": [msgspec.to_builtins(test) for test in case.kernel.tests]}


def _ranks(case: Case) -> dict[str, Any]:
    """How many ranks take part and what each is: cases of one name may have had others in older versions.

    Of a result from elsewhere with a number of its own nobody knows what a rank is.
    """
    if case.kernel.spread is not Spread.TOGETHER:
        return {}
    kind = "" if "ranks" in case.key.point else case.extent.rank_kind.replace(" ", "-")
    return {"rank_count": case.extent.ranks, "rank": kind}


def _detail(seen: Observation) -> dict[str, Any]:
    """The proof goes with the number, in words that need no code to be read."""
    if seen.proof is None:
        return seen.detail
    proof = seen.proof
    told = {
        "device": proof.device,
        "completion": proof.completion,
        "output": proof.output,
        "growth": str(proof.growth or ""),
        "counted": dict(proof.counted),
    }
    return {**seen.detail, "proof": {key: value for key, value in told.items() if value}}
