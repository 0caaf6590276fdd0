"""How a run is carried out, apart from what is run."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench.errors import UsageError
from trnbench.facts.peak import PeakPolicy


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded in the run, so that it can be repeated.

    `timeout_s` and `maxfail` of 0 mean no limit; `jobs` of 0 as many processes as pay off.
    `seed` seeds Python's and NumPy's generators before every case, each case by its own name, so
    that a case gets the same data whichever cases run before it or in which process.
    `retries` is how often a case that crashed, hung or ran out of memory is tried again; `sample_s`
    how long a measuring backend samples each case, 0 for its own choice. `executor` names who carried
    the cases out (`trnbench.run.executor`); `facts` are the files of the user's own that the plan was made
    with, for a journal to name. `isolate` has cases run in a process of their own also where one is enough
    and no limit is set; it changes no result, so it is not recorded.
    """

    policy: PeakPolicy = PeakPolicy.SEED
    jobs: int = 1
    timeout_s: float = 0.0
    maxfail: int = 0
    seed: int = 0
    retries: int = 0
    sample_s: float = 0.0
    keep_identity: bool = False
    executor: str = "process"
    isolate: bool = False
    tags: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def checked(self) -> RunSettings:
        """These settings. Raises `UsageError` for a value that makes no sense."""
        if self.jobs < 0:
            raise UsageError(
                f"--jobs {self.jobs} is no number of processes",
                cause="it counts processes, 0 for as many as pay off",
                try_="--jobs 1",
            )
        if not 0.0 <= self.timeout_s < float("inf"):
            raise UsageError(
                f"--timeout {self.timeout_s} is no time limit",
                cause="a limit is a number of seconds, 0 for none",
                try_="--timeout 60",
            )
        if self.maxfail < 0:
            raise UsageError(
                f"--maxfail {self.maxfail} is no number of cases",
                cause="it counts failed and suspect cases, 0 for no limit",
                try_="--maxfail 1",
            )
        if self.retries < 0:
            raise UsageError(
                f"--retries {self.retries} is no number of tries",
                cause="it counts how often a case that crashed or hung is tried again",
                try_="--retries 1",
            )
        if not 0.0 <= self.sample_s < float("inf"):
            raise UsageError(
                f"--sample-time {self.sample_s} is no time",
                cause="it is seconds of sampling for each case, 0 for the backend's own choice",
                try_="--sample-time 2",
            )
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
            "keep_identity": self.keep_identity,
            "executor": self.executor,
        }
