"""The table of nccl-tests: its header, columns and closing lines, ours behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trnbench.cli.aligned import wrapped
from trnbench.cli.fabric.cells import EVIDENCE

if TYPE_CHECKING:
    from trnbench.emulator.fabric.answer import Answer
    from trnbench.emulator.fabric.systems import Fabric
    from trnbench.facts.peak import PeakChoice

TYPES = {
    "fp32": "float",
    "fp16": "half",
    "bf16": "bfloat16",
    "fp64": "double",
    "int8": "int8",
    "fp8": "f8e4m3",
}
"""Our words for data types as nccl-tests prints them; others are printed as they are."""
REDUCES = ("all_reduce", "reduce_scatter", "reduce", "barrier")
ROOTED = ("broadcast", "reduce")
CHECKED = "N/A"
"""In column #wrong: a model moves no data, so nothing was checked."""

WIDTHS = (12, 12, 10, 7, 6, 11, 8, 8, 6)
HEADS = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
UNITS = ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "")
OURS = ("algorithm", "%peak", "%bound", "bound", "evidence", "near", "expect")
WIDTHS_OF_OURS = (18, 7, 7, 8, 9, 9, 17)
FIRST_TO_GO = (
    *("#wrong", "root", "redop", "count", "type"),
    *("bound", "%bound", "algorithm", "near", "algbw", "expect", "%peak"),
)
"""Columns that a terminal has no room for, in this order; what goes to a parser has them all."""


def peak_of(fabric: Fabric, collective: str, ranks: Sequence[int] | None = None) -> PeakChoice | None:
    """The documented figure of a device's links as busbw of these ranks (all of them if none are named); None
    where a network lies between, where nothing need leave a device, or where groups lie on parts of devices.
    """
    from trnbench.facts.scope import Direction, Scope
    from trnbench.kernels.extent import Extent
    from trnbench.kernels.families.collective import peak_factor
    from trnbench.peaks.busbw import scaled
    from trnbench.peaks.choose import choose_peak

    each = fabric.ranks_per_device
    taking = list(ranks) if ranks else range(fabric.size)
    devices = {rank // each for rank in taking}
    if fabric.clustered or len(taking) != len(devices) * each:
        return None
    factor = peak_factor(collective, len(taking), len(devices))
    if factor is None:
        return None
    found = choose_peak(
        fabric.system, metric="neuronlink_bandwidth", scope=Scope.DEVICE, direction=Direction.ONE_WAY
    )
    extent = Extent(
        scope=fabric.system.instance.scope,
        cores=len(devices) * fabric.system.cores_per_device,
        devices=len(devices),
        ranks=len(taking),
    )
    return scaled(found, factor, extent) if found else None


def row(answer: Answer, dtype: str, peak: PeakChoice | None) -> dict[str, Any]:
    """One size; times in seconds, bandwidths in GB/s of 10⁹ bytes."""
    from trnbench.kernels.dtype import item_bytes

    parts = {
        "latency": answer.latency_s,
        "link": answer.link_s,
        "hbm": answer.memory_s,
        "overhead": answer.overhead_s,
    }
    return {
        "size": int(answer.size),
        "count": int(answer.size / item_bytes(dtype)),
        "type": dtype,
        "redop": "sum" if answer.collective in REDUCES else "none",
        "root": 0 if answer.collective in ROOTED else -1,
        "time_s": answer.time_s,
        "algbw_gb_s": answer.algbw / 1e9,
        "busbw_gb_s": answer.busbw / 1e9,
        "wrong": None,
        "algorithm": answer.algorithm,
        "peak_share": answer.busbw / peak.chosen.value if peak else None,
        "bound_share": answer.bound.time_s / answer.time_s,
        "bound": max(parts, key=lambda name: parts[name]),
        "evidence": EVIDENCE,
    }


def left_out(room: int | None) -> tuple[str, ...]:
    """Headings of the columns that lines of `room` cannot hold; None: none of them."""
    gone = 0
    while room is not None and gone < len(FIRST_TO_GO) and _wide(FIRST_TO_GO[:gone]) > room:
        gone += 1
    return FIRST_TO_GO[:gone]


def _wide(without: Sequence[str]) -> int:
    theirs = [wide for head, wide in zip(HEADS, WIDTHS, strict=True) if head not in without]
    ours = [wide for head, wide in zip(OURS, WIDTHS_OF_OURS, strict=True) if head not in without]
    return sum(theirs) + len(theirs) + sum(ours) + 2 * len(ours)


def header(collective: str, notes: Sequence[str], room: int | None = None) -> list[str]:
    """The lines above the rows, in the columns of nccl-tests and nccom-test; ours stand behind them."""
    gone = left_out(room)
    return [
        f"# trnbench fabric {collective}, emulated",
        *(line for note in notes for line in _comment(note, room)),
        "#",
        _line("#", HEADS, OURS, gone),
        _line("#", UNITS, ("", "", "", "", "", "", "(us)"), gone).rstrip(),
    ]


def _comment(note: str, room: int | None) -> list[str]:
    """Lines that parsers of those tools skip."""
    return [f"# {line}" for line in wrapped(note, None if room is None else room - 2, 2).split("\n")]


def lines(rows: Sequence[Mapping[str, Any]], room: int | None = None) -> list[str]:
    """A line for each row: times in µs, bandwidths in GB/s of 1e9 bytes."""
    gone = left_out(room)
    return [
        _line(
            " ",
            (
                str(each["size"]),
                str(each["count"]),
                TYPES.get(each["type"], each["type"]),
                each["redop"],
                str(each["root"]),
                _digits(each["time_s"] * 1e6),
                f"{each['algbw_gb_s']:.2f}",
                f"{each['busbw_gb_s']:.2f}",
                CHECKED,
            ),
            (
                each["algorithm"],
                "-" if each["peak_share"] is None else _share(each["peak_share"]),
                _share(each["bound_share"]),
                each["bound"],
                each["evidence"],
                each["nearness"],
                _interval(each["expected_low_s"], each["expected_high_s"]),
            ),
            gone,
        )
        for each in rows
    ]


def footer(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What parsers of those tools look for at the end: the mean bus bandwidth in GB/s."""
    mean = sum(each["busbw_gb_s"] for each in rows) / len(rows)
    return ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {mean:g}", "#"]


def details(fabric: Fabric, found: Sequence[Answer], peak: PeakChoice | None, algorithm: str) -> list[str]:
    """What the figures are held against, by which rule the algorithm was chosen, what stays unproven."""
    from trnbench.facts.format import show

    made = []
    if peak is not None:
        chosen = peak.chosen
        where = "; ".join(filter(None, (chosen.source, chosen.formula)))
        made.append(
            f"peak: {chosen.evidence} {show(chosen.value, 'B/s')}, busbw of {found[0].ranks:,} ranks over the"
            f" links of a device, one way ({where})"
        )
    else:
        why = "a network lies between" if fabric.clustered else "these ranks need no link between devices"
        made.append(f"peak: none, {why}")
    made.append(f"bound: {found[0].bound.formula}")
    if algorithm == "auto":
        made += [f"auto: {choice}" for choice in dict.fromkeys(each.choice for each in found) if choice]
    made += list(dict.fromkeys(note for each in found for note in each.notes))[:4]
    left_out = {name: why for each in found for name, why in each.left_out.items()}
    made += [f"not tried: {name}, {why}" for name, why in left_out.items()]
    return made


def _line(lead: str, cells: Sequence[str], ours: Sequence[str], gone: Sequence[str]) -> str:
    padded = " ".join(
        cell.rjust(width) for cell, width, head in zip(cells, WIDTHS, HEADS, strict=True) if head not in gone
    )
    behind = "  ".join(
        cell.ljust(width)
        for cell, width, head in zip(ours, WIDTHS_OF_OURS, OURS, strict=True)
        if head not in gone
    )
    return f"{lead}{padded[len(lead) - 1 :] if lead.strip() else padded}  {behind}".rstrip()


def _digits(microseconds: float) -> str:
    """As nccl-tests: four significant places, no exponent."""
    return f"{microseconds:.2f}" if microseconds < 1000 else f"{microseconds:.1f}"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{_digits(low * 1e6)} to {_digits(high * 1e6)}"


def _share(value: float) -> str:
    from trnbench.facts.format import percent

    return percent(value).removesuffix(" %")
