"""How a model lies on ranks: which of its parts are cut, along what, and which cores the ranks are."""

from __future__ import annotations

from enum import StrEnum
from math import prod

from trnbench.bounded import kinds
from trnbench.errors import UsageError
from trnbench.record import Record


class Axis(StrEnum):
    """A kind of parallelism; the ranks that share it form a group."""

    PIPELINE = "pipeline"
    DATA = "data"
    CONTEXT = "context"
    TENSOR = "tensor"
    EXPERT = "expert"
    EXPERT_TENSOR = "expert tensor"
    EXPERT_DATA = "expert data"  # ranks that hold the same experts
    REPLICA = "replica"  # data and context: ranks that hold the same parameters otherwise


class Layout(Record, kw_only=True):
    """Degrees of parallelism. Ranks: tp · cp · dp · pp.

    Tensor (`tp`), with `sequence_parallel` what lies between the cut parts is cut along the sequence;
    pipeline (`pp` stages, each of `chunks` runs of layers: 1F1B for one, interleaved for more, Narayanan
    et al. 2021); data (`dp`, with `zero` 1 the optimiser's state is cut over the data-parallel ranks,
    Rajbhandari et al. 2020); context (`cp`: the sequence is cut in attention too). Experts lie over `ep`
    groups of ranks of a stage, each expert cut over `expert_tp` of them (0: over `tp`), as Liu et al. 2025
    fold them. `lnc` physical cores make a rank (0: the system's default).

    Tensor ranks are neighbours, then context, data, pipeline. `placement` says which core each rank is, where
    that is not its number.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    expert_tp: int = 0
    chunks: int = 1
    sequence_parallel: bool = False
    zero: int = 0
    lnc: int = 0
    placement: tuple[int, ...] = ()

    @property
    def ranks(self) -> int:
        return self.tp * self.cp * self.dp * self.pp

    @property
    def expert_tensor(self) -> int:
        return self.expert_tp or self.tp

    @property
    def expert_data(self) -> int:
        """Ranks that hold the same part of the same experts."""
        return self.tp * self.cp * self.dp // (self.ep * self.expert_tensor)

    @property
    def replicas(self) -> int:
        """Ranks that hold the same parameters, experts aside."""
        return self.dp * self.cp

    def core(self, rank: int) -> int:
        return self.placement[rank] if self.placement else rank

    def groups(self, axis: Axis) -> tuple[tuple[int, ...], ...]:
        """The cores that belong together along `axis`, group by group; none where a group is one rank."""
        if axis in (Axis.EXPERT, Axis.EXPERT_TENSOR, Axis.EXPERT_DATA):
            grid = {
                Axis.PIPELINE: self.pp,
                Axis.EXPERT_DATA: self.expert_data,
                Axis.EXPERT: self.ep,
                Axis.EXPERT_TENSOR: self.expert_tensor,
            }
        elif axis is Axis.REPLICA:
            grid = {Axis.PIPELINE: self.pp, Axis.REPLICA: self.replicas, Axis.TENSOR: self.tp}
        else:
            grid = {Axis.PIPELINE: self.pp, Axis.DATA: self.dp, Axis.CONTEXT: self.cp, Axis.TENSOR: self.tp}
        size, order = grid[axis], list(grid)
        if size == 1:
            return ()
        stride = prod(grid[inner] for inner in order[order.index(axis) + 1 :])
        span = stride * size
        return tuple(
            tuple(self.core(outer + inner + place * stride) for place in range(size))
            for outer in range(0, self.ranks, span)
            for inner in range(stride)
        )

    def stage(self, rank: int) -> int:
        """The pipeline stage of a rank."""
        return rank // (self.ranks // self.pp)


def check_layout(layout: Layout) -> None:
    """Raises `UsageError` for degrees that are none, or contradict each other."""
    degrees = ("tp", "pp", "dp", "cp", "ep", "chunks")
    for name in degrees:
        kinds.DEGREE.checked(getattr(layout, name), f"--{name}")
    if layout.expert_tp:
        kinds.DEGREE.checked(layout.expert_tp, "--expert-tp")
    kinds.GROUP.checked(layout.ranks, "the number of ranks")
    if layout.zero not in (0, 1):
        raise UsageError(
            f"--zero {layout.zero} is not known here",
            cause="0 keeps the optimiser's state on every rank, 1 cuts it over the data-parallel ranks",
            try_="--zero 1",
        )
    if layout.chunks > 1 and layout.pp == 1:
        raise UsageError(
            f"--chunks {layout.chunks} needs several stages",
            cause="an interleaved pipeline gives each stage several runs of layers",
            try_="--pp 4, or leave --chunks out",
        )
    within = layout.tp * layout.cp * layout.dp
    if within % (layout.ep * layout.expert_tensor):
        raise UsageError(
            f"{layout.ep} × {layout.expert_tensor} ranks of --ep and --expert-tp do not divide the {within} "
            "of a stage",
            cause="experts lie over the ranks that tensor, context and data parallelism have",
            try_=f"--ep {layout.ep} --expert-tp 1, or more --dp",
        )
    _check_placement(layout)


def _check_placement(layout: Layout) -> None:
    if not layout.placement:
        return
    if len(layout.placement) != layout.ranks:
        raise UsageError(
            f"the placement names {len(layout.placement):,} cores for {layout.ranks:,} ranks",
            cause="it says of each rank which core it is",
            try_="one core for each rank, or no placement",
        )
    for core in layout.placement:
        kinds.RANK.checked(core, "the core")
    if len(set(layout.placement)) != layout.ranks:
        raise UsageError(
            "the placement names a core twice", cause="a core is one rank", try_="one core for each rank"
        )
