"""What `trnbench fabric run` says of each size, and what its figures are held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trnbench.results.nccl_table import operation
from trnbench_emulator.commands.fabric.cells import EVIDENCE

if TYPE_CHECKING:
    from trnbench.facts.peak import PeakChoice
    from trnbench_emulator.fabric.answer import Answer
    from trnbench_emulator.fabric.systems import Fabric


def peak_of(fabric: Fabric, collective: str, ranks: Sequence[int] | None = None) -> PeakChoice | None:
    """The documented figure of a device's links as busbw of these ranks (all of them if none are named); None
    where a network lies between, where nothing need leave a device, or where groups lie on parts of devices.
    """
    from trnbench.facts.scope import Direction, Scope
    from trnbench.kernels.extent import Extent
    from trnbench.peaks.busbw import scaled
    from trnbench.peaks.choose import choose_peak
    from trnbench_kernels.families.collective import peak_factor

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


def row(answer: Answer, dtype: str, peak: PeakChoice | None) -> dict[str, Any]:
    """One size; times in seconds, bandwidths in GB/s of 10⁹ bytes."""
    from trnbench.kernels.dtype import item_bytes

    redop, root = operation(answer.collective)
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
    }


def details(fabric: Fabric, found: Sequence[Answer], peak: PeakChoice | None, algorithm: str) -> list[str]:
    """What the figures are held against, by which rule the algorithm was chosen, what stays unproven."""
    from trnbench.facts.format import show

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
    lines += list(dict.fromkeys(note for each in found for note in each.notes))[:4]
    left_out = {name: why for each in found for name, why in each.left_out.items()}
    lines += [f"not tried: {name}, {why}" for name, why in left_out.items()]
    return lines
