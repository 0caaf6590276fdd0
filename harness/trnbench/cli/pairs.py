"""`trnbench compare --paired` and `trnbench gate --paired`: two versions measured in turns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from trnbench.compare.change import Comparison
from trnbench.compare.pairing.duel import Wish, measuring
from trnbench.compare.pairing.instructions import THRESHOLD as LEAST_COUNT
from trnbench.compare.pairing.instructions import counter, counts
from trnbench.compare.pairing.operand import Kind, operand, operands
from trnbench.compare.pairing.outcome import THRESHOLD, change, comparison, played
from trnbench.compare.pairing.stage import Apart, OneProcess, Stage
from trnbench.errors import UsageError
from trnbench.terminal.option import typed_flags
from trnbench.terminal.output import mention

if TYPE_CHECKING:
    from trnbench.terminal.context import Session

HERE = "."
"""The second side where none is typed: the plugin of the working folder, as it is."""


def of_runs_alone() -> None:
    """Raises `UsageError` for an option that is typed and that pairs have nothing to do with."""
    for flag in typed_flags(click.get_current_context(), ("a", "b", "across", "page", "every")).values():
        raise UsageError(
            f"{flag} is for stored runs", cause="--paired measures both sides itself", try_="-k, --kernel, -a"
        )


def measured(
    shared: Session,
    before: str,
    after: str,
    *,
    keyword: str,
    threshold: float | None,
    asked: Mapping[str, Any],
) -> Comparison:
    """Both sides in one go. Raises `UsageError`, `UnknownName`, `NothingSelected`."""
    kernels = shared.registry.kernels
    if not after and before and operand(before, kernels).kind is Kind.SOURCES:
        after = HERE
    if not (before and after):
        raise UsageError(
            "--paired needs two sides",
            cause="two kernels, settings, files of facts, commits or folders; beside one of the last two, .",
            try_="trnbench compare --paired KERNEL_A KERNEL_B",
        )
    sides = operands(before, after, kernels)
    wish = Wish(
        backend=asked["backend"],
        kernels=asked["kernels"],
        keyword=keyword,
        axes=asked["axes"],
        facts=tuple(str(path.absolute()) for path in shared.facts_of(())),
        sample_s=asked["sample_s"],
        seed=shared.seed_of(asked["seed"]),
    )
    backend = measuring(shared.registry, wish.backend).name
    if asked["instructions"]:
        by = counter()
        least = LEAST_COUNT if threshold is None else threshold
        found = counts(wish, sides, by, least)
        note = f"instructions of a call, counted by {by.name}; they are no time"
        return comparison(sides, found, backend, least, (note,))
    with ExitStack() as stack:
        stage: Stage
        if sides[0].kind is Kind.SOURCES:
            stage = Apart(wish, sides, stack)
        else:
            stage = OneProcess(shared.registry, wish, sides)
        least = THRESHOLD if threshold is None else threshold
        results = played(stage, wish, mention)
    changes = [change(seen, backend, least) for seen in results]
    note = (
        f"{sum(batch.pairs for seen in results for batch in seen.batches):,} pairs A,B,B,A or B,A,A,B "
        f"{stage.where}, {stage.batches} batches, seed {wish.seed}, load {os.getloadavg()[0]:.1f} on "
        f"{len(os.sched_getaffinity(0))} processors"
    )
    return comparison(sides, changes, backend, least, (note,))
