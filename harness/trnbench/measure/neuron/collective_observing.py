"""A collective measured by `nccom-test`."""

from __future__ import annotations

from typing import Any

from trnbench.backend import Observation
from trnbench.errors import TrnbenchError
from trnbench.measure.neuron import collective_case, nccom
from trnbench.measure.neuron.observing import Observing
from trnbench.results.proof import Growth, Proof


class CollectiveObserving(Observing):
    """One case over all devices of this host."""

    def observe(self) -> Observation:
        listing = self.host.listing
        assert listing is not None  # a case without devices is not supported
        self.implementation = f"collective: {nccom.NAME} {self.case.kernel.implementations['collective']}"

        def run(size: int | None, name: str, **more: Any) -> collective_case.Result:
            folder = self.folder / name
            folder.mkdir()
            return collective_case.run_case(
                self.case, listing, self.host.tools, folder, tag=self.tag, seed=self._seed, size=size, **more
            )

        seen, counters, notes = self._watched(
            lambda: run(None, "case", rules=self._rules(collective_case.RULES))
        )
        notes += seen.notes
        if seen.algorithm:
            self.implementation += f", {seen.algorithm}"
        size, time_s = int(self.case.key.point["size"]), collective_case.seconds(seen)
        less = collective_case.smaller_size(size)
        growth = None
        if less < size:
            floor = f"collective {self.case.kernel.name}"
            try:
                if floor not in self.floors:
                    self.floors[floor] = collective_case.seconds(
                        run(collective_case.IDLE_BYTES, "idle", rules=collective_case.ONCE)
                    )
                smaller_s = collective_case.seconds(run(less, "smaller", rules=collective_case.ONCE))
                growth = Growth(
                    work_ratio=size / less,
                    time_s=time_s,
                    less_s=smaller_s,
                    floor_s=self.floors[floor],
                )
            except TrnbenchError as error:
                notes.append(f"whether the time grows with the size was not seen: {error.what}")
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
            detail={"printed_unit": seen.unit, "algorithm": seen.algorithm, "seed": self._seed},
        )
