"""Random data on a device: drawn in a block, laid out over as many elements as a kernel asks for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import torch
from trnbench.errors import UnknownName

if TYPE_CHECKING:
    from numpy.random import Generator

    from trnbench_torch.device import Device


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
    name = NAMES.get(str(word))
    if name is None or not hasattr(torch, name):
        raise UnknownName("dtype of torch", str(word), NAMES)
    return getattr(torch, name)


BLOCK = 1_048_573
"""Values drawn at most; a prime, so that rows of matrices whose sides are round numbers differ."""


def uniform(
    device: Device, rng: Generator, shape: tuple[int, ...], dtype: str, low: float = -1.0, high: float = 1.0
) -> Any:
    """A tensor on the device of values between `low` and `high`, rounded to `dtype`."""
    return _laid_out(device, rng.uniform(low, high, _drawn(shape)).astype("float32"), shape, dtype)


def integers(device: Device, rng: Generator, shape: tuple[int, ...], dtype: str, reach: int) -> Any:
    """A tensor of whole numbers from -reach to reach."""
    return _laid_out(device, rng.integers(-reach, reach + 1, _drawn(shape)).astype("float32"), shape, dtype)


def empty(device: Device, shape: tuple[int, ...], dtype: str) -> Any:
    return torch.empty(shape, dtype=torch_dtype(dtype), device=device.torch_device)


def exact(tensor: Any) -> Any:
    """A small tensor as float64 in NumPy: every type that a kernel has fits into it."""
    return tensor.detach().to("cpu").to(torch.float64).numpy()


def exact_at(tensor: Any, at: Any) -> Any:
    """The rows (or elements) `at` of a tensor, like `exact`."""
    index = torch.from_numpy(at).to(tensor.device)
    if tensor.element_size() == 1:
        # As bytes: not every device picks rows out of 8-bit floating-point tensors.
        return exact(tensor.view(torch.uint8)[index].view(tensor.dtype))
    return exact(tensor[index])


def places(count: int, most: int) -> Any:
    """`most` positions among `count`, first and last included, spread evenly; int64."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _drawn(shape: tuple[int, ...]) -> int:
    return min(math.prod(shape), BLOCK)


def _laid_out(device: Device, block: Any, shape: tuple[int, ...], dtype: str) -> Any:
    count = math.prod(shape)
    block_tensor = torch.from_numpy(block).to(torch_dtype(dtype)).to(device.torch_device)
    if count == len(block):
        return block_tensor.reshape(shape)
    # As bytes: not every operator knows the 8-bit floating-point types.
    raw = block_tensor.view(torch.uint8)
    laid = torch.empty(count * block_tensor.element_size(), dtype=torch.uint8, device=device.torch_device)
    for start in range(0, laid.numel(), raw.numel()):
        stretch = laid[start : start + raw.numel()]
        stretch.copy_(raw[: stretch.numel()])
    return laid.view(block_tensor.dtype).reshape(shape)
