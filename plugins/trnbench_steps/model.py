"""A model: what its configuration file says, as data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from trnbench.record import Record
from trnbench_steps.job import LENGTH
from trnbench_steps.layer import Layer, Norm
from trnbench_steps.weight import Cut, Part, Weight, vector


class PublishedCount(Record, kw_only=True, forbid_unknown_fields=True):
    """How many parameters somebody says a model has, to hold ours against.

    `tolerance` is the relative difference that the rounding of the figure, or what it counts besides,
    explains; `note` says what.
    """

    parameters: float
    document: str
    locator: str
    version: str = ""
    active: float = 0.0  # of one token; 0 where it is not said
    tolerance: float = 0.0
    active_tolerance: float = 0.0
    note: str = ""


class ModelSource(Record, kw_only=True, forbid_unknown_fields=True):
    """Where a configuration is from."""

    document: str
    version: str
    locator: str


class Model(Record, kw_only=True, dict=True):
    """Layers, widths, heads, experts and vocabulary; no code belongs to a model.

    `kinds` are the layers that differ, `pattern` says which of them each layer is, first to last: what
    is worked out of a layer is worked out once for each kind.
    """

    name: str
    architecture: str  # the model_type of its configuration
    hidden: int
    vocabulary: int
    kinds: tuple[Layer, ...]
    pattern: tuple[int, ...]
    embedding: int  # features of a word, before a projection to `hidden` where they differ
    positions: int = 0  # learned ones; 0 where they are computed
    token_types: int = 0
    embedding_norm: bool = False
    final_norm: bool = True
    norm: Norm = Norm.RMS
    tied: bool = False  # the head is the embedding
    head: bool = True  # it predicts words
    head_bias: bool = False
    pooler: bool = False  # a matrix over the first token, of encoders
    encoder: bool = False
    shared_layers: bool = False  # one set of weights in all layers (ALBERT)
    left_out: str = ""  # what the configuration has besides: "vision"
    source: ModelSource | None = None
    published: tuple[PublishedCount, ...] = ()

    @property
    def layers(self) -> int:
        return len(self.pattern)

    @property
    def usual_length(self) -> int:
        """Tokens of a sequence, or of a cache, unless told: no more than it has learned positions."""
        return min(LENGTH, self.positions or LENGTH)

    @property
    def kind(self) -> str:
        """ "dense", "expert" or "encoder": what its class of error is called by."""
        if self.encoder:
            return "encoder"
        return "expert" if any(each.feed_forward.experts for each in self.kinds) else "dense"

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many layers are of each kind."""
        return tuple(self.pattern.count(number) for number in range(len(self.kinds)))

    def runs(self) -> Iterator[tuple[Layer, int]]:
        """Each kind of layer, with the number of layers that a token goes through."""
        return zip(self.kinds, self.counts, strict=True)

    def before(self) -> list[Weight]:
        """What stands before the first layer."""
        weights = [_looked_up("words", self.vocabulary, self.embedding, Cut.VOCABULARY)]
        if self.positions:
            weights.append(_looked_up("positions", self.positions, self.embedding))
        if self.token_types:
            weights.append(_looked_up("token types", self.token_types, self.embedding))
        if self.embedding_norm:
            weights += self.norm.weights("embedding norm", self.embedding)
        if self.embedding != self.hidden:
            weights += [
                Weight(name="projection", part=Part.EMBEDDING, inputs=self.embedding, outputs=self.hidden),
                vector("projection bias", Part.EMBEDDING, self.hidden),
            ]
        return weights

    def after(self) -> list[Weight]:
        """What stands after the last layer; a tied head is not there a second time."""
        weights = self.norm.weights("final norm", self.hidden) if self.final_norm else []
        if self.pooler:
            weights += [
                Weight(name="pooler", part=Part.HEAD, inputs=self.hidden, outputs=self.hidden, product=False),
                vector("pooler bias", Part.HEAD, self.hidden),
            ]
        if self.head and not self.tied:
            weights.append(self.head_weight)
        if self.head and self.head_bias:
            weights.append(vector("head bias", Part.HEAD, self.vocabulary, cut=Cut.VOCABULARY))
        return weights

    @property
    def head_weight(self) -> Weight:
        """The matrix from features to words, tied or not."""
        return Weight(
            name="head", part=Part.HEAD, inputs=self.hidden, outputs=self.vocabulary, cut=Cut.VOCABULARY
        )


def _looked_up(name: str, rows: int, width: int, cut: Cut = Cut.NONE) -> Weight:
    # Every row is a copy of which a token meets one.
    return Weight(
        name=name, part=Part.EMBEDDING, inputs=1, outputs=width, copies=rows, used=1, cut=cut, product=False
    )


class Parameters(Record, kw_only=True):
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


def parameters(model: Model) -> Parameters:
    """The parameters of `model`, counted from the shapes of its matrices and vectors."""
    total, active = dict.fromkeys(Part, 0), dict.fromkeys(Part, 0)
    stored = [(weight, 1) for weight in (*model.before(), *model.after())]
    for layer, count in model.runs():
        times = 1 if model.shared_layers else count
        stored += [(weight, times) for weight in layer.weights(model.hidden)]
    for weight, times in stored:
        total[weight.part] += weight.parameters * times
        whole = weight.part is Part.EMBEDDING
        active[weight.part] += (weight.parameters if whole else weight.active) * times
    return Parameters(total=total, active=active)
