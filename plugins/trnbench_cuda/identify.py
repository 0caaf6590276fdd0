"""Which documented system the GPUs of this machine are, by the names they give themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from trnbench_cuda.smi import Gpu

TABLE = Path(__file__).with_name("names.toml")
UNKNOWN = "cuda-device"
BOARD_SIZE = 8


class Known(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of names.toml."""

    name: str
    single: str
    multiprocessors: int
    board: str = ""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """`gpus` take part, in the order in which programs count them; `why` where there is none."""

    instance: str = ""
    gpus: tuple[Gpu, ...] = ()
    known: Known | None = None
    notes: tuple[str, ...] = ()
    why: str = ""
    try_: str = ""


@cache
def table() -> dict[str, Known]:
    import tomllib

    read = tomllib.loads(TABLE.read_text())
    rows = (msgspec.convert(row, Known) for row in read["gpu"])
    return {row.name: row for row in rows}


def identify(found: Sequence[Gpu], variables: Mapping[str, str]) -> Match:
    """`found` is every GPU of the machine, `variables` may hide some: CUDA_VISIBLE_DEVICES."""
    gpus = visible(found, variables.get("CUDA_VISIBLE_DEVICES"))
    if not gpus:
        hidden = len(found) > 0
        return Match(
            why="CUDA_VISIBLE_DEVICES hides every GPU" if hidden else "the driver lists no GPU",
            try_="unset CUDA_VISIBLE_DEVICES" if hidden else "nvidia-smi",
        )
    first = gpus[0]
    known = table().get(first.name)
    if known is None:
        note = f"unknown GPU {first.name!r}: measured, no peak"
        return Match(instance=UNKNOWN, gpus=gpus[:1], notes=(note,))
    if first.sliced:
        note = f"{first.name} with MIG on: a slice of it is no documented system: measured, no peak"
        return Match(instance=UNKNOWN, gpus=gpus[:1], notes=(note,))
    alike = all(each.name == first.name and not each.sliced for each in gpus)
    if alike and len(gpus) == BOARD_SIZE and known.board:
        return Match(instance=known.board, gpus=tuple(gpus), known=known)
    notes: tuple[str, ...] = ()
    if len(gpus) > 1:
        notes = (f"{len(gpus)} GPUs here make no documented system: the first one is measured",)
    return Match(instance=known.single, gpus=gpus[:1], known=known, notes=notes)


def visible(found: Sequence[Gpu], asked: str | None) -> tuple[Gpu, ...]:
    """As CUDA reads the variable: indices or beginnings of UUIDs, in that order, up to the first unknown."""
    if asked is None:
        return tuple(found)
    chosen: list[Gpu] = []
    for word in (each.strip() for each in asked.split(",")):
        match = next((gpu for gpu in found if _named(gpu, word)), None)
        if match is None:
            break
        chosen.append(match)
    return tuple(chosen)


def _named(gpu: Gpu, word: str) -> bool:
    return word == str(gpu.index) or (word.startswith("GPU-") and gpu.uuid.startswith(word))
