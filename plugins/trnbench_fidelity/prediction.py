"""What an adapter answers for one point."""

from __future__ import annotations

import msgspec


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """`value` in the base unit of the point's quantity; `how` says what was emulated, for people.

    `active`: of a profile, seconds in which each engine has an instruction under way.
    """

    value: float
    how: str
    active: dict[str, float] = {}


class NotEmulated(Exception):
    """The model cannot take the point as stated; the message says why.

    `source_missing`: it could, if --kernels brought the public kernel.
    """

    def __init__(self, why: str, *, source_missing: bool = False) -> None:
        super().__init__(why)
        self.why, self.source_missing = why, source_missing
