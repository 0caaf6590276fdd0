"""Makes the pages of help that `trnbench.cli.help_page` shows: each is what the command itself prints.

    python -m trnbench.cli.help_text FILE [--editable]

The build of the package calls it. With --editable the text names the sources that it is made of, and holds
until one of them changes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import click

from trnbench.cli.commands import TEXT
from trnbench.cli.help_page import FLAGS, PAGE, UNLESS, WIDTHS, stamp
from trnbench.cli.main import cli
from trnbench.distribution import NO_EXTERNAL


def text(editable: bool = False) -> str:
    """The pages of all commands of trnbench, for each of `WIDTHS`, below what they hold for."""
    for name in UNLESS:
        os.environ.pop(name, None)
    os.environ[NO_EXTERNAL] = "1"
    pages = [
        f"{PAGE}{width} {' '.join([*words, flag])}\n{lines}"
        for width in WIDTHS
        for words in commands(cli)
        for flag in dict.fromkeys(FLAGS.values())
        if (lines := printed(width, *words, flag))
    ]
    names = " ".join(sorted(cli.list_commands(click.Context(cli))))
    sources = "\t".join(map(stamp, _sources())) if editable else ""
    return "\n".join([names, sources, "".join(pages)]) + PAGE


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of a group, and of all commands below it."""
    yield words
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


def printed(width: int, *words: str) -> str:
    """What `trnbench WORDS…` prints on a terminal of `width` and two columns; "" where it is refused."""
    os.environ["COLUMNS"] = str(width + 2)
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        try:
            cli.main(words)
        except SystemExit as end:
            return "" if end.code else out.getvalue()
    return ""


def _sources() -> list[str]:
    """Files of trnbench that the pages are made of."""
    files = {
        module.__file__
        for name, module in sys.modules.items()
        if name.partition(".")[0].startswith("trnbench") and getattr(module, "__file__", None)
    }
    texts = {str(Path(file).with_name(TEXT)) for file in files if file}
    return sorted({*filter(None, files), *filter(os.path.isfile, texts)})


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text("--editable" in sys.argv[2:]), encoding="utf-8")
