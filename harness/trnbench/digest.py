"""Digests that name what was read or worked out, so that it is found again; what is shown has SHA-256."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

try:  # where hashlib takes it from, after it has loaded all of OpenSSL: half a start of Python
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["DIGITS", "blake2b", "digest_of", "feed", "short_digest"]

DIGITS = 16
"""Hexadecimal digits of a digest that is shipped: against a mistake, not against an adversary."""
_BYTES = 32


class Hash(Protocol):
    """A digest under way, of hashlib."""

    def update(self, data: bytes, /) -> None: ...


def digest_of(*parts: bytes | str) -> bytes:
    """A key: BLAKE2b over the parts, each with its length."""
    digest = blake2b(digest_size=_BYTES)
    feed(digest, parts)
    return digest.digest()


def short_digest(*parts: bytes | str) -> str:
    """The key of shipped answers, in hexadecimal digits."""
    return digest_of(*parts).hex()[:DIGITS]


def feed(digest: Hash, parts: Iterable[bytes | str]) -> None:
    """Adds the parts to `digest`, each with its length before it."""
    for part in parts:
        content = part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
