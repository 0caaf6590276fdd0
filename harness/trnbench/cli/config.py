"""`trnbench config`: the settings in effect, and the file, variable or default behind each."""

from __future__ import annotations

from trnbench.store.path import default_path
from trnbench.terminal.cell import Column
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, say
from trnbench.terminal.settings import SETTINGS, load_settings, project_file, unknown_variables, user_file


def show(shared: Session, /, *, preset: str, files: bool, format: str) -> None:
    """Every setting: its value, where it comes from, what it is for; or the files they are read from."""
    if files:
        _files(format)
        return
    settings = load_settings(preset)
    for name, near in unknown_variables(shared.registry).items():
        say(f"warning: nothing reads the variable {name}" + (f"; did you mean {near}?" if near else ""))
    rows: list[dict[str, object]] = []
    for key, setting in SETTINGS.items():
        value, origin = settings.values[key]
        if key == "store" and value is None:
            value = default_path()
        rows.append({"setting": key, "value": value, "origin": origin, "about": setting.about})
    emit(rows, ["setting", Column("value", show=_shown), "origin", Column("about", "what for")], format)
    if settings.presets and format == "table":
        presets = (f"{name} ({path})" for name, path in sorted(settings.presets.items()))
        say(f"presets: {', '.join(presets)}")


def _files(format: str) -> None:
    """The files that settings are read from, the later over the earlier."""
    rows = [
        {"file": str(file), "exists": file.is_file(), "for": what}
        for file, what in ((user_file(), "you"), (project_file(), "this folder"))
    ]
    emit(rows, ["file", "exists", "for"], format)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "–"
    return str(value) or "–"
