"""What a layer does to each token by itself: a dense network, or experts and those that all tokens share."""

from __future__ import annotations

import msgspec

from trnbench_steps.weight import Cut, Part, Weight, vector


class FeedForward(msgspec.Struct, frozen=True, kw_only=True):
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
        matrices = [
            Weight(
                name=name, part=part, inputs=hidden, outputs=width, cut=Cut.OUTPUTS, copies=copies, used=used
            )
            for name in rising
        ]
        matrices.append(
            Weight(
                name="down", part=part, inputs=width, outputs=hidden, cut=Cut.INPUTS, copies=copies, used=used
            )
        )
        if bias:
            matrices += [
                vector(f"{name} bias", part, width, cut=Cut.OUTPUTS, copies=copies, used=used)
                for name in rising
            ]
            matrices.append(vector("down bias", part, hidden, copies=copies, used=used))
        return matrices
