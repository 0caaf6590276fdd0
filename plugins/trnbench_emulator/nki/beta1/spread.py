"""nl.nc and nl.spmd_dim: dimensions of a grid whose programs are dealt to several physical cores."""

from __future__ import annotations

from math import prod

from trnbench.errors import KernelError
from trnbench_emulator.nki import site


class Dimension(int):
    """So many programs, dealt to `cores` cores: `block` of them in a row to one core, then to the next."""

    cores: int
    block: int

    def __new__(cls, size: int, cores: int = 1, block: int = 1) -> Dimension:
        made = super().__new__(cls, size)
        made.cores, made.block = cores, block
        return made


def nc(count: int) -> Dimension:
    """nl.nc(count): as many programs as cores, one on each."""
    return Dimension(_counted("nc", count), int(count))


def spmd_dim(*sizes: int) -> Dimension:
    """nl.spmd_dim(nl.nc(2), 4): 8 programs, four in a row on each core; (4, nl.nc(2)): by turns."""
    parts = [each if isinstance(each, Dimension) else _counted("spmd_dim", each) for each in sizes]
    spread = [at for at, each in enumerate(parts) if isinstance(each, Dimension) and each.cores > 1]
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


def cores_of(sizes: tuple[int, ...]) -> int:
    """How many cores the programs of a grid are dealt to."""
    return prod(each.cores for each in sizes if isinstance(each, Dimension))


def core_of(sizes: tuple[int, ...], at: tuple[int, ...]) -> int:
    """The core of one program, the first dimension counting most."""
    found = 0
    for size, index in zip(sizes, at, strict=True):
        if isinstance(size, Dimension):
            found = found * size.cores + index // size.block % size.cores
    return found


def _counted(call: str, size: object) -> int:
    try:
        found = int(size)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        found = 0
    if found < 1:
        raise KernelError(f"nl.{call}({size!r}): it takes a number of at least 1 ({site.here()})")
    return int(found)
