"""Finding: one thing that a device would punish, and the rules with the documents that they follow from."""

from __future__ import annotations

from trnbench.record import Record


class Rule(Record, kw_only=True):
    """`about`: one plain sentence. `source`: document and version. `error`: does it end `check` with 1?"""

    about: str
    source: str
    error: bool


RULES = {
    "uninitialised": Rule(
        about="an output depends on bytes that nobody wrote",
        source="nki.language.ndarray (SDK 2.33): a new tensor; its contents are not said",
        error=True,
    ),
    "uninitialised-read": Rule(
        about="an instruction reads bytes that nobody wrote; no output depends on them",
        source="not specified: nki.language.ndarray (SDK 2.33) says nothing of contents",
        error=False,
    ),
    "unwritten-output": Rule(
        about="bytes of an output were never written",
        source="nki.language.ndarray (SDK 2.33): a new tensor; its contents are not said",
        error=True,
    ),
    "race": Rule(
        about="two programs use bytes of device memory, one of them writes, and they do not meet in between",
        source="nki.isa.core_barrier (SDK 2.33): cores write disjoint portions, and meet before they read",
        error=True,
    ),
    "bank-crossing": Rule(
        about="a product is written over the end of a PSUM bank",
        source="nki.language.tile_size.psum_bank_fmax (SDK 2.33): the most elements of a bank",
        error=True,
    ),
    "accumulation-start": Rule(
        about="before NeuronCore-v4 a product adds to what an engine left in PSUM that computes no products",
        source="nki.isa.nc_matmul (aws-neuron-sdk 81ce03ae): undefined on v2 and v3",
        error=True,
    ),
    "overlapping-groups": Rule(
        about="products add to part of what other products left, and overwrite or miss the rest",
        source="not specified: nki.isa.nc_matmul (SDK 2.33) accumulates into one and the same tile",
        error=False,
    ),
    "overlapping-tiles": Rule(
        about="a tile is read after another tile, placed over it by hand, was written",
        source="nki.language.ndarray (SDK 2.33): address= is where a tile is",
        error=True,
    ),
    "outside-domain": Rule(
        about="Scalar looks up a function of values that its table is not made for",
        source="not specified: nki.api.shared.rst (aws-neuron-sdk 81ce03ae) says invalid results, not which",
        error=False,
    ),
    "unset-accumulator": Rule(
        about="an instruction adds to the sums that an engine holds, and no instruction has reset them",
        source="not specified: nki.isa.activation (aws-neuron-sdk 81ce03ae) reduces over existing values",
        error=False,
    ),
    "carried-value": Rule(
        about="a round of affine_range reads what an earlier round wrote",
        source="nki.language.sequential_range (Beta 1): unsafe; not specified from NKI 0.3 to 0.6",
        error=False,
    ),
    "overlapping-copy": Rule(
        about="source and target of one instruction overlap, shifted against each other",
        source="not specified: nki.isa.tensor_copy, nki.isa.dma_copy (SDK 2.33) say no order of elements",
        error=False,
    ),
}


class Finding(Record, kw_only=True):
    """`what` names call, tile and bytes; `place` is the user's line, `file.py:31`; `bytes` how many it is
    about, of the first time; `times`: how often this line does it."""

    rule: str
    what: str
    place: str
    tile: str
    bytes: int
    remedy: str
    times: int = 1

    @property
    def error(self) -> bool:
        return RULES[self.rule].error

    @property
    def level(self) -> str:
        """`error`, or `warning` where documents leave it open."""
        return "error" if self.error else "warning"

    def __str__(self) -> str:
        often = f", {self.times:,} times" if self.times > 1 else ""
        return f"{self.level}: {self.rule}: {self.what} ({self.place}{often})"

    def row(self) -> dict[str, object]:
        """For JSON."""
        return {
            "finding": self.rule,
            "level": self.level,
            "what": self.what,
            "place": self.place,
            "tile": self.tile,
            "bytes": self.bytes,
            "times": self.times,
            "try": self.remedy,
            "source": RULES[self.rule].source,
        }
