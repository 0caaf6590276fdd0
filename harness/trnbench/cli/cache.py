"""`trnbench cache`: what was computed before, kept beside the store."""

from __future__ import annotations

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import emit, format_option, say
from trnbench.errors import StoreError


@click.group()
def cache() -> None:
    """Look at what was computed before, or forget it.

    The emulator's answers are kept beside the store under a digest of all that they follow from: kernel,
    arguments, facts, costs, model. `trnbench run --no-cache` does without.
    """


@cache.command()
@format_option
@session
def info(shared: Session, /, *, format: str) -> None:
    """How many answers are kept, in how many bytes, and where."""
    from trnbench.store.cache import Cache
    from trnbench.store.path import store_path

    with_problem = Cache(store_path(shared.store_path)).info()
    row = {
        "path": str(with_problem.path),
        "entries": with_problem.entries,
        "bytes": with_problem.bytes,
        "limit_bytes": with_problem.limit_bytes,
        "problem": with_problem.problem,
    }
    emit([row], tuple(row), format)


@cache.command()
@session
def clear(shared: Session, /) -> None:
    """Forget all of it; the next run works everything out anew."""
    from trnbench.store.cache import Cache
    from trnbench.store.path import store_path

    kept = Cache(store_path(shared.store_path))
    try:
        held = kept.clear()
    except OSError as error:
        raise StoreError(
            f"{kept.path} cannot be removed: {error.strerror or error}",
            cause="its folder cannot be written to by this user",
            try_="trnbench run --no-cache  does without it",
        ) from error
    say(f"{held.path}: forgot {held.entries:,} answers ({held.bytes / 2**20:.1f} MiB)")
