"""How a run is carried out, apart from what is run."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench.bounded import kinds
from trnbench.facts.fact import PeakPolicy

PROCESSES = 3
"""Of one measured case, where nothing is said: the fewest that an interval can be told of with any sense."""


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded in the run, so that it can be repeated.

    `timeout_s` and `maxfail` of 0 mean no limit; `jobs` of 0 as many processes as pay off.
    `seed` seeds Python's and NumPy's generators before every case, each case by its own name, so
    that a case gets the same data whichever cases run before it or in which process.
    `retries` is how often a case that crashed, hung or ran out of memory is tried again; `sample_s`
    how long a measuring backend samples each case, 0 for its own choice; `processes` in how many
    processes it measures it. `executor` names who carried the cases out (`trnbench.run.executor`);
    `facts` are the files of the user's own that the plan was made with, for a journal to name.
    `isolate` has cases run in a process of their own also where one is enough and no limit is set; it
    changes no result, so it is not recorded.
    """

    policy: PeakPolicy = PeakPolicy.SEED
    jobs: int = 1
    timeout_s: float = 0.0
    maxfail: int = 0
    seed: int = 0
    retries: int = 0
    sample_s: float = 0.0
    processes: int = PROCESSES
    keep_identity: bool = False
    executor: str = "process"
    isolate: bool = False
    tags: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def checked(self) -> RunSettings:
        """These settings. Raises `UsageError` for a value that makes no sense."""
        for option, kind, value in (
            ("--jobs", kinds.JOBS, self.jobs),
            ("--timeout", kinds.TIME_LIMIT, self.timeout_s),
            ("--maxfail", kinds.MOST_FAILED, self.maxfail),
            ("--seed", kinds.SEED, self.seed),
            ("--retries", kinds.RETRIES, self.retries),
            ("--sample-time", kinds.SAMPLING, self.sample_s),
            ("--processes", kinds.PROCESSES, self.processes),
        ):
            kind.checked(value, option)
        return self

    def record(self) -> dict[str, Any]:
        """For `Run.settings`, together with the selection."""
        return {
            "jobs": self.jobs,
            "timeout_s": self.timeout_s,
            "maxfail": self.maxfail,
            "seed": self.seed,
            "retries": self.retries,
            "sample_s": self.sample_s,
            "processes": self.processes,
            "keep_identity": self.keep_identity,
            "executor": self.executor,
        }
