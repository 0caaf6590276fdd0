"""Pages of help as they were when trnbench was built: they are shown before click is imported.

The build writes them (`trnbench.cli.help_text`), for the two widths that most terminals have. Another width,
and commands of others, are for click. Imports nothing that Python has not loaded.
"""

from __future__ import annotations

import os
import sys

FILE = os.path.join(os.path.dirname(__file__), "help.txt")
PAGE = "\x1e"
"""Begins each page: its width and words follow on one line, then what is printed."""
WIDTHS = (78, 98)
"""Columns of a page on a terminal of 80, and of 100 or more."""
WIDEST = 100
COMMANDS = "[trnbench.commands]"
FLAGS = {"-h": "--help", "--help": "--help", "--help-all": "--help-all"}
COMPLETE = "_TRNBENCH_COMPLETE"
UNLESS = (COMPLETE, "TRNBENCH_NO_HELP_TEXT")
"""Variables with which click is asked."""


def page(words: list[str]) -> str | None:
    """What `trnbench WORDS…` prints, where a text of the build says it."""
    flag = FLAGS.get(words[-1]) if words else None
    if flag is None or any(map(os.environ.get, UNLESS)):
        return None
    try:
        text, (own, others) = _text(), _installed(len(words) == 1)
    except (OSError, ValueError, IndexError):
        return None
    head = f"{PAGE}{width()} {' '.join([*words[:-1], flag])}\n"
    start = text.find(head)
    if start < 0 or not text.startswith(f"{own}\n"):
        return None
    found = text[start + len(head) : text.find(PAGE, start + 1)]
    if others:
        from trnbench.cli.commands import find_commands, section_of_others

        found += section_of_others(find_commands(), width())
    return found


def width() -> int:
    """Columns of a page as click works them out, without the compressors that `shutil` brings along."""
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            columns = 0
    return max(min(columns or 80, WIDEST) - 2, 50)


def _text() -> str:
    """The pages. Raises `OSError` where there are none, or where what they were made of has changed since.

    The first line has the names of commands, the second the sources, where those can be edited.
    """
    with open(FILE, encoding="utf-8") as file:
        text = file.read()
    for source in text.split("\n", 2)[1].split("\t"):
        if source and stamp(source.partition(" ")[2]) != source:
            raise FileNotFoundError(source)
    return text


def stamp(path: str) -> str:
    """A source as it is now: size and time of change, then its path."""
    state = os.stat(path)
    return f"{state.st_size}:{state.st_mtime_ns} {path}"


def _installed(others_too: bool) -> tuple[str, bool]:
    """Names of the commands of trnbench that is installed, and whether others bring commands.

    Raises `NotADirectoryError` where an archive is on `sys.path`: it is not read here.
    """
    own, others = "", False
    for path in sys.path:
        try:
            names = sorted(os.listdir(path or "."))
        except (FileNotFoundError, PermissionError):
            continue
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            if name.startswith(("trnbench-", "trnbench.")):
                own = own or _names(_entry_points(os.path.join(path, name)))
            elif others_too and not others:
                others = b"trnbench.commands" in _entry_points(os.path.join(path, name))
    return own, others


def _entry_points(folder: str) -> bytes:
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _names(content: bytes) -> str:
    """Names of the commands that an entry_points.txt has, in the order of the alphabet."""
    lines = content.decode("utf-8", "replace").partition(COMMANDS)[2].partition("\n[")[0].splitlines()
    return " ".join(sorted(line.partition("=")[0].strip() for line in lines if "=" in line))
