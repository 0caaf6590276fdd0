"""How many experts of a rank are worked through, and how many tokens each, as libraries of Neuron do it.

`ExpertMLPsV2.forward` of neuronx_distributed (modules/moe/expert_mlps_v2.py), in inference where no token is
dropped. A training step spreads its tokens evenly.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from trnbench_steps.division import Division
from trnbench_steps.feed_forward import FeedForward
from trnbench_steps.job import Task
from trnbench_steps.layout import Layout
from trnbench_steps.operators import Elementwise, Product

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
    the other; means all of them."""

    matrices: float
    tokens: float
    operators: float = 1.0


def experts_of(division: Division, product: Product) -> ExpertShare:
    """Of `product`, one of a layer's experts' matrices.

    `forward_selective_loading`: as long as all tokens together meet fewer experts than there are, each token
    loads its own, one token after the other. `forward_all_experts`: from then on every expert takes every
    token, and what it was not chosen for is left out of the sum. `forward_blockwise`: `blocks_of` a prompt,
    each of which reads the matrices of its expert, in one kernel or in operators of the graph.
    Experts that tokens travel to get those alone that chose them.
    """
    network = next(each.feed_forward for each in division.model.kinds if each.feed_forward.experts)
    routed, copies = product.tokens * product.copies, product.copies
    if division.job.task is Task.TRAIN:
        return ExpertShare(copies, product.tokens)
    tokens = product.tokens * network.experts / network.top_k
    if tokens * network.top_k < network.experts:
        met = copies * tokens * network.top_k / network.experts
        return ExpertShare(met, routed / met, max(min(tokens, routed), 1.0))
    if dispatched(division.layout):
        return ExpertShare(copies, product.tokens)
    blocks = blocks_of(division, network)
    if not blocks:
        return ExpertShare(copies, tokens)
    return ExpertShare(blocks, BLOCK, blocks if unrolled(division, network) else 1.0)


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
    multiplies it and adds it to the results by operators of the graph."""
    width = network.expert_width // division.layout.expert_tensor
    return bool(blocks_of(division, network) and width % WIDTHS)


def weighted_sum(division: Division, network: FeedForward) -> Elementwise:
    """The results of experts, added up: all of each token that took it, or block by block."""
    tokens, layout, width = division.tokens, division.layout, division.model.hidden
    rows, summed = tokens / (layout.tp if dispatched(layout) else 1), network.top_k
    if unrolled(division, network):
        rows, summed = float(blocks_of(division, network) * BLOCK), 2
    elif division.job.task is Task.DECODE and not dispatched(layout) and tokens * summed >= network.experts:
        summed = network.experts // layout.ep
    return Elementwise(name="weighted sum", rows=rows, width=width, operands=summed)
