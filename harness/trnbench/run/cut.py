"""A run that ends before its last case through no fault of a case."""

from __future__ import annotations

from trnbench.errors import ExitCode, TrnbenchError
from trnbench.results.run import Run


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
