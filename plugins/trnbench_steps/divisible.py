"""What a layout cannot cut evenly: refused, with the reason and the next degree that works."""

from __future__ import annotations

from trnbench.errors import UsageError
from trnbench_steps.job import Job, Task
from trnbench_steps.layer import Layer
from trnbench_steps.layout import Layout
from trnbench_steps.model import Model


def check_divisible(model: Model, layout: Layout, job: Job) -> None:
    """Raises `UsageError` unless batch, sequence, layers, experts and widths divide; heads may be padded."""
    _check_task(model, layout, job)
    _check_batch(layout, job)
    _check_sequence(layout, job)
    _check_layers(model, layout)
    _check_experts(model, layout)
    for layer in model.kinds:
        _check_widths(layer, layout)


def _check_task(model: Model, layout: Layout, job: Job) -> None:
    if model.encoder and job.task is Task.DECODE:
        raise UsageError(
            f"{model.name} decodes nothing",
            cause="an encoder reads a whole sequence and keeps no cache",
            try_="--task prefill --sequence 128, its forward pass",
        )
    if layout.zero and job.task is not Task.TRAIN:
        raise UsageError(
            f"--zero {layout.zero} has nothing to cut in {job.task}",
            cause="only training has an optimiser",
            try_="--task train, or leave --zero out",
        )


def _check_batch(layout: Layout, job: Job) -> None:
    sequences = layout.dp * (job.micro_batch if job.task is Task.TRAIN else 1)
    if job.batch % sequences:
        what = (
            f"{layout.dp} data-parallel ranks × micro-batches of {job.micro_batch}"
            if job.task is Task.TRAIN
            else f"{layout.dp} data-parallel ranks"
        )
        raise UsageError(
            f"a batch of {job.batch} is not divided by {what}",
            cause="each of them takes as many sequences as the others; "
            f"{sequences} does not divide {job.batch}",
            try_=f"--batch {-(-job.batch // sequences) * sequences}",
        )
    count = job.batch // sequences
    if job.task is Task.TRAIN and layout.chunks > 1 and count % layout.pp:
        raise UsageError(
            f"{count} micro-batches are not divided by {layout.pp} stages",
            cause="an interleaved pipeline takes its micro-batches in rounds of one for each stage",
            try_=f"--batch {-(-count // layout.pp) * layout.pp * sequences}, or --chunks 1",
        )


def _check_sequence(layout: Layout, job: Job) -> None:
    if job.task is Task.DECODE:
        if layout.sequence_parallel:
            raise UsageError(
                "--sequence-parallel has nothing to cut in decode",
                cause="a step adds one token to each sequence",
                try_="leave --sequence-parallel out",
            )
        return
    if job.sequence % layout.cp:
        raise UsageError(
            f"a sequence of {job.sequence} is not divided by --cp {layout.cp}",
            cause="each rank has as many tokens as the others",
            try_=f"--sequence {-(-job.sequence // layout.cp) * layout.cp}",
        )
    if layout.sequence_parallel and job.sequence // layout.cp % layout.tp:
        raise UsageError(
            f"{job.sequence // layout.cp} tokens are not divided by --tp {layout.tp}",
            cause="sequence parallelism gives each rank as many tokens as the others",
            try_=f"--sequence {-(-job.sequence // (layout.cp * layout.tp)) * layout.cp * layout.tp}",
        )


def _check_layers(model: Model, layout: Layout) -> None:
    parts = layout.pp * layout.chunks
    if model.layers % parts:
        runs = f"{layout.pp} stages" + (f" of {layout.chunks} runs" if layout.chunks > 1 else "")
        divisors = [each for each in range(1, model.layers + 1) if model.layers % each == 0]
        raise UsageError(
            f"{model.layers} layers are not divided by {runs}",
            cause="each stage has as many layers as the others",
            try_=f"--pp times --chunks one of {', '.join(map(str, divisors[:12]))}",
        )
    if layout.pp > 1 and model.shared_layers:
        raise UsageError(
            f"{model.name} has no stages", cause="all its layers share one set of weights", try_="--pp 1"
        )


def _check_experts(model: Model, layout: Layout) -> None:
    counts = sorted({layer.feed_forward.experts for layer in model.kinds if layer.feed_forward.experts})
    if not counts and (layout.ep > 1 or layout.expert_tp):
        raise UsageError(
            f"{model.name} has no experts", cause="--ep and --expert-tp say where they lie", try_="--ep 1"
        )
    for experts in counts:
        if experts % layout.ep:
            raise UsageError(
                f"{experts} experts are not divided by --ep {layout.ep}",
                cause="each group of ranks has as many experts as the others",
                try_=f"--ep {max(each for each in range(1, layout.ep) if experts % each == 0)}",
            )


def _check_widths(layer: Layer, layout: Layout) -> None:
    network = layer.feed_forward
    for what, width, degree, option in (
        ("a network", network.width, layout.tp, "--tp"),
        ("an expert", network.expert_width, layout.expert_tensor, "--expert-tp"),
    ):
        if width % degree:
            raise UsageError(
                f"{what} of {width} features is not divided by {option} {degree}",
                cause="each rank has as many of them as the others",
                try_=f"{option} {max(each for each in range(1, degree) if width % each == 0)}",
            )
