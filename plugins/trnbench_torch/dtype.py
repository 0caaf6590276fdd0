"""trnbench's data types as torch calls them, and how far a correct result may lie from the exact one."""

from __future__ import annotations

from typing import Any

from trnbench.errors import UnknownName

NAMES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "tf32": "float32",  # kept as fp32; the matrix unit drops what it does not take
    "fp64": "float64",
    "fp8": "float8_e4m3fn",
    "int8": "int8",
}

ROUNDOFF = {
    "bf16": 2.0**-8,
    "fp16": 2.0**-11,
    "tf32": 2.0**-11,
    "fp32": 2.0**-24,
    "fp64": 2.0**-53,
    "fp8": 2.0**-4,
    "int8": 0.0,
}
"""Half the distance between 1 and the next number: IEEE 754, bfloat16, TF32 (10 bits), OCP FP8 E4M3."""


def torch_dtype(word: object) -> Any:
    """Raises `UnknownName` for a type that torch does not have."""
    import torch

    name = NAMES.get(str(word))
    if name is None or not hasattr(torch, name):
        raise UnknownName("dtype of torch", str(word), NAMES)
    return getattr(torch, name)
