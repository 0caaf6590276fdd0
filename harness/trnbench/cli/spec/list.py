"""`trnbench spec list`: all systems with their headline figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, format_option, say
from trnbench.cli.spec.options import facts_of, facts_option, peak_option, policy_of

if TYPE_CHECKING:
    from trnbench.cli.spec.figures import Row
    from trnbench.facts.peak import PeakPolicy
    from trnbench.generation import System

_COLUMNS: tuple[Column | str, ...] = (
    "instance",
    "generation",
    "scope",
    Column("devices", align="right"),
    Column("cores", align="right"),
    Column("bf16", "BF16"),
    Column("fp8", "FP8 or MXFP8"),
    Column("hbm_capacity", "HBM"),
    Column("hbm_bandwidth", "HBM bandwidth"),
    Column("neuronlink", "NeuronLink per device"),
    Column("efa", "EFA"),
    Column("aliases", show=lambda names: " ".join(names)),
)


@click.command("list")
@peak_option
@facts_option
@format_option
@session
def list_(state: Session, policy: str, facts: tuple[Path, ...], format: str) -> None:
    """List all systems: what they are made of, other names, and headline peaks with their sources."""
    chosen, extra = policy_of(state, policy), facts_of(state, facts)
    rows = [_row(state.registry.system(name, extra), chosen) for name in state.registry.instance_names()]
    emit(rows, _COLUMNS, format)
    if format == "table":
        say(f"figures of the whole system by policy {chosen}; D documented, F derived by a formula")


def _row(system: System, policy: PeakPolicy) -> Row:
    from trnbench.facts.scope import Scope

    scope = system.instance.scope
    return {
        "instance": system.name,
        "generation": system.generation.name,
        "scope": str(scope),
        "devices": system.devices,
        "cores": system.devices * system.cores_per_device,
        "hosts": system.hosts,
        "by_default": system.instance.default,
        "bf16": _cell(system, policy, "peak_flops", scope, "bf16"),
        "fp8": _cell(system, policy, "peak_flops", scope, "mxfp8")
        or _cell(system, policy, "peak_flops", scope, "fp8"),
        "hbm_capacity": _cell(system, policy, "hbm_capacity", scope),
        "hbm_bandwidth": _cell(system, policy, "hbm_bandwidth", scope),
        "neuronlink": _cell(system, policy, "neuronlink_bandwidth", Scope.DEVICE),
        "efa": _cell(system, policy, "efa_bandwidth", scope),
        "aliases": list(system.instance.aliases),
        "title": system.instance.title,
        "policy": str(policy),
    }


def _cell(system: System, policy: PeakPolicy, metric: str, scope: object, dtype: str = "") -> str | None:
    """ "3.36 PFLOPS [D seed-trn1]": the figure, how it came to be, and where it is printed."""
    from trnbench.cli.spec.figures import peak_value
    from trnbench.facts.scope import Scope
    from trnbench.peaks import choose_peak

    choice = choose_peak(system, metric=metric, scope=Scope(scope), dtype=dtype, policy=policy)
    if choice is None:
        return None
    letter = "D" if choice.chosen.evidence == "documented" else "F"
    return f"{peak_value(choice.chosen)} [{letter} {choice.chosen.source}]"
