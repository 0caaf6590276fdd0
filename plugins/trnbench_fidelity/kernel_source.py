"""Where the kernel of a published point is, and how it becomes one: read strictly from the point's table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trnbench.facts.table import Place

_ARGUMENT = re.compile(
    r"([a-zA-Z]\w*=)?"
    r"([a-z][a-z0-9_]*\[\d+(,\d+)*\]|-?\d+(\.\d+)?(e-?\d+)?|True|False|None|\([\d,()]*\)|'[^']*')"
)
_CONSTANT = re.compile(r"[A-Za-z_]\w*=-?\d+(\.\d+)?")
_KINDS: dict[str, type] = {
    **dict.fromkeys(("file", "function"), str),
    **dict.fromkeys(("arguments", "header", "constants"), list),
    **dict.fromkeys(("listing",), int),
}


class MadeBy(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the file whose result is the kernel, or has it at place `item`."""

    function: str
    arguments: tuple[str, ...] = ()
    item: int | None = None


class KernelSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the kernel of a point is, inside the repository its source names.

    `arguments` in the order of its parameters: "float32[128,512]" for a tensor, a number, a tuple, a text
    in single quotes, or, of the form name=value, a parameter by name. `grid`: programs it is launched as.
    `also`: kernels launched after it, whose times the point adds up. `listing`: the file is a document or
    keeps programs as texts; the n-th of them that defines the function is meant, counted from 1. `header`:
    lines that the publication's own harness puts before it. `constants`: "ROW_CHUNK=128", what the
    publication says it set a number of the file to. `made_by`: what returns the kernel.
    """

    file: str
    function: str
    arguments: tuple[str, ...] = ()
    grid: tuple[int, ...] = ()
    also: tuple[KernelSource, ...] = ()
    listing: int = 0
    header: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    made_by: MadeBy | None = None


def kernel_source(where: Place, table: Mapping[str, Any]) -> KernelSource:
    """Raises `FactError` for an unknown key, a file outside the repository, or what is no argument."""
    plain = {key: each for key, each in table.items() if key not in ("grid", "also", "made_by")}
    where.check(plain, _KINDS, ("file", "function"))
    if Path(table["file"]).is_absolute() or ".." in Path(table["file"]).parts:
        raise where.error(f"file {table['file']!r} leaves the repository", try_="a path inside it")
    grid = tuple(table.get("grid", ()))
    if not all(isinstance(each, int) and each > 0 for each in grid):
        raise where.error(f"grid {list(grid)} is no grid", try_="grid = [2]")
    constants = tuple(table.get("constants", ()))
    for constant in constants:
        if not _CONSTANT.fullmatch(str(constant)):
            raise where.error(f"{constant!r} sets no constant", try_='"ROW_CHUNK=128"')
    also = tuple(
        kernel_source(where.at(f"also {number}"), {"file": table["file"], **where.table(each)})
        for number, each in enumerate(table.get("also", ()), 1)
    )
    return KernelSource(
        file=table["file"],
        function=table["function"],
        arguments=_arguments(where, table),
        grid=grid,
        also=also,
        listing=table.get("listing", 0),
        header=tuple(table.get("header", ())),
        constants=constants,
        made_by=_made_by(where.at("made_by"), table["made_by"]) if "made_by" in table else None,
    )


def _made_by(where: Place, value: object) -> MadeBy:
    table = where.table(value)
    where.check(table, {"function": str, "arguments": list, "item": int}, ("function",))
    return MadeBy(function=table["function"], arguments=_arguments(where, table), item=table.get("item"))


def _arguments(where: Place, table: Mapping[str, Any]) -> tuple[str, ...]:
    arguments = tuple(table.get("arguments", ()))
    for argument in arguments:
        if not _ARGUMENT.fullmatch(str(argument)):
            raise where.error(
                f"{argument!r} is no argument", try_='"float32[128,512]", a number, or name=one of them'
            )
    return arguments
