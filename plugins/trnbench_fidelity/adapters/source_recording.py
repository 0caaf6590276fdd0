"""What a public kernel does, recorded from its file."""

from __future__ import annotations

import ast
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trnbench.errors import TrnbenchError
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions, negations
from trnbench_emulator.core.recording import Launch, Recording, record_launch
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel
from trnbench_emulator.nki.beta1.grid import Beta1Kernel
from trnbench_emulator.nki.importer import stand_ins
from trnbench_emulator.nki.provide import Provided, provide
from trnbench_fidelity.adapters.program_text import prepared
from trnbench_fidelity.kernel_source import KernelSource
from trnbench_fidelity.prediction import NotEmulated

CALL_LIMIT = 2_000_000
"""Calls recorded for one public kernel: some minutes."""


class Recorded(NamedTuple):
    recording: Recording
    nki: str
    together: int  # programs that run on cores of their own at the same time


@lru_cache(maxsize=8)
def recorded(
    folder: Path, path: Path, source: KernelSource, machine: Machine, assumptions: Assumptions = AS_SHIPPED
) -> Recorded:
    """What the kernel does follows from its file, the machine's limits and its compiler, from no cost.

    Raises `NotEmulated` for a file that does not load or breaks a rule of the machine.
    """
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
        by = msgspec.structs.replace(by, dialect="Beta 1")
    return kernel, by


def _argument(text: str) -> Any:
    """ "float32[128,512]" → a tensor of that shape, "1e-05" → the number, "(3,4)" → a tuple, "'ab'" → ab."""
    if text.startswith(("(", "'")):
        return ast.literal_eval(text)
    dtype, bracket, rest = text.partition("[")
    if bracket:
        return TensorSpec(tuple(int(side) for side in rest.rstrip("]").split(",")), dtype)
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    return float(text) if any(mark in text for mark in ".e") else int(text)
