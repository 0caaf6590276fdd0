"""Uneven parts of a collective: `--shares 3,1,1,1` or `--skew zipf:1.2`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from trnbench.bounded import kinds
from trnbench.quoting import cut

UNEVEN = ("all_gather_v", "all_to_all_v")

shares_option = click.option(
    "--shares",
    metavar="N,N,…",
    help="Uneven parts, for (v): one for each rank, or a pattern that is repeated: 3,1,1,1.",
)
skew_option = click.option(
    "--skew",
    metavar="zipf:S|hot:SHARE",
    help="Uneven parts by a rule, for (v): rank r has 1/(r+1)^S, or rank 0 has SHARE and the rest the rest.",
)


def shares_of(collective: str, shares: str | None, skew: str | None, ranks: int) -> tuple[float, ...]:
    """One for each of `ranks`, adding up to 1; empty where the collective has equal parts.

    Raises UsageError for what cannot be read, does not fit the ranks, or is given to equal parts.
    """
    from trnbench.errors import UsageError
    from trnbench_emulator.fabric.transform import fractions

    if collective not in UNEVEN:
        if shares is None and skew is None:
            return ()
        given = "--shares" if shares is not None else "--skew"
        instead = f"{collective}_v" if f"{collective}_v" in UNEVEN else UNEVEN[1]
        raise UsageError(
            f"{collective} takes no {given}",
            cause=f"its parts are alike; {' and '.join(UNEVEN)} take uneven ones",
            try_=f"trnbench fabric run {instead} {given} {shares if shares is not None else skew}",
        )
    if shares is not None and skew is not None:
        raise UsageError(
            "--shares and --skew exclude each other", cause="either says who has how much", try_="one of them"
        )
    if shares is not None:
        return fractions(_listed(shares, ranks))
    return fractions(_skewed(skew, ranks) if skew is not None else [1.0] * ranks)


def about_shares(collective: str, shares: str | None, skew: str | None, found: Sequence[float]) -> str:
    """In a line: what was given, whose it is, and the range of it."""
    whose = "held by each rank" if collective == "all_gather_v" else "sent to each rank"
    given = shares if shares is not None else skew if skew is not None else "all alike"
    return (
        f"shares: {given}, {whose}; largest {max(found) * 100:.3g} %, smallest {min(found) * 100:.3g} %,"
        f" even {100 / len(found):.3g} %"
    )


def _listed(text: str, ranks: int) -> list[float]:
    from trnbench.errors import UsageError

    shares = [float(each) for each in map(kinds.SHARE.parsed, text.split(",")) if each is not None]
    if len(shares) != text.count(",") + 1:
        raise UsageError(
            f"--shares {cut(text)} are no numbers",
            cause="numbers from 0 to 1e12 with commas between",
            try_="--shares 3,1,1,1",
        )
    if len(shares) > ranks or ranks % len(shares):
        raise UsageError(
            f"{len(shares)} shares do not fit {ranks} ranks",
            cause="one for each rank is taken, or a pattern that is repeated a whole number of times",
            try_=f"a number of shares that divides {ranks}",
        )
    return shares * (ranks // len(shares))


def _skewed(text: str, ranks: int) -> list[float]:
    from trnbench.errors import UsageError

    rule, _, number = text.partition(":")
    kind = {"zipf": kinds.ZIPF, "hot": kinds.HOT}.get(rule.strip())
    exact = kind.parsed(number) if kind else None
    if exact is None:
        raise UsageError(
            f"--skew {cut(text)} is no zipf:S and no hot:SHARE",
            cause="S is 0 (even) to 100, SHARE is 0 to 1, that of rank 0",
            try_="--skew zipf:1.2 or --skew hot:0.5",
        )
    value = float(exact)
    if rule.strip() == "zipf":
        return [(rank + 1) ** -value for rank in range(ranks)]
    return [value, *[(1 - value) / max(ranks - 1, 1)] * (ranks - 1)]
