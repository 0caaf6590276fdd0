"""Writes the project of a new plugin from the files in skeleton/."""

from __future__ import annotations

import keyword
import re
import sys
from importlib import util
from pathlib import Path
from typing import NamedTuple

from trnbench.distribution import entry_points
from trnbench.errors import UsageError
from trnbench.registry import load_registry
from trnbench.registry.hookspecs import COMMAND_GROUP, GROUP

SKELETON = Path(__file__).parent / "skeleton"
# Their suffix keeps tools from taking them for code of trnbench.
SUFFIX = ".txt"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Written(NamedTuple):
    folder: Path
    files: tuple[Path, ...]


def write_project(name: str, folder: Path) -> Written:
    """A whole project called `name` in the new `folder`.

    Raises `UsageError` for a name that makes no package or is taken, and for a folder that exists.
    """
    package = _package(name)
    if folder.exists() or folder.is_symlink():
        raise UsageError(
            f"{folder} exists already",
            cause="a new project is written into a folder of its own, nothing is overwritten",
            try_=f"trnbench plugin new {name} --dir {folder}-2",
        )
    words = {
        "@NAME@": name,
        "@PACKAGE@": package,
        "@TITLE@": " ".join(folder_name.capitalize() for folder_name in name.split("-")),
    }
    files = []
    for source in sorted(SKELETON.rglob(f"*{SUFFIX}")):
        relative = source.relative_to(SKELETON)
        parts = [package if folder_name == "package" else folder_name for folder_name in relative.parts]
        target = folder.joinpath(*parts).with_suffix("")
        text = source.read_text(encoding="utf-8")
        for mark, word in words.items():
            text = text.replace(mark, word)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        files.append(target)
    return Written(folder, tuple(files))


def _package(name: str) -> str:
    """The import name, if this name can be one."""
    if not _NAME.fullmatch(name):
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).lstrip("-0123456789").rstrip("-") or "my-plugin"
        raise UsageError(
            f"{name!r} is no name for a plugin",
            cause="a name is lower-case words of letters and digits, joined by '-', starting with a letter",
            try_=f"trnbench plugin new {near}",
        )
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or keyword.issoftkeyword(package) or package in sys.stdlib_module_names:
        raise UsageError(
            f"{name!r} is no name for a plugin",
            cause=f"{package!r} is a word of Python's own",
            try_=f"trnbench plugin new trnbench-{name}",
        )
    owner = f"a package {package!r}" if util.find_spec(package) is not None else _owner(name)
    if owner:
        raise UsageError(
            f"{name!r} is taken",
            cause=f"{owner} is installed here",
            try_=f"trnbench plugin new my-{name}",
        )
    return package


def _owner(name: str) -> str:
    """What is called so already of what the project brings under its name; "" where nothing is."""
    registry = load_registry()
    brought = (*registry.brought("trnbench_generations"), *registry.brought("trnbench_reports"))
    words = [each.words for each in entry_points((GROUP, COMMAND_GROUP)) if each.name == name]
    words += [
        f"{each.kind} {name!r} of {each.origin.source}"
        for each in brought
        if each.name == name and each.kind in ("generation", "section")
    ]
    return next(iter(words), "")
