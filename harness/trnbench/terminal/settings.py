"""Settings and where each one comes from: environment, preset, two files, default.

An option on the command line goes over all of them; then, each over the next: the environment
(TRNBENCH_JOBS=4), the preset asked for (--preset NAME, TRNBENCH_PRESET), ./trnbench.toml,
$XDG_CONFIG_HOME/trnbench/config.toml, the default. The commands read them here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trnbench.bounded import kinds
from trnbench.bounded.kinds import Number, is_number
from trnbench.errors import BadInput, MissingFile, UnknownName, cut
from trnbench.terminal.cell import FORMATS

if TYPE_CHECKING:
    from trnbench.registry import Registry


PREFIX = "TRNBENCH_"


class Setting(NamedTuple):
    """`kind` is "word", "number", "path", "words" or "paths"."""

    key: str
    about: str
    kind: str = "words"
    default: Any = ()
    choices: tuple[str, ...] = ()
    number: Number = kinds.SEED  # of which kind, where it is one


_OF_A_RUN = (
    Setting(
        "policy",
        "Which documents percentages are taken of.",
        "word",
        "seed",
        ("seed", "device", "engine", "latest"),
    ),
    Setting("backend", "What carries the cases out; empty: the emulator.", "word", ""),
    Setting("jobs", "Processes at once; 0: as many as pay off.", "number", 0, number=kinds.JOBS),
    Setting("seed", "Seed of generated data.", "number", 0, number=kinds.SEED),
    Setting("store", "The database of results.", "path", None),
    Setting("format", "How results are printed.", "word", "table", FORMATS),
    Setting("facts", "Further fact files.", "paths"),
    Setting("no_plugin", "Plugins and distributions to leave out."),
    Setting("trusted", "Plugins and distributions of others to load here; all: every."),
    Setting("timeout_s", "Seconds a case may take; 0: no limit.", "number", 0.0, number=kinds.TIME_LIMIT),
    Setting("maxfail", "Stop after so many failures; 0: never.", "number", 0, number=kinds.MOST_FAILED),
)
_OF_A_SELECTION = (
    Setting("kernels", "Kernels to run, names or globs; empty: all."),
    Setting("keyword", "Only cases whose name matches, as with -k.", "word", ""),
    Setting("tags", "Only kernels with one of these tags."),
    Setting("families", "Only kernels of these families."),
    Setting("instances", "Instances to run; empty: the default ones."),
    Setting("generations", "Only instances of these generations."),
    Setting("dtypes", "Only cases of these data types."),
    Setting("scopes", "Only cases of these scopes."),
    Setting("divisions", "Only sharded or replicated cases."),
    Setting("axes", "Axis values, as with -a: size[pow2]=10:30:2."),
    Setting("zips", "Axes that step together, as with --zip."),
    Setting("excludes", "Cases to leave out, as with --exclude."),
)
SETTINGS = {each.key: each for each in (*_OF_A_RUN, *_OF_A_SELECTION)}
SELECTION = tuple(each.key for each in _OF_A_SELECTION)
"""Keys that choose cases: fields of `trnbench.run.selection.Selection`."""


def typed(key: str, value: Any, where: str, folder: Path) -> Any:
    """`value` as the setting's kind; paths are relative to `folder`. Raises `BadInput`."""
    setting = SETTINGS[key]
    one = setting.kind.removesuffix("s")
    if setting.kind in ("words", "paths"):
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise _refuse(setting, value, where)
        return tuple(folder / os.path.expanduser(each) if one == "path" else each for each in listed)
    if setting.kind == "number":
        if not is_number(value) or not setting.number.fits(value):
            raise _refuse(setting, value, where)
        return type(setting.default)(value)
    if not isinstance(value, str) or (setting.choices and value not in setting.choices):
        raise _refuse(setting, value, where)
    return folder / os.path.expanduser(value) if one == "path" else value


def from_text(setting: Setting, text: str, name: str) -> Any:
    """The value of environment variable `name`: lists by commas, paths as in PATH. Raises `BadInput`."""
    value: Any = text
    if setting.kind == "words":
        value = [each.strip() for each in text.split(",") if each.strip()]
    elif setting.kind == "paths":
        value = [each for each in text.split(os.pathsep) if each]
    elif setting.kind == "number":
        exact = setting.number.parsed(text)
        if exact is None:
            raise _refuse(setting, text, name)
        value = float(exact) if exact.denominator != 1 else int(exact)
    return typed(setting.key, value, name, Path.cwd())


_WANTED: dict[str, Callable[[Setting], str]] = {
    "word": lambda s: f"one of {', '.join(s.choices)}" if s.choices else "a word in quotes",
    "number": lambda s: f"{'a whole number' if s.number.whole else 'a number'}, {s.number.range}",
    "path": lambda _: "a path in quotes",
    "words": lambda _: 'a list of words: ["a", "b"]',
    "paths": lambda _: 'a list of paths: ["a.toml"]',
}


def _refuse(setting: Setting, value: Any, where: str) -> BadInput:
    example = setting.choices[0] if setting.choices else setting.default
    shown = f'"{example}"' if isinstance(example, str) else list(example) if example == () else example
    environment = where.startswith(PREFIX)
    return BadInput(
        f"{cut(repr(value))} is no value of {setting.key!r} ({where})",
        cause=f"it takes {_WANTED[setting.kind](setting)}",
        try_=f"unset {where}" if environment else f"{setting.key} = {shown}",
    )


PRESET = "TRNBENCH_PRESET"
# Variables that are no settings: they say how to load, not what to run.
SWITCHES = (
    "TRNBENCH_DEBUG",
    "TRNBENCH_NO_EXTERNAL_PLUGINS",
    "TRNBENCH_PLUGIN_TRACE",
    "TRNBENCH_RENDEZVOUS",
    "TRNBENCH_RENDEZVOUS_KEY",
    PRESET,
)


class Origin(NamedTuple):
    """A setting's value, and who set it."""

    value: Any
    origin: str  # "default", "TRNBENCH_JOBS", a file, "preset quick in FILE"


class Settings:
    """The effective settings. `values` has every key with its origin."""

    policy: str
    backend: str
    jobs: int
    seed: int
    format: str
    store: Path | None  # None for the default place, $XDG_DATA_HOME/trnbench/results.db
    facts: tuple[Path, ...]
    no_plugin: tuple[str, ...]
    trusted: tuple[str, ...]

    def __init__(self, values: Mapping[str, Origin], presets: Mapping[str, Path]) -> None:
        self.values = dict(values)
        self.presets = dict(presets)  # name → the file that has it
        vars(self).update((key, setting.value) for key, setting in values.items())

    def __getitem__(self, key: str) -> Any:
        return self.values[key].value

    @property
    def selection(self) -> dict[str, Any]:
        """The fields of `trnbench.run.selection.Selection`, as configured."""
        return {key: self[key] for key in SELECTION}


def user_file() -> Path:
    """$XDG_CONFIG_HOME/trnbench/config.toml."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(base) / "trnbench" / "config.toml"


def project_file() -> Path:
    """./trnbench.toml."""
    return Path.cwd() / "trnbench.toml"


def load_settings(preset: str = "") -> Settings:
    """Read files and environment. Raises `BadInput` naming file, key and what to write instead."""
    values = {key: Origin(setting.default, "default") for key, setting in SETTINGS.items()}
    presets: dict[str, Path] = {}
    tables: dict[str, list[tuple[Path, Mapping[str, Any]]]] = {}
    for path in (user_file(), project_file()):
        table = _read(path)
        for name, entries in _presets(table, path).items():
            presets[name] = path
            tables.setdefault(name, []).append((path, entries))
        for key, value in table.items():
            if key != "preset":
                known = _known(key, path)
                values[known] = Origin(typed(known, value, str(path), path.parent), str(path))
    preset = preset or os.environ.get(PRESET, "")
    if preset:
        if preset not in tables:
            import json

            bare = preset.isascii() and preset.replace("-", "").replace("_", "").isalnum()
            key = preset if bare else json.dumps(preset)  # which is a string of TOML, too
            raise UnknownName("preset", preset, tables, try_=f"write [preset.{key}] in {project_file()}")
        for path, entries in tables[preset]:
            for key, value in entries.items():
                origin = f"preset {preset} in {path}"
                values[key] = Origin(typed(key, value, origin, path.parent), origin)
    for key in SETTINGS:
        name = PREFIX + key.upper()
        if text := os.environ.get(name, ""):
            values[key] = Origin(from_text(SETTINGS[key], text, name), name)
    return Settings(values, presets)


def unknown_variables(registry: Registry) -> dict[str, str]:
    """TRNBENCH_* variables that nothing reads, each with the nearest name that something does."""
    from difflib import get_close_matches

    from trnbench.backend import Configurable

    ours = [each for each in registry.backends.values() if isinstance(each, Configurable)]
    variables = [name for setting in ours for name in setting.variables]
    known = [*SWITCHES, *variables, *(PREFIX + key.upper() for key in SETTINGS)]
    return {
        name: next(iter(get_close_matches(name, known, n=1)), "")
        for name in sorted(os.environ)
        if name.startswith(PREFIX) and name not in known
    }


def _read(path: Path) -> dict[str, Any]:
    from trnbench.bounded import read_toml

    try:
        return read_toml(path)
    except MissingFile:
        return {}


def _presets(table: Mapping[str, Any], path: Path) -> dict[str, Mapping[str, Any]]:
    presets = table.get("preset", {})
    if not isinstance(presets, dict) or not all(isinstance(preset, dict) for preset in presets.values()):
        raise BadInput(
            f"'preset' in {path} holds no presets",
            cause="a preset is a table of settings under a name",
            try_='[preset.quick] on one line, then kernels = ["gemm"]',
        )
    for name, entries in presets.items():
        for key in entries:
            _known(key, path, f" of preset {name!r}")
    return presets


def _known(key: str, path: Path, where: str = "") -> str:
    if key not in SETTINGS:
        near = UnknownName("setting", key, SETTINGS if where else (*SETTINGS, "preset"))
        raise BadInput(
            f"unknown setting {key!r}{where} in {path}",
            cause=near.cause,
            try_=f"remove it from {path}, then: trnbench config show   lists all settings",
        )
    return key
