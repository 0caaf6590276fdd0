"""What is asked about: a kernel or an instance, and how the answer is printed."""

from __future__ import annotations

import click

from trnbench.cli.context import Session, session
from trnbench.cli.names import complete_subjects
from trnbench.cli.output import format_option
from trnbench.cli.peaks import peak_option, policy_of
from trnbench.cli.sections import emit_sections


@click.command("info")
@click.argument("name", metavar="KERNEL|INSTANCE", shell_complete=complete_subjects)
@peak_option
@format_option
@session
def info(state: Session, name: str, policy: str, format: str) -> None:
    """Show all there is to know about one kernel (axes, formulas, peaks, implementations, what would
    be skipped) or one instance (what it is made of, its figures with sources, what it cannot do)."""
    from trnbench.cli.info.instance import about_instance
    from trnbench.cli.info.kernel import about_kernel

    registry = state.registry
    if name in registry.kernels:
        title, sections = about_kernel(registry, registry.kernels[name], policy_of(state, policy))
    elif name.partition(":")[0] in registry.instance_names(aliases=True):
        title, sections = about_instance(registry, name)
    else:
        from trnbench.errors import UnknownName

        known = [*registry.kernels, *registry.instance_names(aliases=True)]
        raise UnknownName(
            "kernel or instance", name, known, try_="trnbench list kernels, trnbench list instances"
        )
    emit_sections({"name": name, "title": title}, title, sections, format)
