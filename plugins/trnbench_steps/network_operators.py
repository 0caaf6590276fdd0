"""What a rank does in a layer's network: dense, shared by all tokens, or experts that some go to."""

from __future__ import annotations

import msgspec

from trnbench.kernels.work import item_bytes
from trnbench_steps.division import Division
from trnbench_steps.expert_share import BLOCK, blocks_of, dispatched, unrolled, weighted_sum
from trnbench_steps.layout import Axis
from trnbench_steps.operators import Elementwise, Exchange, Operator, Product
from trnbench_steps.weight import Part


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
    operators += [msgspec.structs.replace(tokens_of_blocks, name="affinities")] if blocks else []
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
