"""Which layouts of a model on a system are worth a look, and which are next to one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec.structs import replace

from trnbench import System, UsageError
from trnbench_steps.hbm import logical_cores
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.model import Model

STAGES = (1, 2, 4, 8, 16)


def cores_of(system: System, lnc: int = 0) -> tuple[int, int]:
    """Logical cores of the system and of an instance of it; none of a system without them."""
    try:
        cores, _ = logical_cores(system, lnc)
    except UsageError:
        return 0, 0
    return cores, cores // system.size if system.instance.sizable else cores


def layouts(model: Model, task: Task, system: System) -> Iterator[Layout]:
    """Tensor degrees that are powers of two and divide the cores; the rest are replicas of the model.

    Of experts also those that lie whole on the tensor ranks. Training: sequence parallel, ZeRO-1, and stages
    of a pipeline, the fewest first. The rest of what people turn is next to one of these: `neighbours`.
    """
    cores, instance = cores_of(system)
    experts = max((kind.feed_forward.experts for kind in model.kinds), default=0)
    tp = 1
    while tp <= instance and instance % tp == 0:
        if task is Task.TRAIN:
            for pp in STAGES:
                if cores % (tp * pp) == 0:
                    yield Layout(tp=tp, pp=pp, dp=cores // (tp * pp), zero=1, sequence_parallel=tp > 1)
        else:
            yield Layout(tp=tp, dp=cores // tp)
            if experts and tp > 1 and experts % tp == 0:
                yield Layout(tp=tp, dp=cores // tp, ep=tp, expert_tp=1)
        tp *= 2


def neighbours(model: Model, layout: Layout, job: Job, system: System) -> Iterator[tuple[Layout, Job]]:
    """What differs in one thing that people turn, by one notch; replicas take the cores that are left.

    Degrees of tensor, context and pipeline parallelism twice or half as large, cores of a rank, experts cut
    or whole; in training also ZeRO, sequence parallelism, runs of layers, micro-batch and recomputation.
    """
    changes: list[dict[str, int | bool]] = [
        {name: size}
        for name in ("tp", "cp", "pp")
        for size in _notches(getattr(layout, name))
        if name != "pp" or job.task is Task.TRAIN or layout.pp > 1
    ]
    changes += [{"lnc": lnc} for lnc in _lnc(system, layout)]
    if any(kind.feed_forward.experts for kind in model.kinds):
        changes.append({"ep": 1, "expert_tp": 0} if layout.ep > 1 else {"ep": layout.tp, "expert_tp": 1})
    jobs: list[Job] = []
    if job.task is Task.TRAIN:
        changes += [{"zero": 1 - layout.zero}, {"sequence_parallel": not layout.sequence_parallel}]
        if layout.pp > 1:
            changes += [{"chunks": size} for size in _notches(layout.chunks)]
        jobs += [replace(job, micro_batch=size) for size in _notches(job.micro_batch)]
        jobs += [replace(job, recompute=each) for each in Recompute if each is not job.recompute]
    for change in changes:
        if (other := _filled(replace(layout, **change), system)) is not None:
            yield other, job
    for each in jobs:
        yield layout, each


def _notches(size: int) -> tuple[int, ...]:
    return (size * 2, size // 2) if size > 1 and size % 2 == 0 else (size * 2,)


def _lnc(system: System, layout: Layout) -> list[int]:
    """Other numbers of cores that a rank may have; 0 is the system's own."""
    table = system.costs.get("lnc", {})
    own = int(table.get("default", 1))
    others = [0 if int(each) == own else int(each) for each in table.get("values", ())]
    return [each for each in others if each != layout.lnc]


def _filled(layout: Layout, system: System) -> Layout | None:
    """With as many replicas as there is room for; None where it does not lie there."""
    cores, instance = cores_of(system, layout.lnc)
    ranks = prod((layout.tp, layout.cp, layout.pp))
    if layout.tp * layout.cp > instance or not cores or cores % ranks:
        return None
    within = layout.ep > 1
    return replace(
        layout,
        dp=cores // ranks,
        chunks=layout.chunks if layout.pp > 1 else 1,
        sequence_parallel=layout.sequence_parallel and layout.tp > 1,
        ep=layout.tp if within else 1,
        expert_tp=1 if within else 0,
    )


def words(layout: Layout) -> str:
    """`tp 32, pp 4, dp 8`: degrees above 1, and what else is not as usual."""
    degrees = [
        f"{name} {getattr(layout, name)}"
        for name in ("tp", "pp", "dp", "cp", "ep", "chunks")
        if getattr(layout, name) > 1
    ]
    if layout.lnc:
        degrees.append(f"lnc {layout.lnc}")
    return ", ".join(degrees) or "1 rank"


def turned(layout: Layout, job: Job) -> str:
    """What `words` leaves out: of training micro-batch, recomputation, ZeRO and sequence parallelism."""
    said = [] if job.weights == "bf16" else [job.weights]
    if job.task is Task.TRAIN:
        said += [f"micro-batch {job.micro_batch}"] if job.micro_batch > 1 else []
        said += [f"recompute {job.recompute}"] if job.recompute is not Recompute.SELECTIVE else []
        said += [] if layout.zero else ["zero 0"]
        said += ["no sequence parallel"] if layout.tp > 1 and not layout.sequence_parallel else []
    return ", ".join(said)
