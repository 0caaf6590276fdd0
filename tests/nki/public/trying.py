"""Trying one public kernel: with values against its reference, and with shapes only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from entry import Entry

from trnbench.errors import KernelError
from trnbench.registry.registry import Registry
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.importer import stand_ins
from trnbench_emulator.nki.provide import provide
from trnbench_fidelity.adapters.source_recording import prepared
from trnbench_fidelity.point import KernelSource


class Tried(NamedTuple):
    """`error` is relative to the largest element of the reference, None where nothing was compared."""

    ran: bool
    matched: bool
    error: float | None = None
    instructions: int = 0
    why: str = ""
    imported: bool = True
    findings: tuple[str, ...] = ()


def find(folder: Path, entry: Entry) -> Path | None:
    """A checkout may be called name or owner__name."""
    path = entry.kernel.partition("::")[0]
    homes = (entry.folder, f"*__{entry.folder}")
    return next(
        (home / path for each in homes for home in folder.glob(each) if (home / path).is_file()), None
    )


@contextmanager
def _importing(entry: Entry, path: Path) -> Iterator[None]:
    """The repository's own packages are found while the file is loaded."""
    home = path.parents[len(Path(entry.kernel.partition("::")[0]).parts) - 1]
    if not entry.imports:
        yield
        return
    sys.path.insert(0, str(home / entry.imports))
    try:
        yield
    finally:
        sys.path.remove(str(home / entry.imports))


def tried(
    entry: Entry,
    path: Path,
    folder: Path,
    registry: Registry,
    *,
    shapes_too: bool = True,
    shadow: bool = False,
) -> Tried:
    """Both modes, or with values only; what stopped it, in the words of the error. With a `shadow`, also what
    `nki check` finds."""
    systems = {"trn1": "trn1.32xlarge", "trn2": "trn2-16.48xlarge", "trn3": "trn3-gen2-ultraserver"}
    machine = Machine.of(registry.system(systems[entry.generation]))
    arguments = entry.arguments()
    shapes = [
        TensorSpec(each.shape, each.dtype.name) if isinstance(each, np.ndarray) else each
        for each in arguments
    ]
    imported = False
    try:
        with stand_ins(folder), provide("trnbench"):
            name = entry.kernel.partition("::")[2]
            source = KernelSource(
                file=path.name, function=name, header=entry.header, constants=entry.constants
            )
            with prepared(path, source) as file, _importing(entry, path):
                kernel, _, _ = load_kernel(f"{file}::{name}", nki="trnbench")
            imported = True
            if entry.grid is not None:
                kernel = kernel[entry.grid]
            values = record(kernel, arguments, entry.named, machine=machine, functional=True, shadow=shadow)
            timed = record(kernel, shapes, entry.named, machine=machine) if shapes_too else values
    except KernelError as error:
        why = f"{error.what}{f' ({error.cause})' if error.cause else ''}"
        return Tried(False, False, why=why, imported=imported)
    if timed.count != values.count:
        return Tried(True, False, why=f"{timed.count} instructions by shapes, {values.count} with values")
    if entry.reference is None or not values.outputs:
        return Tried(True, False, instructions=timed.count, why="nothing to compare")
    compared = _compared(entry, values.outputs, arguments, timed.count)
    return compared._replace(findings=tuple(str(each) for each in values.findings))


def _compared(entry: Entry, outputs: Any, arguments: Any, count: int) -> Tried:
    assert entry.reference is not None
    wanted = entry.reference(*arguments)
    parts = wanted if isinstance(wanted, tuple) else (wanted,)
    given = outputs if len(parts) == len(outputs) else (np.stack(outputs),)
    error = 0.0
    for got, part in zip(given, parts, strict=True):
        exact, values = np.asarray(part, np.float64), np.asarray(got, np.float64)
        if values.size != exact.size:
            return Tried(True, False, instructions=count, why=f"{values.shape} instead of {exact.shape}")
        off = float(abs(values.reshape(exact.shape) - exact).max() / abs(exact).max())
        error = max(error, np.inf if np.isnan(off) else off)
    good = error <= entry.tolerance
    return Tried(True, good, error, count, "" if good else f"off by {error:.1e} of the largest element")
