"""What each rank of a collective brings, and what it must end with: known to every rank, from one seed."""

from __future__ import annotations

from typing import Any

from trnbench.kernels.work import item_bytes
from trnbench.record import Record

BLOCK = 65_521
"""Values drawn for each rank; a prime, so that no two pieces of equal length are the same."""

SHARED = ("all_gather", "reduce_scatter", "all_to_all")
"""Collectives whose tensor is split over the ranks."""


class Task(Record, kw_only=True):
    """One collective for all ranks alike. `store` is a file they meet at; `size` as the kernel counts it."""

    kernel: str
    dtype: str
    size: int
    ranks: int
    seed: int
    device: str  # "cpu" or "cuda"
    backend: str  # "gloo" or "nccl"
    store: str
    processors: tuple[tuple[int, ...], ...] = ()  # of each rank; empty: wherever the system puts it
    limit_s: float = 60.0


class Share:
    """Sizes and values of one rank."""

    def __init__(self, task: Task, rank: int, size: int) -> None:
        self.task, self.rank = task, rank
        total = max(1, int(size // item_bytes(task.dtype)))
        self.shard = max(1, total // task.ranks)
        self.total = self.shard * task.ranks if task.kernel in SHARED else total
        self._blocks: dict[int, Any] = {}

    @property
    def given(self) -> int:
        """Elements that it brings."""
        return self.shard if self.task.kernel == "all_gather" else self.total

    @property
    def taken(self) -> int:
        """Elements that it ends with."""
        return self.shard if self.task.kernel == "reduce_scatter" else self.total

    def block(self, rank: int) -> Any:
        """The values of a rank, which its tensor repeats; fp32 that fits the data type exactly or nearly."""
        import numpy as np

        if rank not in self._blocks:
            rng = np.random.default_rng([self.task.seed, rank])
            if self.task.dtype == "int8":
                reach = max(1, 127 // self.task.ranks)
                drawn = rng.integers(-reach, reach + 1, BLOCK).astype(np.float32)
            else:
                drawn = rng.uniform(-1.0, 1.0, BLOCK).astype(np.float32)
            self._blocks[rank] = drawn
        return self._blocks[rank]

    def wanted(self, at: Any, rounded: Any) -> Any:
        """(values, how far each may be off in units of rounding) of the elements `at` it must end with;
        None where it ends with nothing. `rounded(block)` gives a block as its data type holds it."""
        import numpy as np

        task, kernel = self.task, self.task.kernel
        blocks = {rank: rounded(self.block(rank)) for rank in range(task.ranks)}

        def of(rank: int, index: Any) -> Any:
            return blocks[rank][index % BLOCK]

        if kernel in ("all_reduce", "reduce_scatter"):
            index = at + self.rank * self.shard if kernel == "reduce_scatter" else at
            contributions = np.stack([of(rank, index) for rank in range(task.ranks)])
            # Added in the data type, in whatever order: one rounding for each rank.
            return contributions.sum(axis=0), task.ranks * np.abs(contributions).sum(axis=0)
        if kernel == "all_gather":
            source, index = at // self.shard, at % self.shard
        elif kernel == "all_to_all":
            source, index = at // self.shard, self.rank * self.shard + at % self.shard
        elif kernel == "broadcast":
            source, index = np.zeros_like(at), at
        elif kernel == "permute":
            source, index = np.full_like(at, (self.rank - 1) % task.ranks), at
        elif self.rank == 1:  # point_to_point: rank 0 sends to rank 1
            source, index = np.zeros_like(at), at
        else:
            return None
        values = np.empty(len(at))
        for rank in range(task.ranks):
            mine = source == rank
            values[mine] = of(rank, index[mine])
        return values, np.zeros(len(at))
