"""What a layout makes of a model: which share of its parts a rank has, and what does not divide."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import msgspec

from trnbench.errors import UsageError
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.divisible import check_divisible
from trnbench_steps.job import Job, Task, check_job
from trnbench_steps.layout import Layout, check_layout
from trnbench_steps.model import Model
from trnbench_steps.weight import Cut, Part, Weight

PADDED = "aws-neuron/neuronx-distributed-inference, modules/attention/gqa.py"
"""Where the rules of padded and repeated heads are from."""


class Heads(msgspec.Struct, frozen=True, kw_only=True):
    """Of one rank: query heads (value heads of linear attention), and those of keys and values."""

    queries: int
    keys: int


class RankParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one rank: routed experts, and all others; they are copied over different groups."""

    experts: int
    others: int


class Division(msgspec.Struct, frozen=True, kw_only=True, dict=True):
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
    """The shares of `model` on `layout`. Raises `UsageError` for what does not divide, with the reason."""
    check_job(job)
    check_layout(layout)
    notes: list[str] = []
    check_divisible(model, layout, job)
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
                try_=f"--tp {max(each for each in range(1, tp) if heads % each == 0)}",
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
