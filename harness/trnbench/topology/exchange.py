"""Topologies as JSON, there and back."""

from __future__ import annotations

import msgspec

from trnbench.errors import BadInput
from trnbench.topology.graph import Topology

FORMAT_VERSION = 1
# History: 1 first version.


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: its version, then the topology as it is in memory."""

    format_version: int = FORMAT_VERSION
    topology: Topology


def to_json(topology: Topology) -> bytes:
    """Strict, indented JSON that ends in a newline."""
    data = msgspec.json.encode(Document(topology=topology))
    return msgspec.json.format(data, indent=1) + b"\n"


def from_json(data: bytes) -> Topology:
    """The topology of `to_json`. Raises `BadInput` for anything else."""
    try:
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"this is no exported topology: {error}",
            cause="the file was not written by topology export --as json, or is cut short",
            try_="trnbench topology export trn1.32xlarge --as json -o FILE",
        ) from error
    if document.format_version > FORMAT_VERSION:
        raise BadInput(
            f"a topology of format {document.format_version} cannot be read, this trnbench knows up to"
            f" {FORMAT_VERSION}",
            cause="it was written by a newer trnbench",
            try_="pip install --upgrade trnbench",
        )
    return document.topology
