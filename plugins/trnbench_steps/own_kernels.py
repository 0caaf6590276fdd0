"""A user's kernel in place of ours: which operators it takes, and what it is given."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from trnbench.case_key import Value
from trnbench.errors import UnknownName, UsageError
from trnbench.record import Record
from trnbench_steps.division import Division
from trnbench_steps.operators import Elementwise, Exchange, Mixing, Operator, Product
from trnbench_steps.rank_operators import last_operators, layer_operators

if TYPE_CHECKING:
    from trnbench_steps.calls import Shapes
    from trnbench_steps.kernel_times import Call, KernelTimes

ATTENTION, NORM = "attention", "norm"


class OwnKernels(Record):
    """By what they do: "attention", "norm", or an operator's name as a trace shows it ("mlp up"), and where
    the kernel is: `kernel.py::flash`, or `package.module:flash`."""

    sources: tuple[tuple[str, str], ...] = ()

    def replaces(self, operator: Operator) -> str:
        """The kernel that takes its place, "" for ours."""
        name = kind_of(operator)
        return next((source for each, source in self.sources if each in (name, operator.name)), "")

    def call(self, operator: Operator, source: str, shapes: Shapes, kernels: KernelTimes) -> Call:
        """Raises `UsageError` where the kernel does not take the shape, and what asking it raises."""
        from trnbench_steps.kernel_times import Call

        point = point_of(operator, shapes)
        inputs = kernels.inputs(source, point)
        if inputs is None:
            told = ", ".join(f"{name} {value}" for name, value in point.items())
            raise UsageError(
                f"{source} does not take {operator.name} at {told}",
                cause="its …_inputs gives None for that",
                try_="another layout or length, or a kernel that takes it",
            )
        return Call(source=source, inputs=inputs, own=True)


NONE_OWN: OwnKernels = OwnKernels()


def kind_of(operator: Operator) -> str:
    """What one of a layer does; "" of what no kernel of a user's can take the place of."""
    if isinstance(operator, Mixing):
        return ATTENTION
    if isinstance(operator, Elementwise):
        return NORM if operator.name.startswith(NORM) or operator.name.endswith(NORM) else ""
    return operator.name if isinstance(operator, Product) else ""


def check_own(own: OwnKernels, division: Division) -> None:
    """Raises `UnknownName` for what a step of `division` does not do."""
    operators = [
        operator for kind in range(len(division.model.kinds)) for operator in layer_operators(division, kind)
    ]
    operators += last_operators(division)
    # In the order of a layer.
    known = tuple(dict.fromkeys(name for operator in operators if (name := kind_of(operator))))
    for name, _ in own.sources:
        if name not in known:
            raise UnknownName("operator", name, known, try_="--operator attention=kernel.py::flash")


def point_of(operator: Operator, shapes: Shapes) -> dict[str, Value]:
    """What `…_inputs` of a kernel is given, by the names that ours have: of one core's share.

    Attention: heads of all sequences, kv_heads, head_dim, value_dim, seq, kv, mask, window. A matrix product:
    m tokens, k inputs, n outputs. A normalisation: rows, columns.
    """
    dtype: dict[str, Value] = {"dtype": shapes.division.job.activations}
    if isinstance(operator, Mixing):
        return {
            "heads": ceil(operator.sequences * operator.heads / shapes.cores),
            "kv_heads": ceil(operator.sequences * operator.kv_heads / shapes.cores),
            "head_dim": operator.key_dim,
            "value_dim": operator.value_dim,
            "seq": operator.tokens,
            "kv": operator.keys,
            "mask": "causal" if operator.causal else "full",
            "window": operator.window,
            **dtype,
        }
    if isinstance(operator, Product):
        columns = ceil(operator.outputs / shapes.cores)
        return {"m": ceil(operator.tokens), "n": columns, "k": operator.inputs, **dtype}
    if isinstance(operator, Elementwise):
        return {"rows": ceil(operator.rows / shapes.cores), "columns": operator.width, **dtype}
    assert not isinstance(operator, Exchange)
    raise UsageError(
        f"no kernel of a user's takes the place of {operator.name}",
        cause="attention, normalisations and matrix products of the forward pass are those it can",
        try_="--operator attention=kernel.py::flash",
    )
