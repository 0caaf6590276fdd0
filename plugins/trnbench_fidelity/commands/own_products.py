"""`trnbench validate --same`: our own product beside the best published one of each shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench.cli.output import Column, emit, say

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.results.own_product import OwnProduct


def _rate(flops_per_s: float) -> str:
    from trnbench.facts.format import show

    return show(flops_per_s, "FLOP/s")


def _error(fraction: float) -> str:
    from trnbench.results.error_text import signed_text

    return signed_text(math.log1p(fraction))


_COLUMNS: tuple[Column | str, ...] = (
    "generation",
    Column("shape", "M x N x K", align="right", keep=2),
    "dtype",
    "cores",
    Column("model_flops_per_s", "our kernel", show=_rate, align="right", keep=1),
    Column("published_flops_per_s", "best published", show=_rate, align="right", keep=1),
    Column("error", "time", show=_error, align="right", keep=1),
    Column("id", keep=1),
    Column("slower", "slower ones", show=str, align="right"),
)


def show_own_products(registry: Registry, generations: Sequence[str], format: str) -> bool:
    """Prints a row for each published shape; whether there is any. `error` is the one of the time."""
    from trnbench_fidelity.same import products

    rows = [_row(each) for name in generations or registry.generations for each in products(registry, name)]
    if rows:
        emit(rows, _COLUMNS, format)
        say(
            "two programs, so no error of the model alone: what the published one loses is in it. "
            "Times are without the launch",
            level=0,
        )
    return bool(rows)


def _row(of: OwnProduct) -> dict[str, object]:
    from trnbench.results.json import plain

    fields = plain(of)
    assert isinstance(fields, dict)
    return {
        **fields,
        "shape": f"{of.m} x {of.n} x {of.k}",
        "error": math.expm1(of.e),
        "slower": len(of.others),
    }
