"""`--arg NAME=…`: what a kernel is called with."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench.bounded import kinds
from trnbench.errors import (
    BadInput,
    FactError,
    KernelError,
    MissingFile,
    UnknownName,
    UsageError,
    cut,
    quoted,
)
from trnbench.record import Record
from trnbench_emulator.nki import TensorSpec
from trnbench_emulator.nki.dtype import DTYPES, WORDS, dtype_of, random_values

if TYPE_CHECKING:
    import numpy.typing as npt

    from trnbench.generation import System
    from trnbench.registry import Registry
    from trnbench_emulator.nki.dtype import DType


FORMS = "NAME=128x512:bf16, NAME=random:128x512:bf16, NAME=@file.npy or NAME=3"
_SHAPE = re.compile(r"\d+(?:[x,]\d+)*,?", re.ASCII)
MOST_DIMENSIONS = 32
"""As many as NumPy has."""
_WORD = re.compile(r"[A-Za-z_][\w.-]*")


class Argument(Record):
    """A tensor of `shape` and `dtype` (NKI's name), or a plain `value`.

    `file` where its values are in a file; otherwise they are drawn at random when they are needed.
    """

    name: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    file: Path | None = None
    value: Any = None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.name}={self.value!r}"
        return f"{self.name}={'x'.join(map(str, self.shape))}:{self.dtype}"


def parse(text: str) -> Argument:
    """One `--arg`. Raises `UsageError` that says what was read and which forms there are."""
    name, equals, rest = text.partition("=")
    if not equals or not name.isidentifier():
        raise _unread(text, "it has no NAME= in front")
    if rest.startswith("@"):
        return _file(name, rest[1:])
    tensor = rest.removeprefix("random:")
    shape, colon, dtype = tensor.partition(":")
    if colon and _SHAPE.fullmatch(shape):
        return Argument(name, _sizes(shape, text), _dtype(dtype, text).name)
    if tensor != rest:
        raise _unread(text, "after random: come a shape and a data type")
    if re.fullmatch(r"\d+(x\d+)+", rest, re.ASCII):
        raise _unread(text, "a shape without a data type", try_=f"--arg {name}={rest}:bf16")
    try:
        return Argument(name, value=ast.literal_eval(rest))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        if _WORD.fullmatch(rest):
            return Argument(name, value=rest)
        raise _unread(
            text, f"{quoted(rest)} is neither a tensor, a file, a Python literal nor a word"
        ) from None


def _sizes(shape: str, text: str) -> tuple[int, ...]:
    read = [kinds.DIMENSION.parsed(each) for each in re.split("[x,]", shape) if each]
    sizes = tuple(int(each) for each in read if each is not None)
    if len(sizes) != len(read):
        zero = any(not each.strip("0") for each in re.split("[x,]", shape.rstrip(",")))
        raise _unread(
            text,
            "a dimension of 0 holds no elements"
            if zero
            else f"a dimension has up to {kinds.DIMENSION.most:,} elements",
        )
    if len(sizes) > MOST_DIMENSIONS or prod(sizes) > kinds.DIMENSION.most:
        raise _unread(
            text, f"a tensor has up to {MOST_DIMENSIONS} dimensions and {kinds.DIMENSION.most:,} elements"
        )
    return sizes


def gather(texts: Sequence[str]) -> dict[str, Argument]:
    """All of them by name, in order. Raises `UsageError` for a name given twice."""
    arguments: dict[str, Argument] = {}
    for text in texts:
        argument = parse(text)
        if argument.name in arguments:
            raise UsageError(
                f"--arg {argument.name} is given twice",
                cause=f"{arguments[argument.name]} and {argument}",
                try_="keep one of them",
            )
        arguments[argument.name] = argument
    return arguments


def fit(function: Any, given: Mapping[str, Argument], ref: str) -> dict[str, Argument]:
    """`given` in the order of the kernel's parameters.

    Raises `UnknownName` for one that the kernel does not have, `UsageError` for one it needs.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return dict(given)
    if given and not parameters:
        raise UsageError(
            f"{ref} takes no arguments",
            cause=f"--arg {next(iter(given))}=… was given",
            try_="leave --arg out",
        )
    kinds = {each.kind for each in parameters.values()}
    named = [
        each
        for each in parameters.values()
        if each.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    ]
    names = [each.name for each in named]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in given:
            if name not in names:
                raise UnknownName(f"argument of {ref}", name, names, try_="--arg NAME=…, once for each")
    missing = [
        each.name for each in named if each.default is inspect.Parameter.empty and each.name not in given
    ]
    if missing:
        raise UsageError(
            f"{ref} needs {', '.join(missing)}",
            cause=f"its parameters are ({', '.join(names)}), and no --arg gives "
            + ("this one" if len(missing) == 1 else "these"),
            try_=" ".join(f"--arg {name}=128x512:bf16" for name in missing),
        )
    order = [name for name in names if name in given]
    return {name: given[name] for name in [*order, *(each for each in given if each not in order)]}


def specs(given: Mapping[str, Argument]) -> dict[str, Any]:
    """Shapes and plain values: what timing needs."""
    return {
        name: each.value if each.shape is None else TensorSpec(each.shape, each.dtype)
        for name, each in given.items()
    }


def values(given: Mapping[str, Argument], seed: int) -> dict[str, Any]:
    """Arrays and plain values: what computing needs. The same seed gives the same numbers.

    Floats are normal with variance 1, integers from 0 to 7, truth values even.
    """
    tensors: dict[str, Any] = {}
    for name, argument in given.items():
        if argument.shape is None:
            tensors[name] = argument.value
        elif argument.file is not None:
            tensors[name] = dtype_of(argument.dtype).cast(
                _loaded(argument.name, argument.file, argument.dtype)
            )
        else:
            # A stream of its own per name: another argument more or less changes no values.
            stream = np.random.default_rng([seed, *name.encode()])
            tensors[name] = random_values(dtype_of(argument.dtype), argument.shape, stream, 8)
    return tensors


def _file(name: str, text: str) -> Argument:
    path, _, dtype = text.rpartition(":") if not Path(text).exists() and ":" in text else (text, "", "")
    array = _loaded(name, Path(path), dtype)
    if dtype:
        return Argument(name, array.shape or (1,), _dtype(dtype, f"{name}=@{text}").name, Path(path))
    try:
        known = dtype_of(array.dtype)
    except KernelError:
        raise BadInput(
            f"--arg {name}: {path} holds {array.dtype}, which no NKI kernel takes",
            cause="NumPy writes bfloat16 and fp8 as raw bytes, and NKI has no 64-bit types",
            try_=f"--arg {name}=@{path}:bf16  says what it is, or converts it",
        ) from None
    return Argument(name, array.shape or (1,), known.name, Path(path))


def _loaded(name: str, path: Path, dtype: str) -> npt.NDArray[Any]:
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is a folder, a pipe or a device")
        # No pickles: a file of data must not run code.
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise MissingFile(f"--arg {name}: {path} does not exist", try_=f"--arg {name}=@FILE.npy") from None
    except (OSError, ValueError, EOFError, OverflowError, MemoryError, SyntaxError, TypeError) as error:
        raise BadInput(
            f"--arg {name}: {path} is no array that can be read",
            cause="it is no .npy file, or holds Python objects"
            if "pickle" in str(error)
            else cut((str(error).splitlines() or [type(error).__name__])[0], 200),
            try_="numpy.save('x.npy', array)",
        ) from None
    if not isinstance(array, np.ndarray):
        raise BadInput(
            f"--arg {name}: {path} holds several arrays",
            cause="it is an .npz archive",
            try_="numpy.save one of them as .npy",
        )
    return _as(array, dtype) if dtype else array


def _as(array: npt.NDArray[Any], dtype: str) -> npt.NDArray[np.generic]:
    """Raw bytes of the right width are the data type itself; everything else is converted later."""
    kind = dtype_of(dtype)
    if array.dtype.kind == "V" and array.dtype.itemsize == kind.size:
        return array.view(kind.numpy)
    return array


def _dtype(text: str, whole: str) -> DType:
    try:
        return dtype_of(text)
    except KernelError:
        raise UnknownName("data type", text, [*DTYPES, *WORDS], try_=f"in --arg {whole}") from None


def _unread(text: str, cause: str, *, try_: str = FORMS) -> UsageError:
    return UsageError(f"--arg {quoted(text)} cannot be read", cause=cause, try_=try_)


def system_of(registry: Registry, instance: str | None, facts: tuple[Path, ...] = ()) -> System:
    """The system called `instance`, with fact files of the user's own; "" names those there are.

    Raises `UsageError` and `UnknownName`.
    """
    if not instance:
        raise UsageError(
            "no --instance is given",
            cause="limits and times are those of one machine",
            try_="--instance "
            + next(iter(registry.instance_names()), "NAME")
            + "   (trnbench list instances)",
        )
    return runnable(registry.system(instance, facts))


def runnable(system: System) -> System:
    """Raises `FactError` where no cost table says how long anything takes."""
    if not system.costs:
        raise FactError(
            f"{system.generation.name} has no cost table, so no time follows",
            cause=f"its plugin ({system.plugin or 'unknown'}) brings none",
            try_="an instance of another generation: trnbench list instances",
        )
    return system
