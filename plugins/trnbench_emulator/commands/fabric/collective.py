"""`trnbench fabric scale`: from two ranks or instances to all of them."""

from __future__ import annotations

from typing import Any

from trnbench import Session
from trnbench.bounded import kinds
from trnbench.errors import UsageError, cut
from trnbench.facts.units import percent, show, signed_percent
from trnbench.terminal.cell import Column, Columns
from trnbench.terminal.output import emit, say
from trnbench_emulator.commands.fabric.cells import EVIDENCE, TIME, say_about, two_places
from trnbench_emulator.commands.fabric.options import fabric_of
from trnbench_emulator.commands.fabric.question import groups_of, message, shown
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.sensitivity import sensitivity as shifts_of


def scale(
    state: Session,
    /,
    *,
    collective: str,
    minbytes: int | None,
    algorithm: str,
    counts: str | None,
    format: str,
    **options: Any,
) -> None:
    """A collective on more and more ranks: instances of a cluster, or devices of one system."""
    size, whole = message(minbytes), fabric_of(state, options)
    steps = _counts(counts, whole.system.size if whole.clustered else whole.size)
    rows: list[dict[str, Any]] = []
    for count in steps:
        if whole.clustered:
            fabric = fabric_of(state, options, size=count)
            result = ask(fabric.question(collective, size, algorithm=algorithm))
        else:
            some = () if count == whole.size else tuple(range(count))
            result = ask(whole.question(collective, size, algorithm=algorithm, ranks=some))
        rows.append(
            {
                **({"instances": count} if whole.clustered else {}),
                "ranks": result.ranks,
                "algorithm": result.algorithm,
                "time_s": result.time_s,
                "algbw_gb_s": result.algbw / 1e9,
                "busbw_gb_s": result.busbw / 1e9,
                "bound_share": result.bound.time_s / result.time_s,
                "evidence": EVIDENCE,
                "times_first": result.time_s / (rows[0]["time_s"] if rows else result.time_s),
            }
        )
    say_about(whole)
    names = (*(["instances"] if whole.clustered else []), "ranks", "algorithm")
    columns: Columns = [
        *names,
        TIME,
        Column("algbw_gb_s", "algbw (GB/s)", "right", two_places),
        Column("busbw_gb_s", "busbw (GB/s)", "right", two_places),
        Column("times_first", "× first", "right", lambda v: f"{v:.2f}"),
        Column("bound_share", "% of bound", "right", percent),
        "evidence",
    ]
    emit(rows, columns, format, title=f"{collective} of {shown(size)} on {whole.system.name}")


def _counts(text: str | None, most: int) -> list[int]:
    if text is None:
        counts = [2**k for k in range(1, most.bit_length()) if 2**k < most]
        return [*counts, most] if most > 1 else [most]
    read = [kinds.GROUP.parsed(each) for each in text.split(",")]
    counts = sorted({int(each) for each in read if each is not None})
    if None in read:
        raise UsageError(
            f"--counts {cut(text)} are no numbers",
            cause="whole numbers, 1 or more, with commas between",
            try_="--counts 2,4,8",
        )
    if not 2 <= counts[0] <= counts[-1] <= most:
        raise UsageError(
            f"--counts {cut(text)} is not within reach",
            cause=f"2 to {most:,} are there",
            try_="--counts 2,4,8",
        )
    return counts


def sensitivity(
    state: Session, /, *, collective: str, minbytes: int | None, algorithm: str, format: str, **options: Any
) -> None:
    """How the answer moves over the range of each assumption and each reading of the documents."""
    size, fabric = message(minbytes), fabric_of(state, options)
    base, shifts = shifts_of(fabric.question(collective, size, algorithm=algorithm))
    rows: list[dict[str, object]] = [
        {
            "what": shift.name,
            "usual": shift.usual,
            "setting": shift.setting,
            "time_s": shift.time_s,
            "change": shift.ratio - 1,
            "reason": shift.reason,
        }
        for shift in shifts
    ]
    say_about(fabric)
    columns: Columns = [
        "what",
        "usual",
        "setting",
        TIME,
        Column("change", "change", "right", signed_percent),
    ]
    say(f"usual: {show(base.time_s, 's')} by {base.algorithm}", level=0)
    if not rows:
        say("nothing is assumed about the links that carry this", level=0)
    emit(rows, columns, format, title=f"{collective} of {shown(size)} on {fabric.system.name}")


def links(
    state: Session,
    /,
    *,
    collective: str,
    minbytes: int | None,
    algorithm: str,
    group: tuple[str, ...],
    top: int,
    every: bool,
    format: str,
    **options: Any,
) -> None:
    """What every link carries during one collective, the busiest first."""
    size, fabric = message(minbytes), fabric_of(state, options)
    groups = groups_of(fabric, group)
    result = ask(fabric.question(collective, size, algorithm=algorithm, groups=groups))
    rows = [
        {
            "link": f"{each.src} > {each.dst}",
            "class": each.cls,
            "bytes": each.bytes,
            "gb_s": each.bytes / result.time_s / 1e9,
            "load": each.utilisation,
        }
        for each in (result.links if every else result.links[:top])
    ]
    say_about(fabric)
    say(f"{result.algorithm}: {len(rows):,} of {len(result.links):,} links that carry something", level=0)
    columns: Columns = [
        "link",
        "class",
        Column("bytes", "bytes", "right", shown),
        Column("gb_s", "GB/s", "right", two_places),
        Column("load", "load", "right", percent),
    ]
    emit(rows, columns, format, title=f"{collective} of {shown(size)} on {fabric.system.name}")
