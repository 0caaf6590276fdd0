"""A run's digest: the same content gives the same digits, an edit gives others.

SHA-256 over the fingerprints of the head (the run without the parts below and without its digest), of
each book and topology under its name, and of each measurement, in their order. A fingerprint is the
SHA-256 of compact JSON in UTF-8 with every number as a float: 3 and 3.0 are the same figure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from trnbench.results.json import dumps_value
from trnbench.results.run import Run

PARTS = ("books", "topologies")
"""Parts of a run that are the same for many runs, and are kept once."""


def bare(run: Run) -> Run:
    """The run without what is kept apart from it, and without its digest."""
    return msgspec.structs.replace(run, measurements=(), books={}, topologies={}, digest="")


def sealed(run: Run, attached: Iterable[tuple[str, str, str]], cases: Iterable[str]) -> Run:
    """The run with its digest; arguments as for `digest_of`. Raises `BadInput` like `dumps`."""
    digest = digest_of(dumps_value(bare(run), f"run {run.id}"), attached, cases)
    return msgspec.structs.replace(run, digest=digest)


def digest_of(head: bytes, attached: Iterable[tuple[str, str, str]], cases: Iterable[str]) -> str:
    """The digest from its parts: the head's JSON, (kind, name, fingerprint) of what is attached, in their
    order, and the fingerprint of each measurement."""
    whole = hashlib.sha256(fingerprint(head).encode())
    for part in attached:
        whole.update("\0".join((*part, "")).encode())
    for case in cases:
        whole.update(case.encode())
    return whole.hexdigest()


def fingerprint(document: bytes) -> str:
    """Of one JSON document, in hexadecimal digits."""
    value = json.loads(document, parse_int=float)
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(compact.encode("utf-8", "surrogatepass")).hexdigest()


def content_digest(document: dict[str, Any]) -> str:
    """The digest that belongs to a run as plain JSON values, whatever it says itself."""
    bare_of = {**document, "measurements": [], "digest": "", **{kind: {} for kind in PARTS}}
    attached = [
        (kind, name, _fingerprint(value)) for kind in PARTS for name, value in document.get(kind, {}).items()
    ]
    cases = [_fingerprint(each) for each in document.get("measurements", ())]
    return digest_of(json.dumps(bare_of).encode(), attached, cases)


def is_edited(document: dict[str, Any]) -> bool:
    """Whether the run, as plain JSON values, was changed after its digest was made. One without a digest
    (an older or an unfinished run) tells nothing."""
    told = document.get("digest", "")
    return bool(told) and told != content_digest(document)


def _fingerprint(value: Any) -> str:
    return fingerprint(json.dumps(value).encode())
