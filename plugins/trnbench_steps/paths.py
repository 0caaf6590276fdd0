"""The words for paths of the software: which kernel or operators a step takes, by the field of its job."""

from __future__ import annotations

FUSED, UNFUSED = "fused", "unfused"
COMPILED, KERNELS = "compiled", "kernels"
WIDENED, NATIVE = "widened", "native"
CHOSEN, EVERY, BLOCKS, OPERATORS = "chosen", "all", "blocks", "operators"
PATHS = {
    "attention_path": (FUSED, UNFUSED),
    "products": (COMPILED, KERNELS),
    "widening": (WIDENED, NATIVE),
    "experts": (CHOSEN, EVERY, BLOCKS, OPERATORS),
}
"""Of each field its words; "" stands where the path is not known (`software.paths_of`)."""
