"""Each setting: its kind, its default, what it takes, and the error for what it does not take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from trnbench.bounded import kinds
from trnbench.bounded.number import Number
from trnbench.cli.formats import FORMATS
from trnbench.errors import BadInput
from trnbench.quoting import cut

PREFIX = "TRNBENCH_"


class Setting(NamedTuple):
    """`kind` is "word", "number", "path", "words" or "paths"."""

    key: str
    kind: str
    default: Any
    about: str
    choices: tuple[str, ...] = ()
    number: Number = kinds.SEED  # of which kind, where it is one


SETTINGS = {
    each.key: each
    for each in (
        Setting(
            "policy",
            "word",
            "seed",
            "Which documents percentages are taken of.",
            ("seed", "device", "engine", "latest"),
        ),
        Setting("backend", "word", "", "What carries the cases out; empty: the emulator."),
        Setting("jobs", "number", 0, "Processes at once; 0: as many as pay off.", number=kinds.JOBS),
        Setting("seed", "number", 0, "Seed of generated data.", number=kinds.SEED),
        Setting("store", "path", None, "The database of results."),
        Setting("format", "word", "table", "How results are printed.", FORMATS),
        Setting("facts", "paths", (), "Further fact files."),
        Setting("no_plugin", "words", (), "Plugins and distributions to leave out."),
        Setting("timeout_s", "number", 0.0, "Seconds a case may take; 0: no limit.", number=kinds.TIME_LIMIT),
        Setting("maxfail", "number", 0, "Stop after so many failures; 0: never.", number=kinds.MOST_FAILED),
        Setting("kernels", "words", (), "Kernels to run, names or globs; empty: all."),
        Setting("keyword", "word", "", "Only cases whose name matches, as with -k."),
        Setting("tags", "words", (), "Only kernels with one of these tags."),
        Setting("families", "words", (), "Only kernels of these families."),
        Setting("instances", "words", (), "Instances to run; empty: the default ones."),
        Setting("generations", "words", (), "Only instances of these generations."),
        Setting("dtypes", "words", (), "Only cases of these data types."),
        Setting("scopes", "words", (), "Only cases of these scopes."),
        Setting("axes", "words", (), "Axis values, as with -a: size[pow2]=10:30:2."),
        Setting("zips", "words", (), "Axes that step together, as with --zip."),
        Setting("excludes", "words", (), "Cases to leave out, as with --exclude."),
    )
}

SELECTION = (
    "kernels",
    "keyword",
    "tags",
    "families",
    "instances",
    "generations",
    "dtypes",
    "scopes",
    "axes",
    "zips",
    "excludes",
)


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
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not setting.number.fits(value):
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
