"""`trnbench spec list`: all systems with their headline figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session, session
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.output import Column, emit, format_option, say
from trnbench.cli.peaks import peak_option, policy_of

if TYPE_CHECKING:
    from trnbench.cli.spec.figures import Row
    from trnbench.facts.peak import Peak, PeakPolicy
    from trnbench.facts.scope import Scope
    from trnbench.generation import System

_COLUMNS: tuple[Column | str, ...] = (
    "instance",
    Column("generation", keep=-1),
    Column("scope", keep=-1),
    Column("devices", align="right", keep=1),
    Column("cores", align="right"),
    Column("bf16", "BF16", keep=2),
    Column("fp8", "FP8 or MXFP8"),
    Column("hbm_capacity", "HBM"),
    Column("hbm_bandwidth", "HBM bandwidth", keep=2),
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
    figures = {
        "bf16": _figure(system, policy, "peak_flops", scope, "bf16"),
        "fp8": _figure(system, policy, "peak_flops", scope, "mxfp8")
        or _figure(system, policy, "peak_flops", scope, "fp8"),
        "hbm_capacity": _figure(system, policy, "hbm_capacity", scope),
        "hbm_bandwidth": _figure(system, policy, "hbm_bandwidth", scope),
        "neuronlink": _figure(system, policy, "neuronlink_bandwidth", Scope.DEVICE),
        "efa": _figure(system, policy, "efa_bandwidth", scope),
    }
    return {
        "instance": system.name,
        "generation": system.generation.name,
        "scope": str(scope),
        "devices": system.devices,
        "cores": system.devices * system.cores_per_device,
        "hosts": system.hosts,
        "by_default": system.instance.default,
        **{name: _cell(peak) for name, peak in figures.items()},
        "aliases": list(system.instance.aliases),
        "title": system.instance.title,
        "policy": str(policy),
        "figures": figures,
    }


def _figure(system: System, policy: PeakPolicy, metric: str, scope: Scope, dtype: str = "") -> Peak | None:
    from trnbench.peaks import choose_peak

    choice = choose_peak(system, metric=metric, scope=scope, dtype=dtype, policy=policy)
    return choice.chosen if choice is not None else None


def _cell(peak: Peak | None) -> str | None:
    """ "3.36 PFLOPS [D seed-trn1]": the figure, how it came to be, and where it is printed."""
    from trnbench.cli.spec.figures import peak_value

    if peak is None:
        return None
    return f"{peak_value(peak)} [{'D' if peak.evidence == 'documented' else 'F'} {peak.source}]"
