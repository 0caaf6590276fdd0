"""`trnbench fabric probe`: traffic that is no collective."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from trnbench import Session
from trnbench.errors import UsageError, counted
from trnbench.facts.units import percent
from trnbench.terminal.cell import Column, Columns
from trnbench.terminal.option import typed_flags
from trnbench.terminal.output import emit, say
from trnbench.topology.bisection import bisection as narrowest
from trnbench_emulator.commands.fabric.cells import (
    EVIDENCE,
    NEAR,
    TIME,
    Near,
    near_cells,
    one_place,
    say_about,
    two_places,
)
from trnbench_emulator.commands.fabric.options import fabric_of
from trnbench_emulator.commands.fabric.question import message, shown, sweep
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.question import HALVES, INCAST, PING_PONG, SEND

if TYPE_CHECKING:
    from trnbench_emulator.fabric.answer import Answer
    from trnbench_emulator.fabric.systems import Fabric


_SHOWN: dict[str, Callable[[dict[str, Any]], str]] = {
    "bandwidth": lambda each: f"{each['bandwidth_gb_s']:.1f}",
    "latency": lambda each: f"{each['latency_s'] * 1e6:.2f}",
    "hops": lambda each: str(each["hops"]),
}
MOST_RANKS = 16
"""A matrix of more is no longer read on a screen; --all prints it nevertheless."""


_TAKEN = {
    "matrix": ("minbytes", "show", "every"),
    "pingpong": ("minbytes", "maxbytes", "stepfactor", "src", "dst"),
    "bisection": ("minbytes",),
    "incast": ("minbytes", "dst"),
}
"""Options of their own."""


def probe(state: Session, /, *, pattern: str, **options: Any) -> None:
    """Traffic that is no collective: the one that is named."""
    _check_taken(pattern)
    patterns: dict[str, Callable[..., None]] = {
        "matrix": matrix,
        "pingpong": pingpong,
        "bisection": bisection,
        "incast": incast,
    }
    patterns[pattern](state, **options)


def matrix(
    state: Session, /, *, minbytes: int | None, show: str, every: bool, format: str, **options: Any
) -> None:
    """Latency and bandwidth between every two ranks, one pair at a time."""
    size = _size(minbytes)
    fabric = fabric_of(state, options)
    network = fabric.network
    ranks = list(range(network.size if every else min(network.size, MOST_RANKS)))
    transfers = [[_pair(fabric, a, b, size) if a != b else None for b in ranks] for a in ranks]
    say_about(fabric)
    if len(ranks) < network.size:
        say(f"the first {len(ranks)} of {network.size} ranks; --all shows them all", level=0)
    if format in ("json", "csv"):
        rows = [each for line in transfers for each in line if each is not None]
        emit(rows, ("src", "dst", "hops", "latency_s", "time_s", "bandwidth_gb_s"), format)
        return
    names = [_name(fabric, rank) for rank in ranks]
    value = _SHOWN[show]
    table: list[dict[str, object]] = [
        {
            "from \\ to": name,
            **{to: value(each) if each else "–" for to, each in zip(names, line, strict=True)},
        }
        for name, line in zip(names, transfers, strict=True)
    ]
    unit = {"bandwidth": f"GB/s of {shown(size)}", "latency": "µs of 1 B", "hops": "links"}[show]
    columns: Columns = ["from \\ to", *(Column(name, name, "right") for name in names)]
    emit(table, columns, format, title=f"{fabric.system.name}: {unit}, row sends to column")


def bisection(state: Session, /, *, minbytes: int | None, format: str, **options: Any) -> None:
    """Every rank exchanges with the one half the ranks away, held against the narrowest cut."""
    size = _size(minbytes)
    fabric = fabric_of(state, options)
    answer = ask(fabric.question(HALVES, size))
    n = fabric.network.size
    cut = narrowest(fabric.topology)
    rate = _rate(n * size, answer.time_s)
    across = rate / 2
    busiest, _ = _busiest(answer)
    rows: list[dict[str, object]] = [
        {
            "ranks": n,
            "time_s": answer.time_s,
            "each_gb_s": rate / n / 1e9,
            "one_way_gb_s": across / 1e9,
            "cut_gb_s": cut.one_way / 1e9 if cut else None,
            "share": across / cut.one_way if cut else None,
            "cables": cut.cables if cut else None,
            "method": cut.method if cut else "",
            "busiest": busiest,
        }
    ]
    say_about(fabric)
    columns: Columns = [
        "ranks",
        Column("each_gb_s", "each (GB/s)", "right", one_place),
        Column("one_way_gb_s", "from half to half (GB/s)", "right", one_place),
        Column("cut_gb_s", "narrowest cut (GB/s)", "right", one_place),
        Column("share", "share", "right", percent),
        Column("cables", "cables"),
        Column("method", "cut found by"),
        Column("busiest", "busiest link"),
    ]
    emit(rows, columns, format)


def incast(state: Session, /, *, minbytes: int | None, dst: int | None, format: str, **options: Any) -> None:
    """More and more ranks send to one at the same time."""
    target = dst or 0
    size = _size(minbytes)
    fabric = fabric_of(state, options)
    n = fabric.network.size
    _several(fabric, "nobody is there to send to it")
    counts = [*(2**k for k in range(n.bit_length()) if 2**k < n - 1), n - 1]
    rows: list[dict[str, object]] = []
    for count in counts:
        senders = ((target + k) % n for k in range(1, count + 1))
        answer = ask(fabric.question(INCAST, size, ranks=(target, *senders)))
        rate = _rate(count * size, answer.time_s)
        busiest, load = _busiest(answer)
        rows.append(
            {
                "senders": count,
                "time_s": answer.time_s,
                "each_gb_s": rate / count / 1e9,
                "total_gb_s": rate / 1e9,
                "busiest": busiest,
                "load": load,
            }
        )
    say_about(fabric)
    columns: Columns = [
        "senders",
        TIME,
        Column("each_gb_s", "each (GB/s)", "right", one_place),
        Column("total_gb_s", "received (GB/s)", "right", one_place),
        Column("busiest", "busiest link"),
        Column("load", "its load", "right", percent),
    ]
    emit(rows, columns, format, title=f"{shown(size)} each to rank {target} of {fabric.system.name}")


def _check_taken(pattern: str) -> None:
    """Raises `UsageError` for an option that is of other patterns."""
    of_any = chain(*_TAKEN.values())
    for name, flag in typed_flags(click.get_current_context(), of_any).items():
        if name not in _TAKEN[pattern]:
            raise UsageError(
                f"{pattern} takes no {flag}",
                cause=f"it is for {', '.join(each for each, names in _TAKEN.items() if name in names)}",
                try_="leave it out",
            )


def _name(fabric: Fabric, rank: int) -> str:
    return fabric.network.nodes[fabric.network.ranks[rank]].name


def _pair(fabric: Fabric, src: int, dst: int, size: int) -> dict[str, Any]:
    time_s, latency_s = (
        ask(fabric.question(SEND, amount, ranks=(src, dst))).time_s for amount in (size, 1.0)
    )
    return {
        "src": _name(fabric, src),
        "dst": _name(fabric, dst),
        "hops": fabric.network.route(src, dst).hops,
        "latency_s": latency_s,
        "time_s": time_s,
        "bandwidth_gb_s": _rate(size, time_s) / 1e9,
    }


def _rate(amount: int, time_s: float) -> float:
    """Bytes/s. Raises `UsageError` where the links are so fast that there is no time to divide by."""
    if time_s <= 0:
        raise UsageError(
            f"{shown(amount)} on these links take no time, so they have no rate",
            cause="the links carry them in less than a picosecond, and have no latency",
            try_="a larger message, or other --facts",
        )
    return amount / time_s


def _busiest(answer: Answer) -> tuple[str, float | None]:
    """The link that was busiest, and the share of the time it was."""
    if not answer.links:
        return "", None
    link = answer.links[0]
    return f"{link.src} > {link.dst}", link.utilisation


def _size(minbytes: int | None) -> int:
    """Bytes of the one message. Raises `UsageError` for none."""
    if minbytes == 0:
        raise UsageError("a message of 0 bytes cannot be sent", cause="it is 1 byte or more", try_="-b 64M")
    return message(minbytes)


def _several(fabric: Fabric, why: str) -> None:
    """Raises `UsageError` for a single rank."""
    if fabric.size < 2:
        raise UsageError(
            f"{fabric.system.name} has one rank",
            cause=why,
            try_="--ranks core, or a system of several devices",
        )


def _check_pair(fabric: Fabric, src: int, dst: int) -> None:
    """Raises `UsageError` where they are not two ranks."""
    _several(fabric, "a ping-pong takes two")
    if src == dst:
        raise UsageError(
            f"rank {src} cannot play with itself",
            cause="a ping-pong takes two ranks",
            try_="--sender 0 --receiver 1",
        )


def pingpong(
    state: Session,
    /,
    *,
    minbytes: int | None,
    maxbytes: int | None,
    stepfactor: float,
    src: int,
    dst: int | None,
    format: str,
    **options: Any,
) -> None:
    """A message there and back between two ranks; on a cluster over EFA to the next instance."""
    fabric = fabric_of(state, options)
    sizes = list(sweep(minbytes, maxbytes, stepfactor, None))
    if dst is None:  # the next rank; on a cluster that of the next instance
        step = fabric.size // fabric.system.size if fabric.clustered else 1
        dst = (src + step) % fabric.size
    _check_pair(fabric, src, dst)
    near = Near(state, fabric)
    answers = [ask(fabric.question(PING_PONG, size, ranks=(src, dst))) for size in sizes]
    # Whether there are such ranks is known by now.
    network = fabric.network
    hosts = len({network.nodes[network.ranks[rank]].host for rank in (src, dst)})
    rows: list[dict[str, Any]] = []
    for size, both_ways in zip(sizes, answers, strict=True):
        time_s = both_ways.time_s / 2
        rows.append(
            {
                "size": size,
                "time_s": time_s,
                "bandwidth_gb_s": _rate(size, time_s) / 1e9,
                "evidence": EVIDENCE,
                **near_cells(
                    near.of("sendrecv", size, 2, hosts=hosts), time_s, least_s=both_ways.bound.time_s / 2
                ),
            }
        )
    ends = [_name(fabric, rank) for rank in (src, dst)]
    hops = network.route(src, dst).hops
    say_about(fabric)
    say(f"{counted(hops, 'link')} between {ends[0]} and {ends[1]}", level=0)
    if format == "json":
        rows = [{"src": ends[0], "dst": ends[1], "hops": hops, **row} for row in rows]
    columns: Columns = [
        Column("size", "size", "right", shown),
        TIME,
        Column("bandwidth_gb_s", "GB/s", "right", two_places),
        "evidence",
        *NEAR,
    ]
    emit(rows, columns, format, title=f"{fabric.system.name}: {ends[0]} to {ends[1]} and back, half of it")
