"""Who carries out the cases of a run elsewhere, and the errors of a run that ends early for their sake."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from trnbench.errors import ExitCode, TrnbenchError, UnknownName
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
