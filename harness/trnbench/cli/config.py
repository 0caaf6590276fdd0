"""`trnbench config`: the settings in effect and the file, variable or default behind each."""

from __future__ import annotations

import click

from trnbench.cli import settings as known
from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, format_option, plain_format_option, say


@click.group()
def config() -> None:
    """Show settings and where each one comes from."""


@config.command()
@click.option("--preset", default="", metavar="NAME", help="As it is with this preset.")
@format_option
@session
def show(shared: Session, /, *, preset: str, format: str) -> None:
    """Every setting: its value, where it comes from, what it is for."""
    settings = known.load_settings(preset)
    for name, near in known.unknown_variables(shared.registry).items():
        say(f"warning: nothing reads the variable {name}" + (f"; did you mean {near}?" if near else ""))
    rows: list[dict[str, object]] = []
    for key, setting in known.SETTINGS.items():
        value, origin = settings.values[key]
        if key == "store" and value is None:
            from trnbench.store.path import default_path

            value = default_path()
        rows.append({"setting": key, "value": value, "origin": origin, "about": setting.about})
    emit(rows, ["setting", Column("value", show=_shown), "origin", Column("about", "what for")], format)
    if settings.presets and format == "table":
        presets = (f"{name} ({path})" for name, path in sorted(settings.presets.items()))
        say(f"presets: {', '.join(presets)}")


@config.command()
@plain_format_option
def path(*, format: str) -> None:
    """The files that settings are read from, the later over the earlier."""
    rows = [
        {"file": str(file), "exists": file.is_file(), "for": what}
        for file, what in ((known.user_file(), "you"), (known.project_file(), "this folder"))
    ]
    emit(rows, ["file", "exists", "for"], format)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "–"
    return str(value) or "–"
