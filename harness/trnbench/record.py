"""The base of values that stay as they are made."""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True):
    """A struct whose fields never change: two of them are the same where their fields are.

    It is written to JSON and MessagePack, and read back, by its types. `kw_only=True` has fields made by
    their names. A changed copy comes from `msgspec.structs.replace`.
    """
