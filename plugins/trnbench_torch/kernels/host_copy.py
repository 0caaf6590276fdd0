"""Copies between the host's memory and the device's, from pages that the device may read by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import torch
from trnbench.kernels.kernel import Point
from trnbench_torch import data
from trnbench_torch.device import Device, Launch

if TYPE_CHECKING:
    from numpy.random import Generator


PLACES = 4096


def host_to_device(point: Point, device: Device, rng: Generator) -> Launch:
    here, there = _arrays(point, device, rng)
    return _launch(point, device, rng, host_to_device, here, there)


def device_to_host(point: Point, device: Device, rng: Generator) -> Launch:
    here, there = _arrays(point, device, rng)
    there.copy_(here)
    back = here.clone().zero_()
    return _launch(point, device, rng, device_to_host, there, back.pin_memory() if _pins(device) else back)


def _arrays(point: Point, device: Device, rng: Generator) -> tuple[Any, Any]:
    count = max(1, int(point["size"]))
    block = torch.from_numpy(rng.integers(0, 256, min(count, data.BLOCK)).astype("uint8"))
    here = block.repeat(-(-count // len(block)))[:count].contiguous()
    there = torch.empty(count, dtype=torch.uint8, device=device.torch_device)
    return here.pin_memory() if _pins(device) else here, there


def _pins(device: Device) -> bool:
    return device.kind == "cuda"


def _launch(
    point: Point,
    device: Device,
    rng: Generator,
    prepare: Callable[[Point, Device, Generator], Launch],
    source: Any,
    target: Any,
) -> Launch:
    size = source.numel()
    places = data.places(size, PLACES)
    unit = target[:1].clone()

    def check(found: Any) -> str:
        seen, wanted = data.exact_at(found, places), data.exact_at(source, places)
        if np.array_equal(seen, wanted):
            return ""
        return f"byte {int(places[np.flatnonzero(seen != wanted)[0]])} did not arrive as it was sent"

    return Launch(
        call=lambda: target.copy_(source, non_blocking=True),
        check=check,
        checked=f"{len(places):,} bytes compared",
        amount=float(size),
        smaller=lambda: prepare({**point, "size": max(1, size // 4)}, device, rng),
        idle=lambda: unit.copy_(source[:1], non_blocking=True),
        settings={"pinned": _pins(device)},
    )
