"""An axis of a kernel: a name and the values it is swept over."""

from __future__ import annotations

import msgspec

from trnbench.results.measurement import Value


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """`values` is the default sweep. `unit` is "B", "" or a word shown in headers.

    `kind` is "int", "float" or "str": what a value typed on the command line is read as.
    """

    name: str
    values: tuple[Value, ...]
    kind: str = "int"
    unit: str = ""
    about: str = ""
