"""Launches of Beta 1: the programs of a grid, one after the other on a core or dealt to several.

Several cores take part where a dimension says so (nl.nc, nl.spmd_dim). Values are the same then; with shapes
only, one core is recorded at a time. Outside a run a kernel is called on arrays, as its public tests do.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from math import prod
from typing import Any

import msgspec

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.deferral import SLOT, settle
from trnbench_emulator.nki.beta1.residence import compiling
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import Sizes
from trnbench_emulator.nki.jit import SIMULATION, Kernel
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.tensor import NkiTensor


class Dimension(int):
    """So many programs, dealt to `cores` cores: `block` of them in a row to one core, then to the next."""

    cores: int
    block: int

    def __new__(cls, size: int, cores: int = 1, block: int = 1) -> Dimension:
        dimension = super().__new__(cls, size)
        dimension.cores, dimension.block = cores, block
        return dimension


def nc(count: int) -> Dimension:
    """nl.nc(count): as many programs as cores, one on each."""
    return Dimension(_counted("nc", count), int(count))


def spmd_dim(*sizes: int) -> Dimension:
    """nl.spmd_dim(nl.nc(2), 4): 8 programs, four in a row on each core; (4, nl.nc(2)): by turns."""
    parts = [size if isinstance(size, Dimension) else _counted("spmd_dim", size) for size in sizes]
    spread = [at for at, size in enumerate(parts) if isinstance(size, Dimension) and size.cores > 1]
    if not parts or len(spread) > 1:
        raise KernelError(
            f"nl.spmd_dim{tuple(map(int, sizes))}: "
            + ("it has no size" if not parts else "two of its parts are cores")
            + f" ({site.here()})",
            try_="nl.spmd_dim(nl.nc(2), 4)",
        )
    if not spread:
        return Dimension(prod(parts))
    at = spread[0]
    dealt = parts[at]
    assert isinstance(dealt, Dimension)
    return Dimension(prod(parts), dealt.cores, dealt.block * prod(parts[at + 1 :]))


def cores_of(sizes: Sizes) -> int:
    """How many cores the programs of a grid are dealt to."""
    return prod(size.cores for size in sizes if isinstance(size, Dimension))


def core_of(sizes: Sizes, at: tuple[int, ...]) -> int:
    """The core of one program, the first dimension counting most."""
    core = 0
    for size, index in zip(sizes, at, strict=True):
        if isinstance(size, Dimension):
            core = core * size.cores + index // size.block % size.cores
    return core


def _counted(call: str, size: object) -> int:
    try:
        count = int(size)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        count = 0
    if count < 1:
        raise KernelError(f"nl.{call}({size!r}): it takes a number of at least 1 ({site.here()})")
    return int(count)


class _Launch(msgspec.Struct):
    """The grid under way, the program that runs, and what its programs share."""

    sizes: Sizes = ()
    at: tuple[int, ...] = ()
    asked: bool = False  # for the number of a program: only then are they unlike each other
    _shared: list[Root] = []
    _next: int = 0

    def programs(self, sizes: Sizes) -> Iterator[tuple[int, ...]]:
        """Every program in turn; nested launches leave the outer one as it was."""
        before = (self.sizes, self.at, self._shared, self._next)
        self.sizes, self._shared = sizes, []
        try:
            for self.at in itertools.product(*(range(size) for size in sizes)):
                self._next = 0
                yield self.at
        finally:
            self.sizes, self.at, self._shared, self._next = before

    def shared(self, make: Callable[[], Root], where: Buffer) -> Root:
        """The n-th tensor in shared HBM is one and the same for all programs of a launch."""
        if where is Buffer.PRIVATE_HBM or not self.sizes:
            return make()
        if self._next == len(self._shared):
            self._shared.append(make())
        root = self._shared[self._next]
        self._next += 1
        return root


LAUNCH = _Launch()


def program_id(axis: int = 0) -> int:
    """Index of this program along a dimension of the grid."""
    LAUNCH.asked = True
    return _along("program_id", LAUNCH.at, axis)


def num_programs(axes: Any = None) -> Any:
    """Programs along a dimension of the grid; of all of them where none is named."""
    if axes is None:
        return prod(LAUNCH.sizes)
    if isinstance(axes, (tuple, list)):
        return tuple(_along("num_programs", LAUNCH.sizes, axis) for axis in axes)
    return _along("num_programs", LAUNCH.sizes, axes)


def program_ndim() -> int:
    return len(LAUNCH.sizes)


def _along(call: str, values: Sizes, axis: int) -> int:
    if not 0 <= int(axis) < len(values):
        raise KernelError(
            f"nl.{call}({axis}): the grid has {len(values)} dimensions ({site.here()})",
            try_="launch the kernel with kernel[sizes](…)",
        )
    return values[int(axis)]


class Beta1Kernel(Kernel):
    """A kernel of Beta 1. Tensors in HBM become tiles at its door, and tensors again behind it."""

    def __init__(self, function: Callable[..., Any], sizes: Sizes = ()) -> None:
        @functools.wraps(function)
        def launched(*args: Any, **kwargs: Any) -> Any:
            return _launched(function, sizes, args, kwargs)

        super().__init__(launched)
        self.cores = cores_of(sizes)
        self.plain = function
        self.sizes = sizes

    def __getitem__(self, grid: Any) -> Kernel:
        entries = grid if isinstance(grid, tuple) else (grid,)
        try:
            sizes = tuple(size if isinstance(size, Dimension) else int(size) for size in entries)
        except (TypeError, ValueError):
            sizes = ()
        if not sizes or min(sizes) < 1:
            raise KernelError(
                f"kernel {self.plain.__name__!r}: {grid!r} is no grid ({site.here()})",
                try_="kernel[batch, heads](…)",
            )
        return Beta1Kernel(self.plain, sizes)


def _launched(function: Callable[..., Any], sizes: Sizes, args: Any, kwargs: Any) -> Any:
    inside = any(isinstance(argument, Tile) for argument in (*args, *kwargs.values()))
    if inside and not sizes:
        return function(*args, **kwargs)
    SLOT.held = None
    arguments = [_tile(argument) for argument in args]
    named = {name: _tile(argument) for name, argument in kwargs.items()}
    places: list[tuple[int | str, Any]] = [*enumerate(arguments), *named.items()]
    tiles = {key: argument for key, argument in places if isinstance(argument, Tile)}
    result: Any = None
    recorder: Recorder | None = STATE.recorder  # None where NumPy asks a kernel for its values
    # The core whose programs alone are recorded, None for all of them.
    core = None
    if recorder is not None and not recorder.functional and cores_of(sizes) > 1:
        core = recorder.program
    shadow = recorder.shadow if recorder is not None else None
    if shadow is not None and sizes:
        shadow.several = prod(sizes) > 1
    with nullcontext() if inside or recorder is None else compiling(recorder):
        for number, at in enumerate(LAUNCH.programs(sizes)):
            if core is not None and core_of(sizes, at) != core:
                continue
            if shadow is not None and sizes:
                shadow.program = number
            LAUNCH.asked = False
            result = function(*arguments, **named)
            settle()
            alike = (
                not LAUNCH.asked and prod(sizes) > 1 and not any(tile.root.written for tile in tiles.values())
            )
            if alike and (recorder is None or recorder.assumes("equal-programs")):
                break  # the others do the very same; the compiler keeps one of equal stores
    if inside:
        return result
    if result is None:  # an old kernel writes to the tensors it is given
        written = {key: tile for key, tile in tiles.items() if tile.root.written}
        SIMULATION.written = list(written)
        result = tuple(written.values())
    return _tensors(result)


def _tile(value: Any) -> Any:
    if isinstance(value, NkiTensor):
        return Tile.holding(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_tile(item) for item in value)
    return value


def _tensors(value: Any) -> Any:
    if isinstance(value, Tile):
        return value.operand()
    if isinstance(value, (tuple, list)):
        return tuple(_tensors(item) for item in value)
    return value


def jit(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """`@nki.jit`, `@nki.baremetal`, `@nki.benchmark(…)`, `@nki.profile(…)`, `@nki.trace`: mark a kernel.

    Options concern compiling and measuring on a device and are not used.
    """
    if function is None:
        return jit
    return function if isinstance(function, Beta1Kernel) else Beta1Kernel(function)
