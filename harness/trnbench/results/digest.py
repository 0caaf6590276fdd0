"""A run's digest: the same content gives the same digits, an edit gives others.

SHA-256 over the fingerprints of the head (the run without the parts below and without its digest), of
each book, topology and input under its name, and of each measurement, in their order. A fingerprint is the
SHA-256 of compact JSON in UTF-8 with every number as a float: 3 and 3.0 are the same figure. Where a copy
has no room for the texts of inputs, their fingerprints stand for them (`shortened`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from trnbench.results.run import Run

PARTS = ("books", "topologies", "inputs")
"""Parts of a run that are the same for many runs, and are kept once."""

_WHOLE = re.compile(rb"[:,[]-?[0-9]++(?=[],}])")

_EXACT = 15
"""What stands before a whole number, its sign and digits: no longer, and a float prints it as it is."""

_STANDS_FOR = "sha256:"
"""Begins what stands in the place of a text."""


def bare(run: Run) -> Run:
    """The run without what is kept apart from it, and without its digest."""
    return replace(run, measurements=(), books={}, topologies={}, inputs={}, digest="")


def shortened(run: Run) -> Run:
    """The run with fingerprints in the place of its inputs' texts; its digest still belongs to it."""
    inputs = {name: text_digest(text) for name, text in run.inputs.items()}
    return replace(run, inputs=inputs)


def text_digest(text: str) -> str:
    """What stands in the place of an input's text; itself where it stands there already."""
    return _STANDS_FOR + mark_of(_compact(text))


def is_shortened(text: str) -> bool:
    """Whether an input is the fingerprint of a text, not the text."""
    return text.startswith(_STANDS_FOR) and len(text) == len(_STANDS_FOR) + 64 and "\n" not in text


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
    with suppress(msgspec.MsgspecError, UnicodeError):  # a text, at a tenth of the cost
        text = msgspec.json.decode(document, type=str)
        return hashlib.sha256(msgspec.json.encode(text)).hexdigest()
    value = json.loads(document, parse_int=float)
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(compact.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint_as_written(document: bytes) -> str:
    """The same, of a document as `trnbench.results.json` writes it, at a tenth of the cost: its whole numbers
    alone, and those outside quotes, read otherwise in what the fingerprint is taken of."""
    if b"\\" in document:  # a quote may be part of a text
        return fingerprint(document)
    pieces = document.split(b'"')
    pieces[::2] = _WHOLE.sub(_as_float, b'"'.join(pieces[::2])).split(b'"')
    return hashlib.sha256(b'"'.join(pieces)).hexdigest()


def _as_float(whole: re.Match[bytes]) -> bytes:
    found = whole[0]
    return found + b".0" if len(found) <= _EXACT else found[:1] + json.dumps(float(found[1:])).encode()


def empty_parts(document: Collection[str]) -> dict[str, Any]:
    """Nothing of each part that a run has: runs of old have fewer."""
    return {kind: {} for kind in PARTS if kind in document}


def content_digest(document: dict[str, Any]) -> str:
    """The digest that belongs to a run as plain JSON values, whatever it says itself."""
    empty = empty_parts(document)
    bare_of = {**document, "measurements": [], "digest": "", **empty}
    attached = [
        (kind, name, mark_of(_compact(value))) for kind in empty for name, value in document[kind].items()
    ]
    cases = [fingerprint(_compact(each)) for each in document.get("measurements", ())]
    return digest_of(json.dumps(bare_of).encode(), attached, cases)


def is_edited(document: dict[str, Any]) -> bool:
    """Whether the run, as plain JSON values, was changed after its digest was made. One without a digest
    (an older or an unfinished run) tells nothing."""
    told = document.get("digest", "")
    return bool(told) and told != content_digest(document)


def mark_of(document: bytes) -> str:
    """What the digest takes of a part: its fingerprint, which may stand in its place already."""
    if document.startswith(f'"{_STANDS_FOR}'.encode()) and is_shortened(text := json.loads(document)):
        return str(text.removeprefix(_STANDS_FOR))
    return fingerprint(document)


def _compact(value: Any) -> bytes:
    return json.dumps(value).encode()
