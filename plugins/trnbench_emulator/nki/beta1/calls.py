"""What operators and methods of tiles call. It is made of tiles itself, and tells here what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Calls:
    """`apply`, `broadcast_to` and `copy` of Beta 1's language."""

    __slots__ = ("apply", "broadcast_to", "copy")

    apply: Callable[..., Any]
    broadcast_to: Callable[..., Any]
    copy: Callable[..., Any]


CALLS = Calls()
