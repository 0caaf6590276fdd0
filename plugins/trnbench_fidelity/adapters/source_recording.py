"""What a public kernel does, recorded from its file.

The file may be a listing in a document, a text that its harness completes, or one with a constant that the
publication set to something else.
"""

from __future__ import annotations

import ast
import re
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from trnbench.errors import TrnbenchError
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions, negations
from trnbench_emulator.core.recording import Launch, Recording, record_launch
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel
from trnbench_emulator.nki.beta1.grid import Beta1Kernel
from trnbench_emulator.nki.importer import stand_ins
from trnbench_emulator.nki.provide import Provided, provide
from trnbench_fidelity.point import KernelSource, NotEmulated


@contextmanager
def prepared(path: Path, source: KernelSource) -> Iterator[Path]:
    """The file to load: `path` itself, or a copy for as long as it is needed, its lines where they were.

    Raises `NotEmulated` for a listing that is not there, or a constant that is not set exactly once.
    """
    if not (source.listing or source.header or source.constants):
        yield path
        return
    text = path.read_text(encoding="utf-8")
    if source.listing:
        text = _listing(text, path, source)
    if source.header:
        text = "; ".join(source.header) + ("" if text.startswith("\n") else "\n") + text
    for constant in source.constants:
        text = _set(text, path, *constant.split("=", 1))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"{path.stem}.py"
        copy.write_text(text, encoding="utf-8")
        yield copy


def _listing(text: str, path: Path, source: KernelSource) -> str:
    definitions = [
        (line, each)
        for line, each in (_texts(text) if path.suffix == ".py" else _blocks(text))
        if _defines(each, source.function)
    ]
    if source.listing > len(definitions):
        raise NotEmulated(
            f"{source.file} has {len(definitions)} listings of {source.function}, not {source.listing}",
            source_missing=True,
        )
    line, program = definitions[source.listing - 1]
    return "\n" * (line - 1) + program


def _texts(text: str) -> list[tuple[int, str]]:
    """Texts of more than a line in a Python file, each with the line it starts at."""
    return sorted(
        (each.lineno, each.value)
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and "\n" in each.value
    )


def _blocks(text: str) -> list[tuple[int, str]]:
    """Python listings of a document in reStructuredText or Markdown, each with the line it starts at."""
    lines = text.split("\n")
    blocks = []
    for number, line in enumerate(lines, 1):
        directive = re.fullmatch(r"(\s*)\.\. code-block:: python\s*", line)
        if directive:
            body = _indented(lines[number:], len(directive[1]))
            blocks.append((number + 1, textwrap.dedent("\n".join(body))))
        fence = re.fullmatch(r"(\s*)```(python|py)\s*", line)
        if fence:
            rest = lines[number:]
            end = next((i for i, each in enumerate(rest) if each.strip() == "```"), len(rest))
            blocks.append((number + 1, textwrap.dedent("\n".join(rest[:end]))))
    return blocks


def _indented(lines: list[str], margin: int) -> list[str]:
    """What belongs to a directive: blank lines and those further in, its options left out."""
    body: list[str] = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) <= margin:
            break
        options = not any(each.strip() for each in body)
        body.append("" if options and re.match(r"\s*:\w+:", line) else line)
    return body


def _defines(text: str, function: str) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(each, ast.FunctionDef) and each.name == function for each in tree.body)


def _set(text: str, path: Path, name: str, value: str) -> str:
    changed, count = re.subn(
        rf"^([ \t]*{name}[ \t]*=[ \t]*)-?\d[\d.]*(?=[ \t]*(?:#.*)?$)", rf"\g<1>{value}", text, flags=re.M
    )
    if count != 1:
        raise NotEmulated(f"{path.name} sets {name} to a number in {count} places, not in one")
    return changed


CALL_LIMIT = 2_000_000
"""Calls recorded for one public kernel: some minutes."""


class Recorded(NamedTuple):
    recording: Recording
    nki: str
    together: int  # programs that run on cores of their own at the same time


@lru_cache(maxsize=8)
def recorded(
    folder: Path, path: Path, source: KernelSource, machine: Machine, assumptions: Assumptions | None = None
) -> Recorded:
    """What the kernel does follows from its file, the machine's limits and its compiler, from no cost.

    Raises `NotEmulated` for a file that does not load or breaks a rule of the machine.
    """
    assumptions = assumptions or AS_SHIPPED
    try:
        with stand_ins(folder) as absent, provide("trnbench"), prepared(path, source) as file:
            kernel, by = _loaded(file, source)
            beta1 = isinstance(kernel, Beta1Kernel)
            if source.grid:
                kernel = kernel[source.grid]
            given = [argument.partition("=") for argument in source.arguments]
            recording = record_launch(
                kernel,
                [_argument(text) for text, equals, _ in given if not equals],
                machine,
                Launch(limit=CALL_LIMIT, assumptions=assumptions),
                named={name: _argument(text) for name, equals, text in given if equals},
            )
    except TrnbenchError as error:
        raise NotEmulated(f"{error.what}{f' ({error.cause})' if error.cause else ''}") from None
    nki = f"NKI {by.dialect} by {by.by} {by.version}" if by.dialect else f"NKI by {by}"
    if absent:
        nki += f", {', '.join(absent)} stood in for"
    nki += "".join(f", {negation}" for negation in negations(assumptions, beta1=beta1))
    return Recorded(recording, nki, 1 if beta1 else max(prod(source.grid), 1))


def _loaded(file: Path, source: KernelSource) -> tuple[Any, Provided]:
    """The kernel: what the file defines, or what a function of it returns."""
    maker = source.made_by
    if maker is None:
        kernel, _, by = load_kernel(f"{file}::{source.function}", nki="trnbench")
        return kernel, by
    made, _, by = load_kernel(f"{file}::{maker.function}", nki="trnbench")
    kernel = made(*(_argument(argument) for argument in maker.arguments))
    if maker.item is not None:
        kernel = kernel[maker.item]
    if isinstance(kernel, Beta1Kernel):
        by = replace(by, dialect="Beta 1")
    return kernel, by


def _argument(text: str) -> Any:
    """ "float32[128,512]" → a tensor of that shape, "1e-05" → the number, "(3,4)" → a tuple, "'ab'" → ab."""
    if text.startswith(("(", "'")) or text in ("True", "False", "None"):
        return ast.literal_eval(text)
    dtype, bracket, rest = text.partition("[")
    if bracket:
        return TensorSpec(tuple(int(side) for side in rest.rstrip("]").split(",")), dtype)
    return float(text) if any(mark in text for mark in ".e") else int(text)
