"""How many experts of a rank are worked through, and how many tokens each, as libraries of Neuron do it.

`ExpertMLPsV2.forward` of neuronx_distributed (modules/moe/expert_mlps_v2.py), in inference where no token is
dropped. A training step spreads its tokens evenly.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from trnbench_steps.division import Division
from trnbench_steps.job import Task
from trnbench_steps.layer import FeedForward
from trnbench_steps.layout import Layout
from trnbench_steps.operators import Elementwise, Product
from trnbench_steps.paths import BLOCKS, CHOSEN, EVERY, OPERATORS

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
