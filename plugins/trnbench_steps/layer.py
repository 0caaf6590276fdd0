"""One kind of layer: a mixer, a network, and the normalisations around them."""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from trnbench.record import Record
from trnbench_steps.attention import Attention
from trnbench_steps.weight import Cut, Part, Weight, vector


class FeedForward(Record, kw_only=True):
    """A network of `width` features inside; with `experts`, `top_k` of them, each `expert_width` wide.

    `width` is that of the dense network, or of the experts that all tokens share (0: there is none).
    A gated one has three matrices, one more than a plain one.
    """

    width: int
    gated: bool
    bias: bool = False
    experts: int = 0
    top_k: int = 0
    expert_width: int = 0
    expert_bias: bool = False  # in the experts' own matrices
    router_bias: bool = False
    shared_gate: bool = False  # a gate of one feature before the shared experts

    @property
    def kept(self) -> int:
        """Numbers of each inner feature that a backward pass needs: gate, up, and their activation."""
        return 3 if self.gated else 2

    def weights(self, hidden: int) -> list[Weight]:
        """All its matrices and vectors between `hidden` features and `hidden` features."""
        matrices: list[Weight] = []
        if self.width:
            matrices += self._network(hidden, self.width, Part.MLP, bias=self.bias)
        if self.experts:
            matrices.append(Weight(name="router", part=Part.ROUTER, inputs=hidden, outputs=self.experts))
            if self.router_bias:
                matrices.append(vector("router bias", Part.ROUTER, self.experts))
            matrices += self._network(
                hidden,
                self.expert_width,
                Part.EXPERTS,
                bias=self.expert_bias,
                copies=self.experts,
                used=self.top_k,
            )
        if self.shared_gate:
            matrices.append(Weight(name="shared gate", part=Part.MLP, inputs=hidden, outputs=1))
        return matrices

    def _network(
        self, hidden: int, width: int, part: Part, *, bias: bool, copies: int = 1, used: int = 1
    ) -> list[Weight]:
        rising = ("gate", "up") if self.gated else ("up",)
        matrix = partial(Weight, part=part, copies=copies, used=used)
        matrices = [matrix(name=name, inputs=hidden, outputs=width, cut=Cut.OUTPUTS) for name in rising]
        matrices.append(matrix(name="down", inputs=width, outputs=hidden, cut=Cut.INPUTS))
        if bias:
            added = partial(vector, part=part, copies=copies, used=used)
            matrices += [added(f"{name} bias", length=width, cut=Cut.OUTPUTS) for name in rising]
            matrices.append(added("down bias", length=hidden))
        return matrices


class Norm(StrEnum):
    """Normalisation layers: what they keep for each feature."""

    RMS = "rms"  # a scale
    LAYER = "layer"  # a scale and a shift
    BARE = "bare"  # neither

    def weights(self, name: str, width: int) -> list[Weight]:
        """The vectors of one normalisation of `width` features."""
        named = {Norm.RMS: ("",), Norm.LAYER: ("", " shift"), Norm.BARE: ()}[self]
        return [vector(name + suffix, Part.NORMS, width) for suffix in named]


class Layer(Record, kw_only=True):
    """`parallel`: mixer and network read the same input, and their results are added at once."""

    attention: Attention
    feed_forward: FeedForward
    norm: Norm
    norms: int  # of `hidden` features each
    parallel: bool = False

    def weights(self, hidden: int) -> list[Weight]:
        """Everything it has, in the order in which it is used."""
        norms = [
            weight
            for number in range(1, self.norms + 1)
            for weight in self.norm.weights(f"norm {number}", hidden)
        ]
        return [*norms, *self.attention.weights(hidden), *self.feed_forward.weights(hidden)]


FILE = Path(__file__).with_name("architectures.toml")


class Architecture(Record, kw_only=True, forbid_unknown_fields=True):
    """The rules of one model_type.

    `keys` names the key that a configuration uses for one that most spell otherwise; `defaults` are values
    for keys it may leave out, as the library that loads it takes them. `like` takes all that is not said
    here from another.
    """

    source: str
    like: str = ""
    inside: str = ""  # the table of a configuration of several modalities that describes the language model
    left_out: str = ""  # what that leaves uncounted
    keys: dict[str, str] = {}
    defaults: dict[str, int | bool] = {}
    # The whole.
    encoder: bool = False
    norm: Norm = Norm.RMS
    learned_positions: bool = False
    embedding_norm: bool = False
    final_norm: bool = True
    head: bool = True
    head_bias: bool = False
    pooler: bool = False
    shared_layers: bool = False
    # A layer.
    norms: int = 2
    parallel: bool = False
    gated: bool = True
    bias: bool = False  # of the network
    query_bias: bool = False
    output_bias: bool = False
    head_norm: bool = False
    projection_norm: bool = False
    gated_attention: bool = False
    sinks: bool = False
    latent: bool = False
    # Which layers do not attend to everything.
    others: str = ""  # what the layers between full ones are: sliding, chunked, linear
    # Which layers have experts, and what these are.
    experts: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    shared_gate: bool = False

    def key(self, name: str) -> str:
        return self.keys.get(name, name)


@cache
def architectures() -> dict[str, Architecture]:
    """All that are known, by model_type."""
    import tomllib

    tables: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: msgspec.convert(_whole(tables, name), Architecture) for name in tables}


def _whole(tables: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    own = tables[name]
    if "like" not in own:
        return own
    base = _whole(tables, own["like"])
    merged = {key: {**base.get(key, {}), **own.get(key, {})} for key in ("keys", "defaults")}
    return {**base, **own, **merged}
