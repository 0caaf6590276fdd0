"""The smallest plugin: one instance, one kernel, one report section, one command."""

from pathlib import Path

import click

import trnbench
from trnbench import Axis, Generation, Instance, Kernel, PrimaryMetric, Scope, Section, Work


@trnbench.hookimpl
def trnbench_generations():
    one = Instance(
        name="smallest.1", title="Smallest", scope=Scope.INSTANCE, device="smallest-device",
        core="smallest-core", topology="trnbench_smallest:topology",
    )  # fmt: skip
    facts = Path(__file__).with_name("facts.toml")
    yield Generation(name="smallest", title="Smallest", order=999, facts=(facts,), instances=(one,))


@trnbench.hookimpl
def trnbench_kernels():
    yield Kernel(
        name="smallest_read", family="smallest", title="Read", about="Reads device memory.",
        axes=(Axis(name="size", values=(2**20, 2**30), unit="B"),), scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"),
        work=lambda point, extent: Work(bytes={"hbm": point["size"] * extent.cores}, formula="size per core"),
        footprint=lambda point, extent: {"hbm": point["size"]}, requires=lambda point: (),
    )  # fmt: skip


@trnbench.hookimpl
def trnbench_reports():
    yield Section(name="smallest", title="The smallest section", order=86, render="trnbench_smallest:render")


def topology(system):
    return trnbench.Topology(
        name=system.name, nodes=(trnbench.Node(0, "d0", trnbench.NodeKind.DEVICE),), links=(), classes={}
    )


def render(runs):
    from markupsafe import Markup

    return Markup("<p>{} runs, by the smallest plugin.</p>").format(len(runs)) if runs else Markup("")


@click.command()
def command():
    """Say hello."""
    click.echo("hello from the smallest plugin")
