"""`trnbench fabric run`: a collective on several systems in one table, or in that of nccl-tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from trnbench import Session
from trnbench.errors import UnknownName, UsageError
from trnbench.facts.fact import Direction, Scope
from trnbench.facts.units import show
from trnbench.kernels.work import Extent, item_bytes, peak_factor
from trnbench.peaks import choose_peak, scaled
from trnbench.results.measurement import Grade
from trnbench.results.nccl_table import left_out, operation, table
from trnbench.results.ranking import Result
from trnbench.terminal.output import emit, emit_json, say_left_out, write
from trnbench.terminal.result_table import MOST, show_results
from trnbench.terminal.screen import width
from trnbench.terminal.table import wrapped
from trnbench_emulator.commands.fabric.cells import EVIDENCE, Near, near_cells, notes
from trnbench_emulator.commands.fabric.options import (
    about,
    fabric_of,
)
from trnbench_emulator.commands.fabric.question import (
    about_shares,
    groups_of,
    others_of,
    shares_of,
    shown,
    sweep,
)
from trnbench_emulator.commands.vocabulary import UNEVEN
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.constants import NCCOM

if TYPE_CHECKING:
    from trnbench.facts.fact import PeakChoice
    from trnbench.results.measurement import Nearest
    from trnbench_emulator.fabric.answer import Answer
    from trnbench_emulator.fabric.systems import Fabric


class _Sweep(NamedTuple):
    """One system at every size: `rows` as data, `comments` what they hold for, `more` of uneven parts."""

    fabric: Fabric
    ranks: int
    groups: int
    comments: tuple[str, ...]
    rows: list[dict[str, Any]]
    nearest: tuple[Nearest, ...]
    more: dict[str, Any]


def run(
    state: Session,
    /,
    *,
    instances: tuple[str, ...],
    collective: str,
    minbytes: int | None,
    maxbytes: int | None,
    stepfactor: float,
    step: int | None,
    dtype: str | None,
    explain: bool,
    format: str,
    **options: Any,
) -> None:
    """A collective from -b to -e bytes on each system, in one table."""
    dtype = dtype or "fp32"
    sizes = _whole(list(sweep(minbytes, maxbytes, stepfactor, step)), dtype, collective)
    sweeps = [
        _asked(state, {**options, "instance": name}, collective, sizes, dtype)
        for name in dict.fromkeys(instances)
    ]
    if format == "json":
        emit_json(_record(collective, sweeps))
        return
    if format == "csv":
        emit([row for each in sweeps for row in _named(each)], list(_named(sweeps[0])[0]), format)
        return
    results = [result for each in sweeps for result in _results(collective, each)]
    if format == "md" or (len(results) <= MOST and not explain):
        show_results(results, format)
        return
    for each in sweeps:
        _show(collective, each)


def _asked(
    state: Session, options: dict[str, Any], collective: str, sizes: Sequence[float], dtype: str
) -> _Sweep:
    fabric = fabric_of(state, options)
    groups = groups_of(fabric, options["group"])
    peak = peak_of(fabric, collective.removesuffix("_v"), groups[0] if groups else None)
    shares, algorithm = options["shares"], options["algorithm"]
    parts = shares_of(collective, shares, len(groups[0]) if groups else fabric.size)
    question = fabric.question(
        collective,
        sizes[0],
        algorithm=algorithm,
        groups=groups,
        shares=parts,
        beside=tuple(others_of(fabric, options["others"])),
    )
    answers = [ask(replace(question, size=size)) for size in sizes]
    rows = [size_row(answer, dtype, peak) for answer in answers]
    more: dict[str, Any] = {}
    comments = about(fabric)
    if parts:
        for row, answer in zip(rows, answers, strict=True):
            even = ask(replace(question, size=answer.size, shares=()))
            row["times_even"] = answer.time_s / even.time_s
        more = {"shares": list(parts), "shares_of": "senders" if collective == UNEVEN[0] else "receivers"}
        comments += [
            about_shares(collective, shares, parts),
            f"{shown(sizes[-1])} takes {rows[-1]['times_even']:.2f} times as long as with even shares",
            "busbw: by the factor of even shares",
        ]
    comments += details(fabric, answers, peak, "" if parts else algorithm)
    near = Near(state, fabric, alone=not (parts or options["others"] or len(groups) > 1))
    nearest = tuple(
        near.of(collective, answer.size, answer.ranks, hosts=answer.planner.instances, busbw=answer.busbw)
        for answer in answers
    )
    rows = [
        {**each, **near_cells(kind, each["time_s"], answer.range_s, answer.bound.time_s)}
        for each, kind, answer in zip(rows, nearest, answers, strict=True)
    ]
    comments += notes(list(nearest), [answer.busbw for answer in answers])
    return _Sweep(fabric, answers[0].ranks, len(groups) or 1, tuple(comments), rows, nearest, more)


def _results(collective: str, swept: _Sweep) -> Iterator[Result]:
    """Each size as a row of the table that ends a question."""
    options = swept.fabric.options
    for row, nearest in zip(swept.rows, swept.nearest, strict=True):
        low, high = row["expected_low_s"], row["expected_high_s"]
        yield Result(
            names={
                "system": swept.fabric.system.name,
                "kernel": collective,
                "dtype": row["type"],
                "size": row["size"],
                **({"groups": swept.groups} if swept.groups > 1 else {}),
                **({"context": options.context} if options.context != NCCOM else {}),
                "ranks": swept.ranks,
                "rank": options.level,
                "algorithm": row["algorithm"],
            },
            labels={"size": shown(row["size"])},
            time_s=row["time_s"],
            band=None if high is None else (low or 0.0, high),
            rate=row["busbw_gb_s"] * 1e9,
            unit="B/s",
            metric="busbw_bytes_per_s",
            share=row["peak_share"],
            best=nearest.best,
            letter=Grade.EMULATED.letter,
            nearness=row["nearness"],
        )


def _show(collective: str, swept: _Sweep) -> None:
    """The table of nccl-tests, with what it holds for above it."""
    room = width()
    wide = None if room is None else room - 2
    lines = [line for note in swept.comments for line in wrapped(note, wide, 2).split("\n")]
    write("\n".join(table(f"trnbench fabric {collective}, emulated", swept.rows, lines, room=room)) + "\n")
    say_left_out(left_out(room))


def _named(swept: _Sweep) -> list[dict[str, Any]]:
    """Rows with their system and ranks first."""
    return [{"instance": swept.fabric.system.name, "ranks": swept.ranks, **row} for row in swept.rows]


def _record(collective: str, sweeps: Sequence[_Sweep]) -> dict[str, Any]:
    """One system as itself; of several the rows of all, and what each holds for."""
    heads = [
        {
            "instance": each.fabric.system.name,
            "collective": collective,
            "ranks": each.ranks,
            "rank_kind": each.fabric.options.level,
            "context": each.fabric.options.context,
            "groups": each.groups,
            **each.more,
            "notes": each.comments,
        }
        for each in sweeps
    ]
    rows = [row for each in sweeps for row in _named(each)]
    return {**heads[0], "rows": rows} if len(sweeps) == 1 else {"systems": heads, "rows": rows}


def _whole(sizes: list[int], dtype: str, collective: str) -> list[float]:
    """Sizes in whole elements, none twice. Raises UsageError below one."""
    try:
        item = item_bytes(dtype)
    except UnknownName as error:
        raise UnknownName("dtype", error.name, error.known, try_="-d bf16") from None
    if sizes[0] < item:
        raise UsageError(
            f"{sizes[0]} B is less than one {dtype} element",
            cause=f"an element takes {item:g} B",
            try_=f"-b {max(int(item), 1)}",
        )
    if collective == "barrier":
        return [0.0]
    return list(dict.fromkeys(size // item * item for size in sizes))


def peak_of(fabric: Fabric, collective: str, ranks: Sequence[int] | None) -> PeakChoice | None:
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
    parts = {**answer.parts, "residue": answer.residue_s}
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
        f"{show(answer.range_s[0], 's')} to {show(answer.range_s[1], 's')} at {show(answer.size, 'B')}"
        for answer in dict.fromkeys((found[0], found[-1]))
        if answer.range_s is not None
    ]
    if ranges:
        lines.append(f"range, by start and residue: {'; '.join(ranges)}")
    lines += list(dict.fromkeys(note for each in found for note in each.notes))[:4]
    left_out = {name: why for each in found for name, why in each.left_out.items()}
    lines += [f"not tried: {name}, {why}" for name, why in left_out.items()]
    return lines
