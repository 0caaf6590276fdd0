"""What a rank does in the backward pass of a layer: its forward operators in reverse, as gradients."""

from __future__ import annotations

import msgspec

from trnbench_steps.division import Division
from trnbench_steps.layout import Axis
from trnbench_steps.operators import Elementwise, Exchange, Operator, Product, WeightGradient
from trnbench_steps.rank_operators import layer_operators

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
        gradient = Product(
            name=f"{operator.name} gradient",
            tokens=operator.tokens,
            inputs=operator.outputs,
            outputs=operator.inputs,
            copies=operator.copies,
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
        turned = msgspec.structs.replace(operator, collective=collective)
        again = operator.collective == "all_gather" and operator.axis is Axis.TENSOR
        return [operator, turned] if again else [turned]
    if isinstance(operator, Elementwise):
        return [
            Elementwise(
                name=f"{operator.name} gradient",
                rows=operator.rows,
                width=operator.width,
                operands=operator.operands + 1,
            )
        ]
    return [msgspec.structs.replace(operator, backward=True)]
