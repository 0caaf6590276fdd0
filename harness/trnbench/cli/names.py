"""Names offered while a person types: `shell_complete=` of options that take one.

A plugin's record is enough to know its names, so no fact file is read and no topology built.
Completion never complains: whatever goes wrong, there is nothing to offer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trnbench.registry import Registry


def _offer(
    names: Callable[[Registry], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        import contextlib
        import io

        from trnbench.registry import load_registry

        block = ctx.find_root().params.get("no_plugin") or ()
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                return [name for name in names(load_registry(block=block)) if name.startswith(incomplete)]
        except Exception:
            return []

    return complete


complete_instances = _offer(lambda registry: registry.instance_names())
complete_kernels = _offer(lambda registry: registry.kernels)
complete_backends = _offer(lambda registry: registry.backends)
complete_formats = _offer(lambda registry: registry.formats)
complete_systems = _offer(lambda registry: registry.instance_names(aliases=True))
