"""An axis of a kernel: a name and the values it is swept over."""

from __future__ import annotations

import msgspec

from trnbench.results.measurement import Value

MAX_POINTS = 100_000
"""Of one kernel at one scope."""


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """`values` is the default sweep. `unit` is "B", "" or a word shown in headers.

    `kind` is "int", "float" or "str": what a value typed on the command line is read as.
    `wide` is the default sweep above core scope where it is a shorter one: there the whole machine
    repeats the core's curve, and a few points show what sharing costs. Empty: `values` again.
    `choices` are all the words a "str" axis takes; empty: any word. `least` bounds numbers below.
    """

    name: str
    values: tuple[Value, ...]
    kind: str = "int"
    unit: str = ""
    about: str = ""
    wide: tuple[Value, ...] = ()
    choices: tuple[Value, ...] = ()
    least: float = 1
