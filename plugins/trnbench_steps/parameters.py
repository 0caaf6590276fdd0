"""How many parameters a model has, and how many of them a token meets."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trnbench_steps.model import Model
from trnbench_steps.weight import Part, Weight


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Counted by part. `active` leaves out the experts that a token does not go to.

    The embedding counts whole there, as in model cards.
    """

    total: dict[Part, int]
    active: dict[Part, int]

    @property
    def all(self) -> int:
        return sum(self.total.values())

    @property
    def all_active(self) -> int:
        return sum(self.active.values())


def weights_of(model: Model) -> Iterator[tuple[Weight, int]]:
    """Every weight that is stored, with how often: once for each layer of its kind, or for all together."""
    yield from ((weight, 1) for weight in model.before())
    for layer, count in model.runs():
        yield from ((weight, 1 if model.shared_layers else count) for weight in layer.weights(model.hidden))
    yield from ((weight, 1) for weight in model.after())


def parameters(model: Model) -> Parameters:
    """The parameters of `model`, counted from the shapes of its matrices and vectors."""
    total, active = dict.fromkeys(Part, 0), dict.fromkeys(Part, 0)
    for weight, times in weights_of(model):
        total[weight.part] += weight.parameters * times
        whole = weight.part is Part.EMBEDDING
        active[weight.part] += (weight.parameters if whole else weight.active) * times
    return Parameters(total=total, active=active)
