"""What the ranks of a device hold, and whether it fits into its HBM, as the documents give it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from msgspec.structs import replace

from trnbench import Scope, System, UsageError, show
from trnbench.errors import counted
from trnbench.kernels.work import item_bytes
from trnbench.record import Record
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.division import Division, RankParameters
from trnbench_steps.job import Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.model import Model

STATE = "fp32"
"""The state of linear attention is kept in (huggingface/transformers, qwen3_next: its recurrence is)."""


def cached_tokens(attention: Attention, length: int) -> int:
    """Tokens of a sequence of `length` that the layer keeps: no more than its window."""
    if attention.kind is AttentionKind.LINEAR:
        return 0
    return min(length, attention.window) if attention.window else length


def token_elements(attention: Attention) -> int:
    """Elements kept for each token: keys and values of all heads, or one vector and the shared key."""
    if attention.kind is AttentionKind.LINEAR:
        return 0
    if attention.kind is AttentionKind.LATENT:
        return attention.latent_rank + attention.rope_dim
    return attention.kv_heads * (attention.head_dim + attention.value_dim)


def state_elements(attention: Attention) -> tuple[int, int]:
    """Elements kept whatever the length: of the recurrent state, and of the convolution's last inputs."""
    if attention.kind is not AttentionKind.LINEAR:
        return 0, 0
    channels = 2 * attention.kv_heads * attention.head_dim + attention.heads * attention.value_dim
    return attention.heads * attention.head_dim * attention.value_dim, channels * (attention.convolution - 1)


def cache_bytes_per_token(model: Model, dtype: str) -> float:
    """Bytes by which the cache of a short sequence grows with each token."""
    if model.encoder:
        return 0.0
    return item_bytes(dtype) * sum(token_elements(layer.attention) * count for layer, count in model.runs())


def cache_bytes(model: Model, length: int, dtype: str) -> float:
    """Bytes of one sequence of `length` tokens, on all ranks together, nothing kept twice."""
    if model.encoder:
        return 0.0
    return sum(count * _layer_cache(layer.attention, length, dtype) for layer, count in model.runs())


def _layer_cache(attention: Attention, length: int, dtype: str) -> float:
    """Bytes that a layer keeps of one sequence of `length` tokens."""
    state, inputs = state_elements(attention)
    kept = token_elements(attention) * cached_tokens(attention, length) + inputs
    return kept * item_bytes(dtype) + state * item_bytes(STATE)


def kept_per_layer(division: Division, kind: int, recompute: Recompute) -> Fraction:
    """Elements that a layer keeps of one micro-batch for its backward pass.

    The inputs of everything that has a gradient of its own: of normalisations and matrix products, and the
    queries, keys, values and scores of attention. For GPT without dropout these are the 32·s·b·h + 2·a·s²·b
    bytes that Korthikanti et al. 2022 count in section 4.1 next to dropout's masks; outside of the cut parts
    they are cut by sequence parallelism alone (section 4.2). A window bounds the scores; experts keep what is
    routed to them, evenly spread.
    """
    model, layout = division.model, division.layout
    layer, tokens, hidden = model.kinds[kind], division.tokens, model.hidden
    along = layout.tp if layout.sequence_parallel else 1
    if recompute is Recompute.FULL:
        return Fraction(tokens * hidden, along)
    outside = layer.norms * hidden + hidden * (1 if layer.parallel else 2)
    attention = layer.attention
    if attention.kind is AttentionKind.LATENT:
        outside += attention.latent_rank + attention.rope_dim + attention.query_rank
    inside = mixer_elements(division, kind)
    if recompute is Recompute.NONE and attention.kind is not AttentionKind.LINEAR:
        # A token has a score with each that is kept: of the sequence, or of its window.
        inside += division.heads[kind].queries * cached_tokens(attention, division.job.new_tokens)
    network = layer.feed_forward
    per_token = Fraction(outside, along) + inside + Fraction(network.kept * network.width, layout.tp)
    return tokens * (per_token + _routed(division, kind))


def mixer_elements(division: Division, kind: int) -> int:
    """Elements of a token inside attention: queries, keys, values and what they give, of a rank's heads."""
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    if attention.kind is AttentionKind.LINEAR:
        # Queries, keys, values before and after the convolution; the gate, what comes out, and normalised.
        mixed = 2 * heads.keys * attention.head_dim + heads.queries * attention.value_dim
        return 2 * mixed + 3 * heads.queries * attention.value_dim
    wide = attention.head_dim + attention.rope_dim
    found = heads.queries * (wide + attention.value_dim) + heads.keys * (wide + attention.value_dim)
    return found + (heads.queries * attention.value_dim if attention.gated else 0)


def _routed(division: Division, kind: int) -> Fraction:
    """Elements of a token in its experts.

    The tokens of a stage go to all its ranks, evenly spread: a rank has expert_tp / tp copies of each of
    its own for each expert that a token meets.
    """
    network, layout = division.model.kinds[kind].feed_forward, division.layout
    copy = division.model.hidden + Fraction(network.kept * network.expert_width, layout.expert_tensor)
    return network.top_k * copy * layout.expert_tensor / layout.tp


def live(division: Division, kind: int) -> Fraction:
    """Elements alive at once in a layer that keeps nothing: its input and the residual, and the wider of its
    mixer and its network."""
    model, layout = division.model, division.layout
    network, hidden = model.kinds[kind].feed_forward, model.hidden
    along = layout.tp if layout.sequence_parallel else 1
    wide = Fraction(network.kept * network.width, layout.tp) + _routed(division, kind)
    return division.tokens * (
        Fraction(2 * hidden, along) + max(Fraction(mixer_elements(division, kind)), wide)
    )


class Memory(Record, kw_only=True):
    """Bytes of one rank, by what they hold. `FORMULAS` says how each is worked out."""

    weights: float
    cache: float
    activations: float
    gradients: float
    optimiser: float
    buffers: float

    @property
    def all(self) -> float:
        return float(sum(getattr(self, name) for name in self.__struct_fields__))


FORMULAS = {
    "weights": "parameters of the rank · bytes of their type; heads that are padded or kept by several ranks "
    "included",
    "cache": "sequences · layers · tokens (no more than a window) · elements of the rank's heads · bytes of "
    "their type; a compressed vector is on every tensor rank; a linear layer keeps its state in fp32",
    "activations": "training: what a layer keeps · layers · micro-batches in flight, and the scores of the "
    "words in fp32; otherwise: what is alive at once in the widest layer, and the scores of predicted words",
    "gradients": "parameters of the rank · bytes of the gradients' type",
    "optimiser": "parameters · (two moments, and a copy of the weights); with --zero 1 over the ranks that "
    "hold the same parameters",
    "buffers": "one gathered input of a layer where tensor or context parallelism sends, two of a stage's "
    "messages where a pipeline does. The compiler's own are not known and not counted",
}


def rank_parameters(division: Division, stage: int) -> RankParameters:
    """Parameters that a rank of `stage` holds; a tied head is on the first stage and on the last."""
    model, last = division.model, division.layout.pp - 1
    experts = others = 0
    if stage == 0:
        others += sum(division.share(weight) for weight in model.before())
    if stage == last:
        others += sum(division.share(weight) for weight in model.after())
        if model.head and model.tied and last:
            others += division.share(model.head_weight)
    for kind, count in division.stages[stage].items():
        times = 1 if model.shared_layers else count
        experts += division.per_layer[kind].experts * times
        others += division.per_layer[kind].others * times
    return RankParameters(experts=experts, others=others)


def memory(division: Division, stage: int) -> Memory:
    """The memory of one rank of `stage`."""
    job, held = division.job, rank_parameters(division, stage)
    trained = held if job.task is Task.TRAIN else RankParameters(experts=0, others=0)
    return Memory(
        weights=(held.experts + held.others) * item_bytes(job.weights),
        cache=_cache(division, stage),
        activations=_activations(division, stage),
        gradients=(trained.experts + trained.others) * item_bytes(job.gradients),
        optimiser=_optimiser(division, trained),
        buffers=_buffers(division),
    )


def _cache(division: Division, stage: int) -> float:
    job, model = division.job, division.model
    if not job.cached or model.encoder:
        return 0.0
    length = -(-job.cached // division.layout.cp)
    total = 0.0
    for kind, count in division.stages[stage].items():
        heads = division.heads[kind]
        attention = replace(model.kinds[kind].attention, heads=heads.queries, kv_heads=heads.keys)
        total += count * _layer_cache(attention, length, job.cache)
    return total * division.sequences


def _activations(division: Division, stage: int) -> float:
    model, job, layout = division.model, division.job, division.layout
    layers = division.stages[stage]
    item = item_bytes(job.activations)
    words = 0.0
    if stage == layout.pp - 1 and model.head:
        scored = division.tokens if job.task is Task.TRAIN else division.sequences
        words = scored * -(-model.vocabulary // layout.tp) * item_bytes("fp32")
    widest = float(max(live(division, kind) for kind in layers)) * item
    if job.task is not Task.TRAIN:
        return widest + words
    kept = sum(kept_per_layer(division, kind, job.recompute) * count for kind, count in layers.items())
    # Each of a stage's runs of layers keeps its own share of them.
    flying = in_flight(layout, stage, division.micro_batches) / layout.chunks
    again = max(float(kept_per_layer(division, kind, Recompute.SELECTIVE)) for kind in layers) * item
    return float(kept) * item * flying + words + (again if job.recompute is Recompute.FULL else 0.0)


def _optimiser(division: Division, trained: RankParameters) -> float:
    job, layout = division.job, division.layout
    each = 2 * item_bytes(job.moments) + (
        item_bytes(job.master) if job.master and job.master != job.weights else 0.0
    )
    if not layout.zero:
        return (trained.experts + trained.others) * each
    return (trained.others / layout.replicas + trained.experts / layout.expert_data) * each


def _buffers(division: Division) -> float:
    layout = division.layout
    message = division.tokens * division.model.hidden * item_bytes(division.job.activations)
    return message * ((1 if layout.tp > 1 or layout.cp > 1 else 0) + (2 if layout.pp > 1 else 0))


def in_flight(layout: Layout, stage: int, micro_batches: int) -> int:
    """Micro-batches whose activations `stage` keeps at most, counted for each of its runs of layers.

    1F1B: a stage keeps one for itself and one for each stage after it (Narayanan et al. 2021, section
    2.2.1). Interleaved: twice those after it, and pp for each further run of layers, so that the first
    stage keeps 1 + (pp - 1) / (pp · chunks) of what 1F1B keeps (Korthikanti et al. 2022, section 4.2.3).
    """
    after = layout.pp - stage - 1
    if layout.chunks == 1:
        return min(after + 1, micro_batches)
    return min(2 * after + (layout.chunks - 1) * layout.pp + 1, micro_batches * layout.chunks)


class Fit(Record, kw_only=True):
    """A model on a system: the fullest device, and what a rank on it holds."""

    system: str
    ranks: int  # that the layout has
    cores: int  # logical ones that the system has
    ranks_per_device: int
    rank: Memory  # of the fullest rank there
    used: float  # bytes on the fullest device
    capacity: float  # bytes of HBM of a device
    capacity_source: str  # id of the source that says so
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return self.used <= self.capacity

    @property
    def verdict(self) -> str:
        """ "fits", or by how much it does not."""
        if self.fits:
            return "fits"
        return f"does not fit: {show(self.used, 'B')} on a device of {show(self.capacity, 'B')}"


def logical_cores(system: System, lnc: int) -> tuple[int, int]:
    """Cores of the system, and of a device, that are a rank with `lnc` physical cores each (0: the default).

    Raises `UsageError` for an LNC that the system does not have.
    """
    known = tuple(int(each) for each in system.costs.get("lnc", {}).get("values", (1,)))
    if not lnc:
        each = system.logical_cores_per_device if "lnc" in system.costs else system.cores_per_device
        return system.devices * each, each
    if lnc not in known:
        raise UsageError(
            f"{system.name} has no LNC {lnc}",
            cause=f"it has {', '.join(map(str, known))}",
            try_=f"--lnc {known[-1]}",
        )
    each = system.cores_per_device // lnc
    return system.devices * each, each


def fit(division: Division, system: System) -> Fit:
    """Where `division` lies on `system`, and whether it fits there.

    Raises `UsageError` for more ranks than cores, for a core that is not there, and for a system whose
    HBM no document gives.
    """
    layout = division.layout
    cores, per_device = logical_cores(system, layout.lnc)
    highest = max(layout.placement, default=layout.ranks - 1)
    if highest >= cores:
        raise UsageError(
            f"{layout.ranks:,} ranks do not lie on {system.name}"
            if layout.ranks > cores
            else f"core {highest:,} is not on {system.name}",
            cause=f"it has {counted(cores, 'logical core')} on {counted(system.devices, 'device')}",
            try_="a larger system, or lower degrees of --tp, --cp, --dp and --pp",
        )
    capacity, source = _capacity(system)
    stages = tuple(memory(division, stage) for stage in range(layout.pp))
    used, held = _fullest(division, per_device, stages)
    notes = list(division.notes)
    if held.all > capacity / per_device and used <= capacity:
        notes.append(
            f"a rank holds {show(held.all, 'B')}, more than the {show(capacity / per_device, 'B')} that each "
            f"of the {per_device} cores of a device has"
        )
    if idle := cores - layout.ranks:
        notes.append(f"{idle:,} of {cores:,} cores have nothing to do")
    return Fit(
        system=system.name,
        ranks=layout.ranks,
        cores=cores,
        ranks_per_device=per_device,
        rank=held,
        used=used,
        capacity=capacity,
        capacity_source=source,
        notes=tuple(notes),
    )


def mixtures(division: Division, per_device: int) -> set[frozenset[tuple[int, int]]]:
    """What devices have on their cores, each kind once: of which stages, and how many ranks of each."""
    layout = division.layout
    of_stage = layout.ranks // layout.pp
    if not layout.placement and of_stage % per_device == 0:
        # A stage has whole devices: nothing is learnt from going through thousands of ranks.
        return {frozenset({(stage, per_device)}) for stage in range(layout.pp)}
    devices: dict[int, Counter[int]] = {}
    for rank in range(layout.ranks):
        devices.setdefault(layout.core(rank) // per_device, Counter())[layout.stage(rank)] += 1
    return {frozenset(device.items()) for device in devices.values()}


def _fullest(division: Division, per_device: int, stages: tuple[Memory, ...]) -> tuple[float, Memory]:
    """Bytes on the fullest device, and the fullest rank there."""

    def bytes_of(mixture: frozenset[tuple[int, int]]) -> float:
        return sum(stages[stage].all * count for stage, count in mixture)

    fullest = max(mixtures(division, per_device), key=lambda each: (bytes_of(each), sorted(each)))
    return bytes_of(fullest), max((stages[stage] for stage, _ in fullest), key=lambda each: each.all)


def _capacity(system: System) -> tuple[float, str]:
    facts = [
        fact
        for fact in system.book.select(system.subject(Scope.DEVICE), "hbm_capacity", scope=Scope.DEVICE)
        if fact.value is not None
    ]
    current = [fact for fact in facts if not fact.superseded_by] or facts
    if not current or current[0].value is None:
        raise UsageError(
            f"no document gives the HBM of {system.name}",
            cause=f"its device, {system.instance.device}, has no fact of hbm_capacity",
            try_="--facts with a file that gives it, see docs/facts.md",
        )
    return current[0].value, current[0].source
