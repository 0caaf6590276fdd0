"""An emulator of somebody else's: the roofline of documented peaks, for every system that a plugin
describes."""

from __future__ import annotations

from typing import Any

import trnbench
from trnbench import Case, Detection, Evidence, Grade, Observation, Part, System

REACHED = 0.9  # of a documented rate: some say more than the clocks allow
RATES = {"flops": "peak_flops", "hbm": "hbm_bandwidth"}


class Roofline:
    """A case takes as long as its operations or its bytes of device memory do at the documented rate."""

    name = "emulated"  # in the place of trnbench's own

    def detect(self) -> Detection:
        return Detection(available=True)

    def environment(self) -> dict[str, Any]:
        return {"emulator_model": "roofline of the documents", "emulator_model_version": "1"}

    def unsupported(self, case: Case, system: System) -> str:
        return "" if self._seconds(case, system) else "no documented rate for what it does"

    def observe(self, case: Case, system: System) -> Observation:
        seconds = self._seconds(case, system)
        bound = max(seconds, key=lambda name: seconds[name])
        return Observation(
            evidence=Evidence(grade=Grade.EMULATED, by="roofline of the documents", version="1"),
            time_s=seconds[bound],
            samples=(seconds[bound],),
            stop_reason="a formula of documented rates",
            parts=(Part(name=bound, seconds=seconds[bound]),),
            bound=bound,
            implementation="roofline",
        )

    def _seconds(self, case: Case, system: System) -> dict[str, float]:
        work = case.work
        amounts = {"flops": work.flops, "hbm": work.bytes.get("hbm", 0.0)}
        times = {}
        for name, amount in amounts.items():
            more = {"dtype": case.key.dtype, "sparse": False} if name == "flops" else {}
            rate = system.fact(case.key.scope, RATES[name], **more)
            if amount and rate:
                times[name] = amount / (REACHED * rate)
        return times


@trnbench.hookimpl
def trnbench_backends():
    yield Roofline()
