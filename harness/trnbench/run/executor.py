"""Who carries out the cases of a run: the ranks of a launcher, or an executor elsewhere and how it ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from trnbench.bounded import kinds
from trnbench.errors import ExitCode, TrnbenchError, UnknownName, UsageError, cut
from trnbench.record import Record
from trnbench.reference import resolve
from trnbench.results.run import Run

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.kernels.kernel import Case
    from trnbench.registry import Registry
    from trnbench.run.attempt import Attempts, Outcome


PROCESS = "process"
"""The usual one: processes of this machine."""


class CasePool(Protocol):
    """Cases being carried out; `notes` go into the run."""

    notes: list[str]

    def outcomes(self, waiting: Callable[[], AbstractContextManager[None]] = ...) -> Generator[Outcome]:
        """Every case once, in any order; `waiting()` surrounds what blocks."""

    def leave_out(self, positions: Collection[int]) -> None:
        """These need not be carried out any more, where they have not begun."""


class Executor(Protocol):
    """Whoever carries out cases elsewhere; `name` is what --executor calls it.

    `elsewhere`: its machines are others than this one, whose noise says nothing of theirs. `by_case`: it has
    to know beforehand which case comes next."""

    name: str
    elsewhere: bool
    by_case: bool

    def placed(self, backend: Backend, *, keep_identity: bool = False) -> Backend:
        """`backend`, as whoever carries out its cases sees it."""

    def pool(
        self, attempts: Attempts, cases: Sequence[Case], *, jobs: int, apart: bool, retries: int
    ) -> CasePool:
        """Raises `ValueError` for cases that cannot be sent there."""

    def ended(self, code: int, error: TrnbenchError | None = None) -> None:
        """How the run came out, for whoever has to be told."""


def executor(registry: Registry, name: str = "", jobs: int = 0) -> AbstractContextManager[Executor | None]:
    """The executor of this name; None stands for processes of this machine.

    Raises `UnknownName`, and `UsageError` for one that cannot be had here.
    """
    if name in ("", PROCESS):
        return contextlib.nullcontext()
    entry = registry.executors.get(name)
    if entry is None:
        known = (PROCESS, *registry.executors)
        raise UnknownName("executor", name, known, try_=f"--executor {known[-1]}")
    opened: AbstractContextManager[Executor] = resolve(entry.open)(jobs)
    return opened


class CutShort(TrnbenchError):
    """Whoever carried out the cases is gone. `code` where it is no crash (124: a time limit)."""

    def __init__(
        self, what: str, *, cause: str = "", try_: str = "", code: ExitCode = ExitCode.CRASH
    ) -> None:
        self.exit_code = code
        super().__init__(what, cause=cause, try_=try_)


class RunCutShort(CutShort):
    """Raised when what was done is kept; `run` has it."""

    def __init__(self, run: Run, error: CutShort) -> None:
        self.run = run
        super().__init__(error.what, cause=error.cause, try_=error.try_, code=error.exit_code)


# (launcher, rank, ranks, ranks on this machine). The first whose two are set is taken: under
# `srun torchrun` it is torchrun that made the ranks. A batch script of Slurm has SLURM_PROCID and
# SLURM_NTASKS without being a rank; only a step has SLURM_STEP_NUM_TASKS.
_LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""),
)
RENDEZVOUS = "TRNBENCH_RENDEZVOUS"
RENDEZVOUS_KEY = "TRNBENCH_RENDEZVOUS_KEY"
OFF = "off"


class Rank(Record, kw_only=True):
    """This process among the `size` that `launcher` started."""

    launcher: str
    rank: int
    size: int
    together: bool  # all ranks on one machine


def find_rank(env: Mapping[str, str] = os.environ) -> Rank | None:
    """None where nothing launched several, or TRNBENCH_RENDEZVOUS=off. Raises `UsageError` for nonsense."""
    if env.get(RENDEZVOUS) == OFF:
        return None
    for launcher, rank, size, local in _LAUNCHERS:
        if rank in env and size in env:
            own = Rank(
                launcher=launcher,
                rank=_number(env, rank),
                size=_number(env, size),
                together=_together(env, size, local),
            )
            if not 0 <= own.rank < own.size:
                raise _nonsense(f"{rank}={env[rank]} of {size}={env[size]}")
            return own if own.size > 1 else None
    return None


def _together(env: Mapping[str, str], size: str, local: str) -> bool:
    if local:
        return env.get(local) == env[size]
    return env.get("SLURM_STEP_NUM_NODES") == "1"


def _number(env: Mapping[str, str], name: str) -> int:
    number = kinds.RANK.parsed(env[name])
    if number is None:
        raise _nonsense(f"{name}={cut(env[name])}")
    return int(number)


def _nonsense(what: str) -> UsageError:
    return UsageError(
        f"{what} is no rank",
        cause="a launcher (torchrun, mpirun, srun) numbers its processes from 0 by these variables",
        try_=f"{RENDEZVOUS}={OFF}  runs this process by itself",
    )
