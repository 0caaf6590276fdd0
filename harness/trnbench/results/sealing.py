"""A run that has ended gets its digest."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from trnbench.results.digest import bare, digest_of
from trnbench.results.json import dumps_value
from trnbench.results.run import Run


def sealed(run: Run, attached: Iterable[tuple[str, str, str]], cases: Iterable[str]) -> Run:
    """The run with its digest; arguments as for `digest_of`. Raises `BadInput` like `dumps`."""
    digest = digest_of(dumps_value(bare(run), f"run {run.id}"), attached, cases)
    return msgspec.structs.replace(run, digest=digest)
