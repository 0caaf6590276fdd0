"""What takes input, and how it is given one: a parser is called, a command carried out in this process.

Each has examples that are taken, which `words.mutated` makes strange, and the exit codes it may end with.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from trnbench.errors import TrnbenchError
from trnbench.terminal.cell import clean

USUAL = frozenset({0, 1, 2, 5})
"""Exit codes that an input may lead to: nothing crashed, nothing took too long."""


class Told(NamedTuple):
    """What became of an input: an exit code and what was said of it."""

    code: int
    text: str


class Surface(NamedTuple):
    """`take` gives the text to what reads it. `words` is what a person would type, with {} for the text, or
    with the text in `file`; empty for a parser."""

    name: str
    take: Callable[[str], Told]
    examples: tuple[str, ...]
    words: tuple[str, ...] = ()
    file: str = ""
    codes: frozenset[int] = USUAL


def parser(
    reference: str, *examples: str, as_bytes: bool = False, many: bool = False, tool: bool = False
) -> Surface:
    """A function of a text (bytes, a list of one text), or of what a `tool` prints: its failure is code 3."""

    def take(text: str) -> Told:
        module, _, name = reference.partition(":")
        given: Any = text.encode("utf-8", "surrogateescape") if as_bytes else [text] if many else text
        return _told(partial(getattr(import_module(module), name), given))

    codes = USUAL | {3} if tool else USUAL
    return Surface(reference.removeprefix("trnbench."), take, examples, codes=codes)


def called(name: str, call: Callable[[str], object], *examples: str) -> Surface:
    return Surface(name, lambda text: _told(partial(call, text)), examples)


def _told(call: Callable[[], object]) -> Told:
    try:
        call()
    except TrnbenchError as error:
        return Told(int(error.exit_code), clean(f"error: {error}\n", keep="\n\t"))
    except click.ClickException as error:
        return Told(2, clean(f"error: {error.format_message()}\n", keep="\n\t"))
    return Told(0, "")


def option(line: str, *examples: str, codes: frozenset[int] = USUAL) -> Surface:
    """A command with {} in one of its words."""
    words = tuple(line.split())
    return Surface(line, partial(_commanded, words, ""), examples, words, codes=codes)


def reading(line: str, file: str, *examples: str, codes: frozenset[int] = USUAL) -> Surface:
    """A command that reads `file`."""
    words = tuple(line.split())
    return Surface(f"{line} ({file})", partial(_commanded, words, file), examples, words, file, codes)


def _commanded(words: tuple[str, ...], file: str, text: str) -> Told:
    from trnbench.cli.main import cli
    from trnbench.terminal.context import Session

    if file:
        Path(file).write_bytes(text.encode("utf-8", "surrogateescape"))
    text = text.replace("\0", "")  # the system takes none in an argument
    shared = Session()
    shared.registry = registry()
    arguments = [each.replace("{}", text) for each in words]
    with _captured() as said:
        try:
            cli.main(args=arguments, prog_name="trnbench", obj=shared)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            if file:
                Path(file).unlink(missing_ok=True)
    return Told(code, said.getvalue())


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    """What goes to stderr; stdout goes nowhere."""
    out, err = sys.stdout, sys.stderr
    said = io.StringIO()
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    sys.stderr = said
    try:
        yield said
    finally:
        sys.stdout, sys.stderr = out, err


@cache
def registry() -> Any:
    """The installed plugins, loaded once."""
    from trnbench.registry import load_registry

    return load_registry()
