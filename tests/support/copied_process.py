"""A worker that is a copy of a process which has loaded what workers load: see `quick_workers.py`."""

from __future__ import annotations

import os
from multiprocessing.context import ForkServerContext, ForkServerProcess

LOADED = (
    __name__,
    "measured_machine",
    "trnbench.run.attempt",
    "trnbench.run.worker",
    "trnbench.isolation.surroundings",
    "trnbench.registry",
    "pytest_benchmark.fixture",
    "numpy.ma",
    "numpy.random",
)
"""What the process loads that workers are copies of; what others need they import as ever."""


class CopiedProcess(ForkServerProcess):
    """With the environment of whoever asks for it: the process that it is a copy of has an older one."""

    def start(self) -> None:
        self._environment = dict(os.environ)
        super().start()

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._environment)
        super().run()


class CopyingContext(ForkServerContext):
    """What a pool is given in place of one that spawns."""

    Process = CopiedProcess  # type: ignore[assignment]
