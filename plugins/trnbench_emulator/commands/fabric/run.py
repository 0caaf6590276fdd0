"""`trnbench fabric run`: a sweep in the table of nccl-tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench import Session
from trnbench.cli.output import emit, emit_json, say_left_out, write
from trnbench.cli.table import wrapped
from trnbench.cli.terminal import width
from trnbench.errors import UsageError
from trnbench.facts.fact import Direction, Scope
from trnbench.facts.units import show
from trnbench.kernels.work import Extent, item_bytes, peak_factor
from trnbench.peaks import choose_peak, scaled
from trnbench.results.nccl_table import left_out, operation, table
from trnbench_emulator.commands.fabric.cells import EVIDENCE, Near, near_cells, notes
from trnbench_emulator.commands.fabric.options import (
    about,
    fabric_of,
)
from trnbench_emulator.commands.fabric.question import (
    about_shares,
    frozen,
    groups_of,
    others_of,
    shares_of,
    shown,
    sweep,
)
from trnbench_emulator.commands.vocabulary import UNEVEN
from trnbench_emulator.fabric.ask import ask

if TYPE_CHECKING:
    from trnbench.facts.fact import PeakChoice
    from trnbench_emulator.fabric.answer import Answer
    from trnbench_emulator.fabric.question import Question
    from trnbench_emulator.fabric.systems import Fabric


def run(
    state: Session,
    /,
    *,
    collective: str,
    minbytes: int,
    maxbytes: int,
    stepfactor: float,
    step: int | None,
    algorithm: str,
    dtype: str | None,
    group: tuple[str, ...],
    shares: str | None,
    others: tuple[str, ...],
    format: str,
    **options: Any,
) -> None:
    """A collective from -b to -e bytes, in the table of nccl-tests."""
    dtype = dtype or "fp32"
    fabric = fabric_of(state, options)
    groups = groups_of(fabric, group)
    peak = peak_of(fabric, collective.removesuffix("_v"), groups[0] if groups else None)
    sizes = _whole(list(sweep(minbytes, maxbytes, stepfactor, step)), dtype, collective)
    parts = shares_of(collective, shares, len(groups[0]) if groups else fabric.size)
    more: dict[str, Any] = {}
    question = fabric.question(
        collective,
        sizes[0],
        algorithm=algorithm,
        groups=frozen(groups),
        shares=parts,
        beside=tuple(others_of(fabric, others)),
    )
    answers = [ask(replace(question, size=size)) for size in sizes]
    rows = [size_row(each, dtype, peak) for each in answers]
    if parts:
        for row, slower in zip(rows, _times_even(question, answers), strict=True):
            row["times_even"] = slower
        more = {"shares": list(parts), "shares_of": "senders" if collective == UNEVEN[0] else "receivers"}
        comments = [
            *about(fabric),
            about_shares(collective, shares, parts),
            f"{shown(sizes[-1])} takes {rows[-1]['times_even']:.2f} times as long as with even shares",
            "busbw: by the factor of even shares",
            *details(fabric, answers, peak, ""),
        ]
    else:
        comments = [*about(fabric), *details(fabric, answers, peak, algorithm)]
    near = Near(state, fabric, alone=not (parts or others or len(groups) > 1))
    nearest = [near.of(collective, each.size, each.ranks, busbw=each.busbw) for each in answers]
    rows = [
        {**each, **near_cells(kind, each["time_s"], answer.range_s, answer.bound.time_s)}
        for each, kind, answer in zip(rows, nearest, answers, strict=True)
    ]
    comments += notes(nearest, [each.busbw for each in answers])
    _show(fabric, collective, answers[0].ranks, len(groups) or 1, more, comments, rows, format)


def _times_even(question: Question, answers: Sequence[Answer]) -> list[float]:
    """How many times as long each takes as with even parts."""
    even = replace(question, shares=())
    return [answer.time_s / ask(replace(even, size=answer.size)).time_s for answer in answers]


def _show(
    fabric: Fabric,
    collective: str,
    ranks: int,
    groups: int,
    more: dict[str, Any],
    comments: Sequence[str],
    rows: list[dict[str, Any]],
    format: str,
) -> None:
    """The table of nccl-tests with `comments` above it, or the rows as data."""
    if format == "table":
        room = width()
        wide = None if room is None else room - 2
        lines = [line for note in comments for line in wrapped(note, wide, 2).split("\n")]
        write("\n".join(table(f"trnbench fabric {collective}, emulated", rows, lines, room=room)) + "\n")
        say_left_out(left_out(room))
    elif format == "json":
        emit_json(
            {
                "instance": fabric.system.name,
                "collective": collective,
                "ranks": ranks,
                "rank_kind": fabric.options.level,
                "context": fabric.options.context,
                "groups": groups,
                **more,
                "notes": comments,
                "rows": rows,
            }
        )
    else:
        emit(rows, list(rows[0]), format)


def _whole(sizes: list[int], dtype: str, collective: str) -> list[float]:
    """Sizes in whole elements, none twice. Raises UsageError below one."""
    item = item_bytes(dtype)
    if sizes[0] < item:
        raise UsageError(
            f"{sizes[0]} B is less than one {dtype} element",
            cause=f"an element takes {item:g} B",
            try_=f"-b {max(int(item), 1)}",
        )
    if collective == "barrier":
        return [0.0]
    return list(dict.fromkeys(size // item * item for size in sizes))


def peak_of(fabric: Fabric, collective: str, ranks: Sequence[int] | None = None) -> PeakChoice | None:
    """The documented figure of a device's links as busbw of these ranks (all of them if none are named); None
    where a network lies between, where nothing need leave a device, or where groups lie on parts of devices.
    """
    each = fabric.ranks_per_device
    taking = list(ranks) if ranks else range(fabric.size)
    devices = {rank // each for rank in taking}
    if fabric.clustered or len(taking) != len(devices) * each:
        return None
    factor = peak_factor(collective, len(taking), len(devices))
    if factor is None:
        return None
    choice = choose_peak(
        fabric.system, metric="neuronlink_bandwidth", scope=Scope.DEVICE, direction=Direction.ONE_WAY
    )
    extent = Extent(
        scope=fabric.system.instance.scope,
        cores=len(devices) * fabric.system.cores_per_device,
        devices=len(devices),
        ranks=len(taking),
    )
    return scaled(choice, factor, extent) if choice else None


def size_row(answer: Answer, dtype: str, peak: PeakChoice | None) -> dict[str, Any]:
    """One size; times in seconds, bandwidths in GB/s of 10⁹ bytes."""
    redop, root = operation(answer.collective)
    parts = {
        "latency": answer.latency_s,
        "link": answer.link_s,
        "hbm": answer.memory_s,
        "overhead": answer.overhead_s,
        "residue": answer.residue_s,
    }
    least, most = answer.range_s or (None, None)
    return {
        "size": int(answer.size),
        "count": int(answer.size / item_bytes(dtype)),
        "type": dtype,
        "redop": redop,
        "root": root,
        "time_s": answer.time_s,
        "algbw_gb_s": answer.algbw / 1e9,
        "busbw_gb_s": answer.busbw / 1e9,
        "wrong": None,
        "algorithm": answer.algorithm,
        "peak_share": answer.busbw / peak.chosen.value if peak else None,
        "bound_share": answer.bound.time_s / answer.time_s,
        "bound": max(parts, key=lambda name: parts[name]),
        "evidence": EVIDENCE,
        "start_s": answer.start_s,
        "residue_s": answer.residue_s,
        "range_low_s": least,
        "range_high_s": most,
    }


def details(fabric: Fabric, found: Sequence[Answer], peak: PeakChoice | None, algorithm: str) -> list[str]:
    """What the figures are held against, by which rule the algorithm was chosen, what stays unproven."""
    lines = []
    if peak is not None:
        chosen = peak.chosen
        where = "; ".join(filter(None, (chosen.source, chosen.formula)))
        lines.append(
            f"peak: {chosen.evidence} {show(chosen.value, 'B/s')}, busbw of {found[0].ranks:,} ranks over the"
            f" links of a device, one way ({where})"
        )
    else:
        why = "a network lies between" if fabric.clustered else "these ranks need no link between devices"
        lines.append(f"peak: none, {why}")
    lines.append(f"bound: {found[0].bound.formula}")
    if algorithm == "auto":
        lines += [f"auto: {choice}" for choice in dict.fromkeys(each.choice for each in found) if choice]
    ranges = [
        f"{show(each.range_s[0], 's')} to {show(each.range_s[1], 's')} at {show(each.size, 'B')}"
        for each in dict.fromkeys((found[0], found[-1]))
        if each.range_s is not None
    ]
    if ranges:
        lines.append(f"range, by start and residue: {'; '.join(ranges)}")
    lines += list(dict.fromkeys(note for each in found for note in each.notes))[:4]
    left_out = {name: why for each in found for name, why in each.left_out.items()}
    lines += [f"not tried: {name}, {why}" for name, why in left_out.items()]
    return lines
