"""What a rank does in a forward pass: before its layers, in each kind of them, between stages, and after."""

from __future__ import annotations

from trnbench.kernels.work import item_bytes
from trnbench_steps.division import Division
from trnbench_steps.expert_share import dispatched
from trnbench_steps.job import Task
from trnbench_steps.layout import Axis
from trnbench_steps.mixer_operators import mixer_operators
from trnbench_steps.network_operators import network_operators
from trnbench_steps.operators import Elementwise, Exchange, Operator, Product


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
