"""Standard output belongs to data: what others write there goes to standard error; and a terminal's width."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO, cast

STDOUT, STDERR = 1, 2

_data: list[TextIO] = []


def data_apart() -> None:
    """From now on the data go out by a descriptor of their own, `sys.stdout`'s; whatever writes to
    descriptor 1 or to `sys.__stdout__`, processes that are started too, writes to standard error."""
    usual = sys.stdout
    try:
        own = os.dup(usual.fileno())
    except (OSError, ValueError, AttributeError):  # there is no standard output
        return
    sys.stdout = open(  # noqa: SIM115  it stays open for as long as the process lives
        own,
        "w",
        encoding=usual.encoding,
        errors=usual.errors,
        newline="\n",
        buffering=1 if usual.line_buffering else -1,
    )
    _data[:] = [usual]
    _towards(STDERR)


def data_together() -> None:
    """Undoes `data_apart`: for commands of others, whose output is theirs."""
    if _data:
        sys.stdout.flush()
        os.dup2(sys.stdout.fileno(), STDOUT)
        sys.stdout = _data.pop()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is written to standard output inside goes to standard error."""
    with contextlib.redirect_stdout(cast(TextIO, _Aside())):
        if _data:
            yield
            return
        usual = sys.__stdout__
        with contextlib.suppress(OSError, ValueError, AttributeError):
            usual.flush()  # type: ignore[union-attr]
        try:
            own = os.dup(STDOUT)
        except OSError:  # there is no standard output
            yield
            return
        try:
            _towards(STDERR)
            yield
        finally:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                usual.flush()  # type: ignore[union-attr]
            os.dup2(own, STDOUT)
            os.close(own)


def _towards(descriptor: int) -> None:
    try:
        os.dup2(descriptor, STDOUT)
    except OSError:  # there is no standard error either
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        if nowhere != STDOUT:
            os.close(nowhere)


class _Aside:
    """`sys.stderr` as `sys.stdout`: whoever closes this closes nothing."""

    closed = False

    def close(self) -> None:
        """Leaves standard error open."""

    def __getattr__(self, name: str) -> object:
        return getattr(sys.stderr, name)


USUAL = 80
"""Columns of a terminal that does not say how many it has."""


def columns_named() -> int:
    """By COLUMNS; 0 where it names no number of them."""
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 6 else 0


def columns_of(stream: TextIO) -> int | None:
    """Of the terminal that `stream` writes to, COLUMNS before what it says itself; None where it is none."""
    try:
        if not stream.isatty():
            return None
    except (AttributeError, ValueError):
        return None
    try:
        return columns_named() or os.get_terminal_size(stream.fileno()).columns or USUAL
    except (OSError, ValueError, AttributeError):
        return USUAL
