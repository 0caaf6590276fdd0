"""What documents say of the values of an instruction, beside the sentence.

Of aws-neuron-sdk 81ce03ae, nki/api/nki/isa, unless another page is named.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

SUM = """
a, b = nl.load(args[0]), nl.load(args[1])
t = nl.ndarray((4, 8), dtype=nl.float32)
nisa.tensor_tensor(t, a, b, nl.add, engine=nisa.engine.gpsimd)
"""
VALUES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "tensor_tensor: Float types: The engine casts input data types to float32": (
        SUM, (np.full((4, 8), 256, ml_dtypes.bfloat16), np.ones((4, 8), ml_dtypes.bfloat16)), 257,
    ),
    "nki.api.shared: Arithmetic operators convert input elements into float32": (
        SUM, (np.full((4, 8), 100, np.int8), np.full((4, 8), 100, np.int8)), 200,
    ),
}  # fmt: skip
"""By sentence: a body that leaves `t`, what the kernel is given, and what `t` is."""


@pytest.mark.parametrize("sentence", VALUES)
def test_values_are_those_of_the_sentence(run_piece: Any, sentence: str) -> None:
    body, given, wanted = VALUES[sentence]
    (found,) = run_piece(body, given, True).outputs
    np.testing.assert_array_equal(found, np.broadcast_to(wanted, found.shape))
