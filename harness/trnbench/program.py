"""The installed command: a page of help is printed at once, anything else is carried out under guard."""

from __future__ import annotations

import os
import sys

from trnbench.cli.help_page import page
from trnbench.version import line

INTERRUPTED = 130


def main() -> None:
    """The `trnbench` command. It ends the process."""
    try:
        _fill_closed_streams()
        _answer(sys.argv[1:])
        from trnbench.isolation.guard import guarded
    except KeyboardInterrupt:  # before there was anybody to say so
        os.write(2, b"\ninterrupted\n")
        os._exit(INTERRUPTED)
    guarded(_command)


def _answer(words: list[str]) -> None:
    """Prints what is known without click, and ends the process.

    Returns where nothing is known, or where it cannot be printed: click says so.
    """
    answer = f"{line()}\n" if words == ["--version"] else page(words)
    if answer is None:
        return
    try:
        sys.stdout.write(answer)
        sys.stdout.flush()
    except (OSError, ValueError):
        return
    os._exit(0)


def _fill_closed_streams() -> None:
    """Takes the descriptors 0 to 2 that the caller closed (`>&-`), so that no file of ours becomes one.

    What is written to such a stdout fails with EBADF, as it would without this.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest that is free
            if number == 1:
                sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  for the whole process


def _command() -> None:
    from trnbench.cli.main import cli

    cli.main()
