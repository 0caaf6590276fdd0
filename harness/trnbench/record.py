"""The base of values that stay as they are made, and values by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, dataclass_transform

import msgspec

T = TypeVar("T")
K = TypeVar("K")


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True):
    """A struct whose fields never change: two of them are the same where their fields are.

    It is written to JSON and MessagePack, and read back, by its types. `kw_only=True` has fields made by
    their names. A changed copy comes from `msgspec.structs.replace`.
    """


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items by their `key`; groups as they came up, and so are those in each."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
