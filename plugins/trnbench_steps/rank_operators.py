"""What a rank does in a forward pass, between stages too, and in reverse, by gradients, in a backward one."""

from __future__ import annotations

from msgspec.structs import replace

from trnbench.kernels.work import item_bytes
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.division import BLOCK, Division, blocks_of, dispatched, unrolled, weighted_sum
from trnbench_steps.job import Task
from trnbench_steps.layout import Axis
from trnbench_steps.operators import (
    Convolution,
    Elementwise,
    Exchange,
    Mixing,
    Operator,
    Product,
    Recurrence,
    WeightGradient,
)
from trnbench_steps.weight import Cut, Part, Weight


def network_operators(division: Division, kind: int) -> list[Operator]:
    """Of one layer of `kind`, for the tokens a rank works on at once; what is added up after it left out.

    Where experts lie on ranks with the same tokens, each computes its own and the results are added up with
    those of the other tensor ranks. Elsewhere each tensor rank sends its part of the tokens to the experts
    and gets them back (Liu et al. 2025).
    """
    network, layout = division.model.kinds[kind].feed_forward, division.layout
    hidden, tokens = division.model.hidden, division.tokens
    operators: list[Operator] = []
    if network.width:
        operators += _matrices(network.gated, tokens, hidden, network.width // layout.tp, 1, Part.MLP)
    if network.shared_gate:
        operators.append(Product(name="shared gate", tokens=tokens, inputs=hidden, outputs=1))
    if not network.experts:
        return operators
    operators.append(Product(name="router", tokens=tokens, inputs=hidden, outputs=network.experts))
    copies = network.experts // layout.ep
    routed = tokens * network.top_k * layout.expert_tensor / layout.tp
    wide = network.expert_width // layout.expert_tensor
    operators += _sent(division, network.top_k, "dispatch")
    blocks = blocks_of(division, network) if unrolled(division, network) else 0
    tokens_of_blocks = Elementwise(name="gather", rows=blocks * BLOCK, width=hidden, parts=blocks)
    operators += [tokens_of_blocks] if blocks else []
    operators += _matrices(network.gated, routed / copies, hidden, wide, copies, Part.EXPERTS)
    operators += [replace(tokens_of_blocks, name="affinities")] if blocks else []
    operators += _sent(division, network.top_k, "combine")
    operators.append(weighted_sum(division, network))
    return operators


def _matrices(gated: bool, tokens: float, hidden: int, width: int, copies: int, part: Part) -> list[Operator]:
    """Gate and up of experts are one matrix: `gate_up_proj` (neuronx_distributed, modules/moe/experts.py)."""
    rising = {"gate": width, "up": width} if gated else {"up": width}
    if gated and part is Part.EXPERTS:
        rising = {"gate up": 2 * width}
    products: list[Operator] = [
        Product(name=f"{part} {name}", tokens=tokens, inputs=hidden, outputs=outputs, copies=copies)
        for name, outputs in rising.items()
    ]
    operands = 2 if gated else 1
    products.append(
        Elementwise(name=f"{part} activation", rows=tokens * copies, width=width, operands=operands)
    )
    products.append(Product(name=f"{part} down", tokens=tokens, inputs=width, outputs=hidden, copies=copies))
    return products


def _sent(division: Division, top_k: int, name: str) -> list[Operator]:
    """Tokens to their experts, or back; along an expert's own ranks, all of them are gathered or added up."""
    layout = division.layout
    if not dispatched(layout):
        return []
    size = division.tokens / layout.tp * top_k * division.model.hidden * item_bytes(division.job.activations)
    exchanges: list[Operator] = [Exchange(name=name, collective="all_to_all", axis=Axis.EXPERT, size=size)]
    if layout.expert_tensor > 1:
        collective = "all_gather" if name == "dispatch" else "reduce_scatter"
        within = Exchange(
            name=name, collective=collective, axis=Axis.EXPERT_TENSOR, size=size * layout.expert_tensor
        )
        exchanges.insert(1 if name == "dispatch" else 0, within)
    return exchanges


def mixer_operators(division: Division, kind: int) -> list[Operator]:
    """Of one layer of `kind`, for the tokens a rank works on at once; what is added up after it left out.

    Keys and values of the other parts of a sequence are gathered along the context ranks (Llama Team 2024,
    section 3.3.2); decoding, each of them attends to its part of the cache and their results are added up.
    """
    attention = division.model.kinds[kind].attention
    weights = [weight for weight in attention.weights(division.model.hidden) if weight.product]
    made: list[Operator] = [_product(division, kind, w) for w in weights if w.cut is not Cut.INPUTS]
    made += _rotation(division, kind)
    made += _context(division, kind, before=True)
    if attention.kind is AttentionKind.LINEAR:
        made += [_convolution(division, kind), _recurrence(division, kind)]
    else:
        made.append(_mixing(division, kind))
    made += _context(division, kind, before=False)
    if attention.gated:
        heads = division.heads[kind].queries
        made.append(
            Elementwise(name="gate", rows=division.tokens, width=heads * attention.value_dim, operands=2)
        )
    made += [_product(division, kind, w) for w in weights if w.cut is Cut.INPUTS]
    return made


def _product(division: Division, kind: int, weight: Weight) -> Product:
    """Over a cache, what rises from a compressed vector is applied to queries and results, head by head."""
    attention, heads = division.model.kinds[kind].attention, division.heads[kind].queries
    share, copies = division.share(weight, kind), 1
    if compressed(division, attention) and weight.name in ("key up", "value up"):
        small, large = attention.latent_rank, weight.outputs // weight.units
        inputs, outputs = (large, small) if weight.name == "key up" else (small, large)
        copies = heads
    elif weight.cut is Cut.INPUTS:
        inputs, outputs = share // weight.outputs, weight.outputs
    else:
        inputs, outputs = weight.inputs, share // weight.inputs
    return Product(name=weight.name, tokens=division.tokens, inputs=inputs, outputs=outputs, copies=copies)


def compressed(division: Division, attention: Attention) -> bool:
    """Whether attention works on the compressed vectors: over a cache (DeepSeek-V2, section 2.1.2), be it of
    the new token alone."""
    return attention.kind is AttentionKind.LATENT and division.job.task is Task.DECODE


def _rotation(division: Division, kind: int) -> list[Operator]:
    model, heads = division.model, division.heads[kind]
    attention = model.kinds[kind].attention
    if model.positions or attention.kind is AttentionKind.LINEAR:
        return []
    wide = attention.rope_dim or attention.head_dim
    keys = 1 if attention.kind is AttentionKind.LATENT else heads.keys
    return [Elementwise(name="rotation", rows=division.tokens, width=(heads.queries + keys) * wide)]


def _mixing(division: Division, kind: int) -> Mixing:
    attention, heads, job = division.model.kinds[kind].attention, division.heads[kind], division.job
    key, value, kept = attention.head_dim + attention.rope_dim, attention.value_dim, heads.keys
    cp = division.layout.cp
    if compressed(division, attention):
        key, value, kept = attention.latent_rank + attention.rope_dim, attention.latent_rank, 1
    return Mixing(
        name="attention",
        sequences=division.sequences,
        tokens=division.tokens // division.sequences,
        keys=-(-job.kv // cp) if job.task is Task.DECODE else job.sequence,
        heads=heads.queries,
        kv_heads=kept,
        key_dim=key,
        value_dim=value,
        window=attention.window,
        causal=attention.causal,
        pairs=attention.pairs(job.before, job.new_tokens) / cp,
    )


def _convolution(division: Division, kind: int) -> Convolution:
    """Of queries, keys and values."""
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    return Convolution(
        name="convolution",
        sequences=division.sequences,
        tokens=division.tokens // division.sequences,
        channels=2 * heads.keys * attention.head_dim + heads.queries * attention.value_dim,
        taps=attention.convolution,
    )


def _recurrence(division: Division, kind: int) -> Recurrence:
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    return Recurrence(
        name="attention",
        sequences=division.sequences,
        tokens=division.tokens // division.sequences,
        heads=heads.queries,
        key_dim=attention.head_dim,
        value_dim=attention.value_dim,
        before=division.job.task is Task.DECODE,
    )


def _context(division: Division, kind: int, *, before: bool) -> list[Operator]:
    """What the ranks that share a sequence send each other around its attention."""
    decoding, layout = division.job.task is Task.DECODE, division.layout
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    if layout.cp == 1 or attention.kind is AttentionKind.LINEAR or decoding is before:
        return []
    collective, tokens = "all_gather", division.sequences * division.job.new_tokens
    width = heads.keys * (attention.head_dim + attention.value_dim)
    if decoding:
        collective, tokens = "all_reduce", division.tokens
        width = heads.queries * (attention.latent_rank or attention.value_dim)
    elif attention.kind is AttentionKind.LATENT:
        width = attention.latent_rank + attention.rope_dim
    size = tokens * width * item_bytes(division.job.activations)
    return [Exchange(name="context", collective=collective, axis=Axis.CONTEXT, size=size)]


def layer_operators(division: Division, kind: int) -> list[Operator]:
    """One layer of `kind`, in order.

    What the tensor ranks have in part is added up after attention and after the network (Shoeybi et al. 2019,
    section 3), or with sequence parallelism scattered, and gathered before (Korthikanti et al. 2022, section
    4.2).
    """
    layer = division.model.kinds[kind]
    mixer, network = mixer_operators(division, kind), network_operators(division, kind)
    norms = [_normalised(division, number) for number in range(1, layer.norms + 1)]
    if layer.parallel:
        return [*norms, *_gathered(division), *mixer, *network, *_reduced(division, kind), _added(division)]
    # The second half of four belongs behind what it normalises.
    first, behind_mixer, second, behind_network = (
        (norms[:1], norms[1:2], norms[2:3], norms[3:]) if layer.norms == 4 else (norms[:1], [], norms[1:], [])
    )
    return [
        *first,
        *_gathered(division),
        *mixer,
        *_reduced(division),
        *behind_mixer,
        _added(division),
        *second,
        *_gathered(division),
        *network,
        *_reduced(division, kind),
        *behind_network,
        _added(division),
    ]


def first_operators(division: Division) -> list[Operator]:
    """Before the first layer: each tensor rank looks up the words that it has."""
    model = division.model
    operators: list[Operator] = [Elementwise(name="words", rows=division.tokens, width=model.embedding)]
    if model.embedding_norm:
        operators.append(Elementwise(name="embedding norm", rows=division.tokens, width=model.embedding))
    if model.embedding != model.hidden:
        operators.append(
            Product(name="projection", tokens=division.tokens, inputs=model.embedding, outputs=model.hidden)
        )
    return [*operators, *_reduced(division)]


def last_operators(division: Division) -> list[Operator]:
    """After the last layer: the scores of the words, of all tokens in training and of one otherwise."""
    model, layout, training = division.model, division.layout, division.job.task is Task.TRAIN
    operators: list[Operator] = []
    if model.final_norm:
        operators.append(_normalised(division, 0))
    if not model.head:
        return operators
    if training:
        operators += _gathered(division)
    scored = division.tokens if training else division.sequences
    words = -(-model.vocabulary // layout.tp)
    operators.append(Product(name="head", tokens=scored, inputs=model.hidden, outputs=words))
    if not training and layout.tp > 1:
        size = scored * words * layout.tp * item_bytes("fp32")
        operators.append(Exchange(name="scores", collective="all_gather", axis=Axis.TENSOR, size=size))
    return operators


def between_stages(division: Division) -> list[Operator]:
    """What a stage sends to the next one; none of a pipeline of one stage."""
    if division.layout.pp == 1:
        return []
    size = _rows(division) * division.model.hidden * item_bytes(division.job.activations)
    return [Exchange(name="stage", collective="permute", axis=Axis.PIPELINE, size=size)]


def _rows(division: Division) -> float:
    """Tokens of a rank where nothing is cut but the sequence."""
    return division.tokens / (division.layout.tp if division.layout.sequence_parallel else 1)


def _normalised(division: Division, number: int) -> Elementwise:
    name = f"norm {number}" if number else "final norm"
    return Elementwise(name=name, rows=_rows(division), width=division.model.hidden)


def _added(division: Division) -> Elementwise:
    return Elementwise(name="residual", rows=_rows(division), width=division.model.hidden, operands=2)


def _size(division: Division) -> float:
    return division.tokens * division.model.hidden * item_bytes(division.job.activations)


def _gathered(division: Division) -> list[Operator]:
    layout = division.layout
    if layout.tp == 1 or not layout.sequence_parallel:
        return []
    return [Exchange(name="gather", collective="all_gather", axis=Axis.TENSOR, size=_size(division))]


def _reduced(division: Division, kind: int | None = None) -> list[Operator]:
    """After the network of a layer of `kind`: experts that tokens travelled to are whole already."""
    layout = division.layout
    if layout.tp == 1:
        return []
    network = division.model.kinds[kind].feed_forward if kind is not None else None
    if network and network.experts and dispatched(layout) and not network.width:
        if layout.sequence_parallel:
            return []
        return [Exchange(name="gather", collective="all_gather", axis=Axis.TENSOR, size=_size(division))]
    collective = "reduce_scatter" if layout.sequence_parallel else "all_reduce"
    return [Exchange(name="reduce", collective=collective, axis=Axis.TENSOR, size=_size(division))]


TRANSPOSED = {"all_gather": "reduce_scatter", "reduce_scatter": "all_gather"}
"""What the gradient of a collective is carried out as; of the others, the same."""


def backward_operators(division: Division, kind: int) -> list[Operator]:
    """One layer of `kind`, in order; what is recomputed is not among them.

    What was added up or gathered after a half of the layer needs nothing; the gradient of the half's input
    is, instead (the operators f and g of Shoeybi et al. 2019, section 3). With sequence parallelism the input
    is gathered once more, for the gradients of the weights (Korthikanti et al. 2022, section 4.2.2).
    """
    made: list[Operator] = []
    waiting: list[Operator] = []
    for operator in reversed(layer_operators(division, kind)):
        if (
            not division.layout.sequence_parallel
            and isinstance(operator, Exchange)
            and operator.axis is Axis.TENSOR
        ):
            waiting.append(operator)
            continue
        if isinstance(operator, Elementwise) and operator.name.startswith("norm "):
            made += waiting
            waiting = []
        made += _gradients(operator)
    return made


def _gradients(operator: Operator) -> list[Operator]:
    if isinstance(operator, Product):
        gradient = replace(
            operator, name=f"{operator.name} gradient", inputs=operator.outputs, outputs=operator.inputs
        )
        weights = WeightGradient(
            name=f"{operator.name} weight gradient",
            tokens=operator.tokens,
            inputs=operator.inputs,
            outputs=operator.outputs,
            copies=operator.copies,
        )
        return [gradient, weights]
    if isinstance(operator, Exchange):
        collective = TRANSPOSED.get(operator.collective, operator.collective)
        turned = replace(operator, collective=collective)
        again = operator.collective == "all_gather" and operator.axis is Axis.TENSOR
        return [operator, turned] if again else [turned]
    if isinstance(operator, Elementwise):
        name = f"{operator.name} gradient"
        return [replace(operator, name=name, operands=operator.operands + 1)]
    return [replace(operator, backward=True)]
