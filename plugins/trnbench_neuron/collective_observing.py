"""A collective measured by `nccom-test`."""

from __future__ import annotations

from trnbench.backend import Observation
from trnbench.measure.stopping import SampleLimit, TimeLimit
from trnbench.results.proof import Growth, Proof
from trnbench_neuron import collective_case, nccom
from trnbench_neuron.observing import Observing


class CollectiveObserving(Observing):
    """One case over all devices of this host."""

    def observe(self) -> Observation:
        listing = self.host.listing
        assert listing is not None  # a case without devices is not supported
        self.implementation = f"collective: {nccom.NAME} {self.case.kernel.implementations['collective']}"

        rules = (
            (TimeLimit(seconds=self.sample_s), SampleLimit(samples=collective_case.MOST_CALLS))
            if self.sample_s > 0.0
            else collective_case.ONCE
        )
        seen, counters, notes = self._watched(
            lambda: collective_case.run_case(
                self.case, listing, self.host.tools, self.folder, tag=self.tag, seed=self._seed, rules=rules
            )
        )
        notes += seen.notes
        if seen.algorithm:
            self.implementation += f", {seen.algorithm}"
        growth = _growth(seen, int(self.case.key.point["size"]))
        if growth is None:
            notes.append("whether the time grows with the size was not seen: it is too small to be swept")
        return self._observation(
            seen.samples,
            clock="device",
            stop_reason=seen.stop_reason,
            version=nccom.NAME,
            proof=Proof(
                device=self._named,
                completion=f"{nccom.NAME} times operations on the device and reads their results back",
                output=f"{nccom.NAME} --check random: a golden result computed on the host",
                growth=growth,
            ),
            counters=counters,
            notes=notes,
            detail={
                "printed_unit": seen.unit,
                "algorithm": seen.algorithm,
                "seed": self._seed,
                "rank_kind": self.case.extent.rank_kind,
                "sweep_s": {str(size): time_s for size, time_s in seen.sweep.items()},
            },
        )


def _growth(seen: collective_case.Result, size: int) -> Growth | None:
    """The case's size against a quarter of it, and the smallest of the sweep for what starting takes."""
    less = size // nccom.STEP
    if less not in seen.sweep:
        return None
    return Growth(
        work_ratio=float(nccom.STEP),
        time_s=collective_case.seconds(seen),
        less_s=seen.sweep[less],
        floor_s=seen.sweep[min(seen.sweep)] if min(seen.sweep) < less else 0.0,
    )
