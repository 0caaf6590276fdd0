"""One collective on one system: the question in, the answer out."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from trnbench.emulator.fabric.algorithms.algorithm import (
    ALL_REDUCE,
    AUTO,
    BARRIER,
    BEST,
    NAMES,
)
from trnbench.emulator.fabric.cluster_runner import runner_of
from trnbench.emulator.fabric.explanation import explained
from trnbench.emulator.fabric.ranks import check_several
from trnbench.emulator.fabric.result import Result
from trnbench.emulator.fabric.runner import Found, Runner
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import UnknownName, UsageError


def run(
    fabric: Fabric,
    collective: str,
    size: float,
    *,
    algorithm: str = AUTO,
    group: Sequence[int] | None = None,
    with_links: bool = False,
) -> Result:
    """`size` bytes: the all-reduce vector, the gathered result, the reduce-scatter input, one rank's
    send buffer of an all-to-all, the message of a broadcast, reduce or permute.

    `algorithm` is a name of ALGORITHMS, `auto` (the documents' thresholds; what they name but the ranks
    do not allow falls back to the best of the rest) or `best` (tries all). `group`: only these ranks.
    Raises UsageError for what is unknown or too small, NotPossible where an algorithm cannot do it.
    """
    runner, found = _carried_out(fabric, collective, size, algorithm, group)
    return explained(runner, found, collective, algorithm, with_links=with_links)


def time_of(
    fabric: Fabric, collective: str, size: float, *, algorithm: str = AUTO, group: Sequence[int] | None = None
) -> float:
    """Seconds alone, in half the time of `run`. Raises what it raises."""
    return timed(fabric, collective, size, algorithm=algorithm, group=group)[0]


def timed(
    fabric: Fabric, collective: str, size: float, *, algorithm: str = AUTO, group: Sequence[int] | None = None
) -> tuple[float, str]:
    """Seconds and the algorithm that took them, without what `run` says of where they go."""
    found = _carried_out(fabric, collective, size, algorithm, group)[1]
    return found.solution.time_s, found.schedule.algorithm


def chosen(runner: Runner, algorithm: str) -> Found:
    """`auto`, `best` or one by name. Raises what `run` raises."""
    if algorithm == AUTO:
        return runner.auto()
    if algorithm == BEST:
        return runner.best()
    return runner.named(algorithm)


def asked(collective: str, size: float, ranks: int) -> tuple[str, float]:
    """What is carried out, and its bytes: a barrier is an all-reduce of 8 bytes a rank.

    Raises UsageError for an unknown collective and for less than a byte.
    """
    if collective not in NAMES:
        raise UnknownName(
            "collective", collective, NAMES, try_="trnbench fabric algorithms -i trn2-16.48xlarge"
        )
    if not isfinite(size) or size < (0 if collective == BARRIER else 1):
        raise UsageError(
            f"a message of {size:g} bytes cannot be sent", cause="it is one element or more", try_="-b 8"
        )
    if collective == BARRIER:
        return ALL_REDUCE, 8.0 * ranks
    return collective, max(size, 1.0)


def _carried_out(
    fabric: Fabric, collective: str, size: float, algorithm: str, group: Sequence[int] | None
) -> tuple[Runner, Found]:
    verb, size = asked(collective, size, fabric.size if group is None else len(group))
    runner = runner_of(fabric, verb, size, group)
    check_several(fabric, runner.ranks)
    return runner, chosen(runner, algorithm)
