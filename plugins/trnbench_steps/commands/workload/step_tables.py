"""What a step of a job takes on a layout, and where it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnbench.cli.output import Column
from trnbench.cli.sections import Row, Section
from trnbench_steps.commands.workload.show import flop, size

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench_steps.division import Division


def operation_table(division: Division) -> Section:
    """FLOP of a step on all ranks together."""
    from trnbench_steps.flops import step_flops

    spent = step_flops(division.model, division.job)
    rows: list[Row] = [
        {"part": name, "flops": getattr(spent, name)}
        for name in spent.__struct_fields__
        if getattr(spent, name)
    ]
    rows.append({"part": "all", "flops": spent.all})
    return "operations", ("part", Column("flops", "FLOP of a step", "right", flop)), rows


def memory_table(division: Division) -> Section:
    """Bytes of a rank, each part on the stage that has the most of it."""
    from trnbench_steps.memory import FORMULAS, memory

    stages = [memory(division, stage) for stage in range(division.layout.pp)]
    rows: list[Row] = [
        {"part": part, "bytes": max(getattr(each, part) for each in stages), "formula": FORMULAS[part]}
        for part in FORMULAS
        if any(getattr(each, part) for each in stages)
    ]
    rows.append({"part": "all", "bytes": max(each.all for each in stages), "formula": "of the fullest stage"})
    return "memory", ("part", Column("bytes", "of the fullest rank", "right", size)), rows


def system_table(state: Session, division: Division, instances: tuple[str, ...], facts: Any) -> Section:
    """Where it fits, and where not; of several systems, one that cannot hold the ranks says why.

    Raises `UsageError` where the only system cannot.
    """
    from trnbench.errors import UsageError
    from trnbench_steps.hbm import fit

    registry = state.registry
    names = instances or tuple(
        name for name in registry.instance_names() if registry.instance(name)[1].default
    )
    rows: list[Row] = []
    for name in names:
        system = registry.system(name, facts)
        try:
            lies = fit(division, system)
        except UsageError as error:
            if len(names) == 1:
                raise
            rows.append(
                {
                    "system": system.name,
                    "fits": None,
                    "verdict": f"refused: {error.what}",
                    "reason": error.cause,
                }
            )
            continue
        rows.append(
            {
                "system": system.name,
                "fits": lies.fits,
                "used": lies.used,
                "capacity": lies.capacity,
                "verdict": lies.verdict,
                "notes": "; ".join(lies.notes),
                "source": lies.capacity_source,
            }
        )
    columns = (
        "system",
        Column("used", "fullest device", "right", size),
        Column("capacity", "HBM of a device", "right", size),
        "verdict",
    )
    return "systems", columns, rows
