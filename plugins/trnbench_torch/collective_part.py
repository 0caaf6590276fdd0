"""One rank's part in a collective: its buffers, its call, and the check of what it ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import torch
from torch import distributed as dist
from trnbench_torch import data
from trnbench_torch.collective_data import BLOCK, Share, Task
from trnbench_torch.data import ROUNDOFF, torch_dtype

PLACES = 4096


class Part:
    """Buffers for one size; `call` starts the operation and waits until this rank has its result."""

    def __init__(self, task: Task, rank: int, size: int) -> None:
        self.task, self.rank, self.size = task, rank, size
        self.share = Share(task, rank, size)
        self.dtype = torch_dtype(task.dtype)
        self.device = torch.device("cuda", rank) if task.device == "cuda" else torch.device("cpu")
        self._block = torch.from_numpy(self.share.block(rank)).to(self.dtype).to(self.device)
        in_place = task.kernel in ("all_reduce", "broadcast")
        self.given = torch.empty(self.share.given, dtype=self.dtype, device=self.device)
        self.taken = (
            self.given if in_place else torch.empty(self.share.taken, dtype=self.dtype, device=self.device)
        )
        self.call = self._awaited(self._operation())
        self.ready()

    def ready(self) -> None:
        """What it brings is as it was; what it took is gone."""
        if self.taken is not self.given:
            self.taken.zero_()
        if self.task.kernel == "broadcast" and self.rank:
            self.given.zero_()
        else:
            self._fill(self.given)
        self._wait()

    def check(self) -> str:
        """What it ended with, held against what all ranks brought."""
        places = data.places(self.share.taken, PLACES)
        found = self.share.wanted(places, self._rounded)
        if found is None:
            return ""
        wanted, weight = found
        seen = data.exact_at(self.taken, places)
        off = np.abs(seen - wanted) > 2.0 * ROUNDOFF[self.task.dtype] * (
            weight + np.abs(wanted) * (weight > 0)
        )
        wrong = np.flatnonzero(off | ~np.isfinite(seen))
        if not len(wrong):
            return ""
        first = wrong[0]
        element = f"element {int(places[first])} of rank {self.rank}"
        return f"{element} is {seen[first]:.6g}, it should be {wanted[first]:.6g}"

    def _rounded(self, block: Any) -> Any:
        return data.exact(torch.from_numpy(block).to(self.dtype))

    def _fill(self, tensor: Any) -> None:
        for start in range(0, tensor.numel(), BLOCK):
            block = tensor[start : start + BLOCK]
            block.copy_(self._block[: block.numel()])

    def _wait(self) -> None:
        if self.task.device == "cuda":
            torch.cuda.synchronize(self.device)

    def _awaited(self, operation: Callable[[], Any]) -> Callable[[], None]:
        def call() -> None:
            operation()
            self._wait()

        return call

    def _operation(self) -> Callable[[], Any]:

        # The names of torch 2.13, and those of before, which warn from then on.
        all_gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
        reduce_scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
        source, target, ranks, rank = self.given, self.taken, self.task.ranks, self.rank

        def permute() -> None:
            sent = dist.P2POp(dist.isend, source, (rank + 1) % ranks)
            received = dist.P2POp(dist.irecv, target, (rank - 1) % ranks)
            for work in dist.batch_isend_irecv([sent, received]):
                work.wait()

        def point_to_point() -> None:
            if rank == 0:
                dist.send(source, 1)
            elif rank == 1:
                dist.recv(target, 0)

        operations: dict[str, Callable[[], Any]] = {
            "all_reduce": lambda: dist.all_reduce(source),
            "all_gather": lambda: all_gather(target, source),
            "reduce_scatter": lambda: reduce_scatter(target, source),
            "all_to_all": lambda: dist.all_to_all_single(target, source),
            "broadcast": lambda: dist.broadcast(source, 0),
            "permute": permute,
            "point_to_point": point_to_point,
        }
        return operations[self.task.kernel]


def join(task: Task, rank: int) -> None:
    """Makes this process rank `rank` of the group that meets at the task's file."""
    import datetime
    import os

    if task.processors:
        mine = task.processors[rank]
        os.sched_setaffinity(0, mine)
        torch.set_num_threads(len(mine))
    if task.device == "cuda":
        torch.cuda.set_device(rank)
    # Ranks of one machine meet over its own loop, whatever its name resolves to.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        task.backend,
        init_method=f"file://{task.store}",
        rank=rank,
        world_size=task.ranks,
        timeout=datetime.timedelta(seconds=task.limit_s),
    )
