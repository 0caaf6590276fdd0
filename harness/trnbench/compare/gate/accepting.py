"""A run becomes a baseline."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from trnbench.bounded.file import RUNS, read_file
from trnbench.compare.gate.baseline import Acceptance, Baseline, baseline_in
from trnbench.errors import UsageError
from trnbench.results.run import Run


def accepted(run: Run, path: Path, *, why: str, by: str = "", force: bool = False) -> Baseline:
    """The baseline that `path` is to hold: the run, and after what was accepted there before, this.

    Raises `UsageError` for a run that has not ended, and for a file that is no baseline unless `force`.
    """
    if not run.finished or run.interrupted or not run.digest:
        how = "was interrupted" if run.interrupted else "has not ended"
        raise UsageError(
            f"run {run.id} cannot be a baseline: it {how}",
            cause="cases are missing from it, or it was made before runs had a digest",
            try_=f"trnbench resume {run.id}",
        )
    before: tuple[Acceptance, ...] = ()
    if path.exists():
        baseline = baseline_in(read_file(path, most=RUNS), str(path)) if not force else None
        if baseline is None and not force:
            raise UsageError(
                f"{path} exists and is no baseline",
                cause="it is not overwritten, in case it is needed",
                try_="--force  overwrites it; or name another file with -o",
            )
        before = baseline.accepted if baseline is not None else ()
    this = Acceptance(
        run=run.id, digest=run.digest, when=datetime.now(UTC).isoformat(timespec="seconds"), why=why, by=by
    )
    return Baseline(run=run, accepted=(*before, this))
