"""How many parameters a model has, and how many of them a token meets."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trnbench.workloads.model import Model
from trnbench.workloads.weight import Part, Weight


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Counted by part. `active` are those that one token meets: all but the experts it does not go to, and of
    the embedding one row."""

    total: dict[Part, int]
    active: dict[Part, int]

    @property
    def all(self) -> int:
        return sum(self.total.values())

    @property
    def all_active(self) -> int:
        """As model cards count them: the embedding whole, of the experts those that a token goes to."""
        rest = sum(count for part, count in self.active.items() if part is not Part.EMBEDDING)
        return rest + self.total[Part.EMBEDDING]


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
        active[weight.part] += weight.active * times
    return Parameters(total=total, active=active)
