"""Several options that commands share, given in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def bundle(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """A decorator that gives a command `options`, in this order, as one decorator each would."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
