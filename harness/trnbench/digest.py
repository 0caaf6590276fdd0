"""Digests that what was read or worked out is found again by. What is shown has
SHA-256.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

try:  # where hashlib takes it from, after it has loaded all of OpenSSL: half a start of Python
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["DIGITS", "blake2b", "digest_of", "short_digest", "tell"]

DIGITS = 16
"""Hexadecimal digits of a digest that is shipped: against a mistake, not against an adversary."""
_BYTES = 32


class Telling(Protocol):
    """A digest that is told more and more."""

    def update(self, data: bytes, /) -> None: ...


def digest_of(*parts: bytes | str) -> bytes:
    """A key: BLAKE2b over the parts, each with its length."""
    told = blake2b(digest_size=_BYTES)
    tell(told, parts)
    return told.digest()


def short_digest(*parts: bytes | str) -> str:
    """As answers that are shipped say what they follow from."""
    return digest_of(*parts).hex()[:DIGITS]


def tell(told: Telling, parts: Iterable[bytes | str]) -> None:
    """`told` is told the parts, each with its length."""
    for part in parts:
        content = part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part
        told.update(len(content).to_bytes(8, "little"))
        told.update(content)
