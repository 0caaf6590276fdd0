"""Which kernels linear attention is at the shape of a rank: its short convolution, and the delta rule."""

from __future__ import annotations

from math import ceil

from trnbench_steps.kernel_times import Call
from trnbench_steps.operators import Convolution, Recurrence
from trnbench_steps.tiles import ROWS, tiles_of

PASSES = 2.0
"""Forward passes that a backward pass counts as: so many operations it has, and no kernel of its own."""


def convolution_call(operator: Convolution, dtype: str, cores: int, *, stays: bool) -> Call:
    """At one core's share of `cores`; `stays` where activations are in SBUF."""
    rows, parts = tiles_of(ceil(operator.channels / cores))
    parts *= operator.sequences
    return Call(
        source="convolution:short_convolution",
        inputs=(
            ((rows, parts, operator.tokens + operator.taps - 1), dtype),
            ((rows, parts, operator.taps), dtype),
        ),
        times=PASSES if operator.backward else 1.0,
        stays=stays,
        weights=operator.tokens == 1,
    )


def recurrence_call(operator: Recurrence, dtype: str, cores: int, *, stays: bool) -> Call | None:
    """The same; None where a state is wider than the array: a roofline takes its place."""
    keys, values = operator.key_dim, operator.value_dim
    if max(keys, values) > ROWS:
        return None
    per_core = operator.sequences * operator.heads / cores
    heads = ceil(per_core)
    if operator.before:
        key, value, gate = (
            ((keys, heads), dtype),
            ((values, heads), dtype),
            ((2, heads), "float32"),
        )
        return Call(
            source="delta_step:delta_step",
            inputs=(key, key, value, gate, gate, ((heads, keys, values), "float32")),
            times=per_core / heads,
            stays=stays,
        )
    tokens = operator.tokens
    prompt, wanted = ((heads, keys, tokens), dtype), ((heads, values, tokens), dtype)
    return Call(
        source="delta:delta_prompt",
        inputs=(prompt, prompt, wanted, ((2, heads, tokens), "float32"), ((heads, 2), "float32")),
        times=per_core / heads * (PASSES if operator.backward else 1.0),
        stays=stays,
        weights=False,
    )
