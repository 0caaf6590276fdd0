"""Instructions whose arguments are today's but for the destination, which Beta 1 returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa as today
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.deferred import later
from trnbench_emulator.nki.beta1.mask import box_of
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import dtype_of

Shape = Callable[[dict[str, Any]], tuple[int, ...]]


def returning(name: str, order: str, source: str, shape: Shape | None = None, dtype: Any = None) -> Any:
    """An instruction whose arguments are today's but for `dst`: its result is like `source`."""
    ours = getattr(today, name)
    names = order.split()

    def call(*args: Any, mask: Any = None, dtype: Any = dtype, **named: Any) -> Any:
        settle()
        if len(args) > len(names):
            raise KernelError(f"nisa.{name} takes {', '.join(names)} ({site.here()})")
        given = {**dict(zip(names, args, strict=False)), **named}
        given.pop("name", None)
        into = given.pop("dst", None)
        like = given.get(source)
        if not isinstance(like, Tile):
            raise KernelError(
                f"nisa.{name}: {source} is {type(like).__name__}, it must be a tile ({site.here()})"
            )

        def issue(dst: Tile) -> None:
            if box_of(mask, like.shape) is None:
                return
            lowered = {
                key: each.operand(mask) if isinstance(each, Tile) else each for key, each in given.items()
            }
            ours(dst.operand(mask), **lowered)

        if into is not None:
            issue(into)
            return into
        kind = like.dtype if dtype is None else dtype_of(dtype)
        return later(shape(given) if shape else like.shape, kind, issue)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"nisa.{name} of Beta 1: the result is returned."
    return call
