"""What was worked out, kept by bytes: what was not asked for longest is given back first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

LIMIT = 48 << 20
"""Bytes: so the default run records and schedules nothing twice."""

PARTS = 16
"""What takes more than one of so many parts of the limit is not kept: sweeps rarely ask again."""


class Memo(Generic[Value]):
    """Values by key, of `limit` bytes in all; `size` tells the bytes of each."""

    def __init__(self, size: Callable[[Value], int], limit: int = LIMIT, parts: int = PARTS) -> None:
        self.limit, self.largest, self.bytes = limit, limit // parts, 0
        self._size = size
        self._values: dict[Any, tuple[Value, int]] = {}  # the one asked for last stands last

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Any) -> Value | None:
        """None where it was never kept, or was given back. Raises `TypeError` for a key without a hash."""
        entry = self._values.get(key)
        if entry is None:
            return None
        del self._values[key]
        self._values[key] = entry
        return entry[0]

    def keep(self, key: Any, value: Value) -> Value:
        """The value, which is the last to be given back; one that takes more than its part is not kept."""
        _, before = self._values.pop(key, (None, 0))
        size = self._size(value)
        if size > self.largest:
            self.bytes -= before
            return value
        self._values[key] = value, size
        self.bytes += size - before
        while self.bytes > self.limit:
            _, given_back = self._values.pop(next(iter(self._values)))
            self.bytes -= given_back
        return value
