"""Words of a job, by its field: paths of the software, which say what a step takes, and parts with a type."""

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

TYPES = {
    **dict.fromkeys(("weights", "activations", "cache", "gradients"), "bf16"),
    **dict.fromkeys(("moments", "master"), "fp32"),
}
"""What has a type, and which unless another is typed: fields of `trnbench_steps.job.Job`."""
