"""The arguments of a kernel, filled with random numbers, and its results: as files of bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench_emulator.nki.problem import Source

if TYPE_CHECKING:
    import numpy.typing as npt

_BOUNDS = {
    # Steps are positive and rates negative: a state that grows with every token has no finite result.
    ("selective_scan", 0): (0.001, 0.1),
    ("selective_scan", 2): (-1.0, 0.0),
}
"""(kernel, position of the argument) → between which numbers it is drawn; any will do for the others."""


class Array(msgspec.Struct, frozen=True, kw_only=True):
    """An argument, kept in a file as its bytes."""

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


def fill(source: Source, seed: int) -> list[npt.NDArray[Any]]:
    """Standard normal numbers: constants draw less power and clock higher (predictable data). Uniform ones
    where a kernel has no result for others."""
    import numpy as np

    from trnbench_emulator.nki.dtype import dtype_of
    from trnbench_emulator.nki.words import drawn

    generator = np.random.default_rng(seed)
    filled = []
    for position, (shape, dtype) in enumerate(source.inputs):
        kind = dtype_of(dtype)
        if (bounds := _BOUNDS.get((source.function, position))) is not None:
            filled.append(kind.cast(generator.uniform(*bounds, shape).astype(np.float32)))
        else:
            filled.append(drawn(kind, shape, generator, 100))
    return filled


def write(
    source: Source, arrays: Sequence[npt.NDArray[Any]], folder: Path, names: Sequence[str] = ()
) -> list[Array]:
    """Each array's bytes in a file of `folder`."""
    kept = []
    for index, ((shape, dtype), values) in enumerate(zip(source.inputs, arrays, strict=True)):
        path = folder / f"input_{index}.bin"
        path.write_bytes(values.tobytes())
        name = names[index] if index < len(names) else ""
        kept.append(Array(name=name, file=str(path), dtype=dtype, shape=shape, bytes=values.nbytes))
    return kept


def read(kept: Mapping[str, Any], dtype: str) -> npt.NDArray[Any]:
    """An output as the type it is: the runtime may call it void, or an integer of its size."""
    import numpy as np

    from trnbench_emulator.nki.dtype import dtype_of

    kind = dtype_of(dtype).numpy
    data = Path(str(kept["file"])).read_bytes()
    shape = tuple(int(each) for each in kept["shape"])
    values = np.frombuffer(data, dtype=kind)
    return values.reshape(shape) if values.size == int(np.prod(shape)) else values
