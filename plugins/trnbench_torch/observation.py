"""A case from its kernel's reference to an observation, whatever the device."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from trnbench import Case, Observation, Program, Timing, Watch, observe, resolve
from trnbench_torch.collective_data import Task
from trnbench_torch.device import Carrier, Device, Launches
from trnbench_torch.library import version

KIND, RANKS = "torch", "torch-distributed"
KINDS = (KIND, RANKS)

NO_ROOM = ("not enough memory", "can't allocate memory")
"""What the allocator of a processor's memory says, in torch's versions."""


def observe_case(
    case: Case,
    parts: Sequence[Device],
    carrier: Carrier,
    *,
    device: str,
    named_by: str,
    timing: Timing,
    detail: dict[str, Any] | None = None,
    **more: Any,
) -> Observation:
    """One problem on each of `parts`, of the size that the point states.

    Raises `MemoryError` where the device has no room, and whatever else the kernel raises.
    """
    import numpy as np

    seed = random.getrandbits(64)
    reference = str(case.kernel.implementations[KIND])
    prepare = resolve(reference)

    def made() -> Program:
        rng = np.random.default_rng(seed)
        return carrier.program(Launches([prepare(case.key.point, part, rng) for part in parts]))

    return in_memory(
        lambda: observe(
            made(),
            device=device,
            named_by=named_by,
            version=f"torch {version()}",
            implementation=f"{KIND}: {reference}",
            timing=timing,
            detail={"data": {"kind": "uniform random", "seed": str(seed)}, **(detail or {})},
            **more,
        )
    )


def observe_collective(
    case: Case,
    *,
    device_kind: str,
    backend: str,
    device: str,
    named_by: str,
    timing: Timing,
    processors: tuple[tuple[int, ...], ...] = (),
) -> Observation:
    """One rank for each device of the system, each a process of its own. Raises like `observe_case`."""
    seed = random.getrandbits(32)
    reference = str(case.kernel.implementations[RANKS])
    task = Task(
        kernel=case.kernel.name,
        dtype=str(case.key.point.get("dtype", "bf16")),
        size=int(case.key.point["size"]),
        ranks=case.extent.ranks,
        seed=seed,
        device=device_kind,
        backend=backend,
        store="",
        processors=processors,
    )
    return in_memory(
        lambda: observe(
            resolve(reference)(task).program(),
            device=device,
            named_by=named_by,
            version=f"torch {version()}, {backend}",
            implementation=f"{RANKS}: {reference} ({backend})",
            timing=timing,
            detail={"data": {"kind": "uniform random", "seed": str(seed)}},
            watch=partial(Watch, alone=False),
        )
    )


def in_memory(work: Callable[[], Observation]) -> Observation:
    """What torch calls its want of memory, by the name that everybody knows."""
    try:
        return work()
    except RuntimeError as error:
        words = str(error)
        # torch.OutOfMemoryError is a RuntimeError; the processor's allocator raises a plain one.
        if type(error).__name__ == "OutOfMemoryError" or any(each in words for each in NO_ROOM):
            raise MemoryError(words.partition("\n")[0]) from error
        raise


def refused(case: Case) -> str:
    """Empty where torch has the kernel, else why not."""
    if not any(kind in case.kernel.implementations for kind in KINDS):
        return f"{case.kernel.name} has no implementation in torch"
    reach = str(case.key.point.get("reach", "neighbour"))
    return "its ranks are processes of one machine: no other host takes part" if reach != "neighbour" else ""
