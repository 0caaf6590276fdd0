"""What a layout makes of a model: the share of its parts and experts a rank has, what does not divide."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import ceil
from typing import NamedTuple

from trnbench.errors import UsageError
from trnbench.record import Record
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.job import Job, Task, check_job
from trnbench_steps.layer import FeedForward, Layer
from trnbench_steps.layout import Layout, check_layout
from trnbench_steps.model import Model
from trnbench_steps.operators import Elementwise, Product
from trnbench_steps.paths import BLOCKS, CHOSEN, EVERY, OPERATORS
from trnbench_steps.weight import Cut, Part, Weight


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


def _check_positions(model: Model, job: Job) -> None:
    """A token behind the last learned position has no vector: GPT-2's table ends, and looking it up fails."""
    length = max(job.new_tokens, job.cached)
    if model.positions and length > model.positions:
        option = "--kv" if job.kv == length else "--sequence"
        raise UsageError(
            f"{model.name} has no position {length:,}",
            cause=f"its {model.positions:,} positions are learned: there is no vector for a later token",
            try_=f"{option} {model.positions}",
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
                try_=f"--ep {_divisor(experts, layout.ep)}",
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
                try_=f"{option} {_divisor(width, degree)}",
            )


def _divisor(number: int, below: int) -> int:
    """The largest one."""
    return max(each for each in range(1, below) if number % each == 0)


PADDED = "aws-neuron/neuronx-distributed-inference, modules/attention/gqa.py"
"""Where the rules of padded and repeated heads are from."""


class Heads(Record, kw_only=True):
    """Of one rank: query heads (value heads of linear attention), and those of keys and values."""

    queries: int
    keys: int


class RankParameters(Record, kw_only=True):
    """Parameters of one rank: routed experts, and all others; they are copied over different groups."""

    experts: int
    others: int


class Division(Record, kw_only=True, dict=True):
    """A model on a layout for a job. `notes` say what the software pads or keeps twice."""

    model: Model
    layout: Layout
    job: Job
    heads: tuple[Heads, ...]  # of each kind of layer
    notes: tuple[str, ...]

    @property
    def micro_batches(self) -> int:
        """Of one step, on each data-parallel rank."""
        if self.job.task is not Task.TRAIN:
            return 1
        return self.job.batch // (self.layout.dp * self.job.micro_batch)

    @property
    def sequences(self) -> int:
        """That a rank works on at once."""
        return self.job.micro_batch if self.job.task is Task.TRAIN else self.job.batch // self.layout.dp

    @property
    def tokens(self) -> int:
        """That a rank works on at once, its part of each sequence; `sequence_parallel` not applied."""
        return self.sequences * -(-self.job.new_tokens // self.layout.cp)

    @cached_property
    def stages(self) -> tuple[dict[int, int], ...]:
        """How many layers of each kind each stage has: those of every pp-th run, as interleaving has them."""
        pattern, parts = self.model.pattern, self.layout.pp * self.layout.chunks
        length = len(pattern) // parts
        found: list[dict[int, int]] = [{} for _ in range(self.layout.pp)]
        for place, kind in enumerate(pattern):
            stage = found[place // length % self.layout.pp]
            stage[kind] = stage.get(kind, 0) + 1
        return tuple(found)

    @cached_property
    def per_layer(self) -> tuple[RankParameters, ...]:
        """What a rank holds of one layer of each kind."""
        layers = []
        for kind, layer in enumerate(self.model.kinds):
            held = {True: 0, False: 0}
            for weight in layer.weights(self.model.hidden):
                held[weight.part is Part.EXPERTS] += self.share(weight, kind)
            layers.append(RankParameters(experts=held[True], others=held[False]))
        return tuple(layers)

    def share(self, weight: Weight, kind: int | None = None) -> int:
        """Parameters of `weight` that a rank has; `kind` is the layer's, for heads."""
        if weight.part is Part.EXPERTS:
            copies = weight.copies // self.layout.ep
            cut = 1 if weight.cut is Cut.NONE else self.layout.expert_tensor
            return copies * weight.inputs * weight.outputs // cut
        if weight.cut is Cut.NONE:
            return weight.parameters
        if weight.cut is Cut.VOCABULARY:
            words = weight.copies if weight.copies > 1 else weight.outputs
            return -(-words // self.layout.tp) * (weight.parameters // words)
        if not weight.units or kind is None:
            return weight.parameters // self.layout.tp
        heads = self.heads[kind]
        of_keys = (
            weight.units == self.model.kinds[kind].attention.kv_heads
            and weight.units != self.model.kinds[kind].attention.heads
        )
        return weight.parameters // weight.units * (heads.keys if of_keys else heads.queries)


def divide(model: Model, layout: Layout, job: Job) -> Division:
    """The shares of `model` on `layout`.

    Raises `UsageError` unless batch, sequence, layers, experts and widths divide, and for more tokens than
    the model has learned positions; heads may be padded.
    """
    check_job(job)
    check_layout(layout)
    _check_task(model, layout, job)
    _check_positions(model, job)
    _check_batch(layout, job)
    _check_sequence(layout, job)
    _check_layers(model, layout)
    _check_experts(model, layout)
    for layer in model.kinds:
        _check_widths(layer, layout)
    notes: list[str] = []
    heads = tuple(_heads(layer.attention, layout.tp, job, notes.append) for layer in model.kinds)
    if model.vocabulary % layout.tp:
        padded = -(-model.vocabulary // layout.tp) * layout.tp
        notes.append(f"the vocabulary of {model.vocabulary:,} is padded to {padded:,} for {layout.tp} ranks")
    return Division(model=model, layout=layout, job=job, heads=heads, notes=tuple(dict.fromkeys(notes)))


def _heads(attention: Attention, tp: int, job: Job, note: Callable[[str], None]) -> Heads:
    """Heads of a rank: padded to the ranks, and keys and values kept by several, as the software does."""
    heads, keys = attention.heads, attention.kv_heads
    padded = -(-heads // tp) * tp
    if padded != heads:
        if job.task is Task.TRAIN:
            raise UsageError(
                f"{heads} heads are not divided by --tp {tp}",
                cause="each rank trains as many heads as the others",
                try_=f"--tp {_divisor(heads, tp)}",
            )
        note(f"{heads} heads are padded to {padded} for {tp} ranks")
    if keys == heads or attention.kind is AttentionKind.LATENT:
        return Heads(queries=padded // tp, keys=padded // tp)
    if keys % tp == 0:
        return Heads(queries=padded // tp, keys=keys // tp)
    if tp % keys == 0:
        note(f"{keys} heads of keys and values are kept by {tp // keys} ranks each")
        return Heads(queries=padded // tp, keys=1)
    if job.task is Task.TRAIN:
        raise UsageError(
            f"{keys} heads of keys and values neither divide nor are divided by --tp {tp}",
            cause="each rank has whole heads, and each head as many ranks as the others",
            try_=f"--tp {keys}",
        )
    note(f"{keys} heads of keys and values do not fit {tp} ranks: every query head gets its own")
    return Heads(queries=padded // tp, keys=padded // tp)


BLOCK = 512
"""Tokens of a block, all of one expert (DEFAULT_BLOCK_SIZE)."""

WIDTHS = 16
"""What divides the widths of an expert on a rank that the kernel for blocks takes
(`can_use_blockwise_matmul_nki`)."""


def dispatched(layout: Layout) -> bool:
    """Whether tokens travel to their experts: where these lie on ranks that have other tokens."""
    return layout.ep > 1 and layout.ep * layout.expert_tensor > layout.tp


class ExpertShare(NamedTuple):
    """`matrices` that are read, the `tokens` that each is applied to, and in how many operators one after
    the other; means all of them. `chosen`: matrices are picked by what the router says, and copied first;
    `kernel`: one of the library's does all of it."""

    matrices: float
    tokens: float
    operators: float = 1.0
    chosen: bool = False
    kernel: bool = False


def experts_of(division: Division, product: Product) -> ExpertShare:
    """Of `product`, one of a layer's experts' matrices.

    `forward_selective_loading`: as long as all tokens together meet fewer experts than there are, each token
    loads its own, one token after the other. `forward_all_experts`: from then on every expert takes every
    token, and what it was not chosen for is left out of the sum. `forward_blockwise`: `blocks_of` a prompt,
    each of which reads the matrices of its expert, in one kernel or in operators of the graph.
    Experts that tokens travel to get those alone that chose them.
    """
    network = next(kind.feed_forward for kind in division.model.kinds if kind.feed_forward.experts)
    routed, copies, path = product.tokens * product.copies, product.copies, path_of(division, network)
    tokens = product.tokens * network.experts / network.top_k
    if path == CHOSEN:
        met = copies * tokens * network.top_k / network.experts
        return ExpertShare(met, routed / met, max(min(tokens, routed), 1.0), chosen=True)
    if path == EVERY:
        return ExpertShare(copies, tokens)
    if not path:
        return ExpertShare(copies, product.tokens)
    blocks, apart = blocks_of(division, network), path == OPERATORS
    return ExpertShare(blocks, BLOCK, blocks if apart else 1.0, chosen=apart, kernel=not apart)


def path_of(division: Division, network: FeedForward) -> str:
    """The job's path of experts, or what the library takes at these shapes.

    "" where each takes its own tokens: in training, where tokens spread evenly, and where they travel
    to experts on other ranks.
    """
    job, layout = division.job, division.layout
    few = division.tokens * network.top_k < network.experts
    if job.task is Task.TRAIN or (dispatched(layout) and not few):
        return ""
    if job.experts in (CHOSEN, EVERY) or (job.experts and blocks_of(division, network)):
        return job.experts
    if few:
        return CHOSEN
    if not blocks_of(division, network):
        return EVERY
    return OPERATORS if network.expert_width // layout.expert_tensor % WIDTHS else BLOCKS


def blocks_of(division: Division, network: FeedForward) -> int:
    """Blocks that the tokens of a prompt make up on a rank, each of one expert: as many as the worst spread
    needs. 0 where its experts take whole tokens instead."""
    layout = division.layout
    copies = network.experts // layout.ep
    routed = ceil(division.tokens * network.top_k * layout.expert_tensor / layout.tp)
    if division.job.task is not Task.PREFILL or dispatched(layout) or routed < max(BLOCK, copies):
        return 0
    return min(ceil((routed - (copies - 1)) / BLOCK) + copies - 1, routed)


def unrolled(division: Division, network: FeedForward) -> bool:
    """Whether no kernel takes the blocks of a prompt: `torch_blockwise_matmul_inference` then gathers each,
    and its matrices, multiplies it, also by its affinities, and adds it to the results it has read."""
    return path_of(division, network) == OPERATORS


def weighted_sum(division: Division, network: FeedForward) -> Elementwise:
    """The results of experts, added up: all of each token that took it, or block by block."""
    tokens, layout, width = division.tokens, division.layout, division.model.hidden
    rows, summed = tokens / (layout.tp if dispatched(layout) else 1), network.top_k
    if unrolled(division, network):
        blocks = blocks_of(division, network)
        return Elementwise(
            name="weighted sum", rows=float(blocks * BLOCK), width=width, operands=2, parts=2 * blocks
        )
    if division.job.task is Task.DECODE and path_of(division, network) == EVERY:
        summed = network.experts // layout.ep
    return Elementwise(name="weighted sum", rows=rows, width=width, operands=summed)
