"""Random data on a device: drawn in a block, laid out over as many elements as a kernel asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnbench_torch.dtype import torch_dtype

if TYPE_CHECKING:
    from numpy.random import Generator

    from trnbench_torch.device import Device

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
    import torch

    return torch.empty(shape, dtype=torch_dtype(dtype), device=device.torch_device)


def exact(tensor: Any) -> Any:
    """A small tensor as float64 in NumPy: every type that a kernel has fits into it."""
    import torch

    return tensor.detach().to("cpu").to(torch.float64).numpy()


def exact_at(tensor: Any, at: Any) -> Any:
    """The rows (or elements) `at` of a tensor, like `exact`."""
    import torch

    index = torch.from_numpy(at).to(tensor.device)
    if tensor.element_size() == 1:
        # As bytes: not every device picks rows out of 8-bit floating-point tensors.
        return exact(tensor.view(torch.uint8)[index].view(tensor.dtype))
    return exact(tensor[index])


def places(count: int, most: int) -> Any:
    """`most` positions among `count`, first and last included, spread evenly; int64."""
    import numpy as np

    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _drawn(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return min(count, BLOCK)


def _laid_out(device: Device, block: Any, shape: tuple[int, ...], dtype: str) -> Any:
    import torch

    count = 1
    for extent in shape:
        count *= extent
    one = torch.from_numpy(block).to(torch_dtype(dtype)).to(device.torch_device)
    if count == len(block):
        return one.reshape(shape)
    # As bytes: not every operator knows the 8-bit floating-point types.
    raw = one.view(torch.uint8)
    whole = torch.empty(count * one.element_size(), dtype=torch.uint8, device=device.torch_device)
    for start in range(0, whole.numel(), raw.numel()):
        part = whole[start : start + raw.numel()]
        part.copy_(raw[: part.numel()])
    return whole.view(one.dtype).reshape(shape)
