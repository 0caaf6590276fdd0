"""Every rank but the first: measures what rank 0 names, and writes neither store nor stdout."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from trnbench.errors import ExitCode
from trnbench.isolation.garbage import collected_as_usual
from trnbench.kernels.case import Case
from trnbench.results.json import dumps_measurement
from trnbench.run.attempt import Attempts
from trnbench.run.cut import CutShort
from trnbench.run.pool import GRACE_S
from trnbench.run.ranks.executor import BOOT_S, carried_out
from trnbench.run.ranks.hello import hello
from trnbench.run.ranks.line import Gone, Late, Line
from trnbench.run.ranks.meeting import join
from trnbench.run.ranks.place import place_of
from trnbench.run.ranks.rank import Rank


def follow(rank: Rank, attempts: Attempts, cases: Sequence[Case]) -> int:
    """The exit code that rank 0 tells. Raises `CutShort` when rank 0 is lost, or says what went wrong."""
    line = join(rank, place_of(rank), hello(attempts, cases))
    limit = attempts.timeout_s
    # While rank 0 waits for another rank it says nothing; it waits no longer than this.
    patience = 2 * (limit + GRACE_S + BOOT_S) + 60.0 if limit > 0.0 else None
    try:
        while True:
            asked = _next(rank, line, patience)
            if "end" in asked:
                return _ended(rank, asked)
            position = int(asked["case"])
            with collected_as_usual():
                measurement = carried_out(attempts, cases[position])
            line.send(case=position, measurement=dumps_measurement(measurement).decode())
    except Gone:
        raise CutShort(
            f"rank {rank.rank}: rank 0 was lost",
            cause="its process ended, or its machine left; what it had recorded is in its store",
            try_="the output of rank 0",
        ) from None
    finally:
        line.close()


def _next(rank: Rank, line: Line, patience: float | None) -> dict[str, Any]:
    try:
        return line.hear(None if patience is None else time.monotonic() + patience)
    except Late:
        raise CutShort(
            f"rank {rank.rank}: no word from rank 0 for {patience:g} s",
            cause="it hangs, or its machine does",
            try_="the output of rank 0",
            code=ExitCode.TIMEOUT,
        ) from None


def _ended(rank: Rank, asked: dict[str, Any]) -> int:
    code = ExitCode(int(str(asked["end"])))
    if asked.get("what"):
        raise CutShort(
            f"rank {rank.rank}: the run has ended: {asked['what']}",
            cause=str(asked.get("cause", "")),
            try_=str(asked.get("try_", "")),
            code=code,
        )
    return int(code)
