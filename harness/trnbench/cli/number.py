"""Numbers as options take them: click asks, the kind says what is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trnbench.bounded.number import Number


class NumberType(click.ParamType[float]):
    """A number of `kind`: an int of what is counted, else a float."""

    def __init__(self, kind: Number) -> None:
        self.kind, self.counted = kind, kind.whole or kind.floored
        self.name = "integer" if self.counted else "float"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Raises `UsageError` with the option, what it takes, and an example."""
        name = _name(param)
        if isinstance(value, int | float):
            return self.kind.checked(value, name)
        return (self.kind.counted if self.counted else self.kind.real)(str(value), name)


def _name(param: click.Parameter | None) -> str:
    """--jobs of -j, --jobs; the metavar of an argument."""
    if param is None:
        return "the number"
    return (
        max(param.opts, key=len) if isinstance(param, click.Option) else param.make_metavar(_nowhere(param))
    )


def _nowhere(param: click.Parameter) -> click.Context:
    return click.Context(click.Command(param.name or ""))
