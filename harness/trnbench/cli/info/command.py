"""What is asked about: a kernel or an instance, and how the answer is printed."""

from __future__ import annotations

import click

from trnbench.cli.context import Session, session
from trnbench.cli.info.section import Section
from trnbench.cli.names import complete_subjects
from trnbench.cli.output import emit, emit_json, format_option, paragraph, write
from trnbench.cli.peaks import peak_option, policy_of


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
    _show(name, title, sections, format)


def _show(name: str, title: str, sections: list[Section], format: str) -> None:
    if format == "json":
        emit_json({"name": name, "title": title} | {key: rows for key, _, rows in sections})
        return
    if format == "csv":
        rows = [
            {"section": key, "row": index, "key": column, "value": value}
            for key, _, rows in sections
            for index, row in enumerate(rows)
            for column, value in row.items()
        ]
        emit(rows, ("section", "row", "key", "value"), "csv")
        return
    if format == "md":
        write(f"# {title}\n\n")
    else:
        paragraph(f"{title}\n")
    for key, columns, rows in sections:
        if rows:
            emit(rows, columns, format, title=key.capitalize())
            write("\n")
