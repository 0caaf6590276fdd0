"""One matrix or vector of a model: its shape, whose it is, and how a layout may cut it."""

from __future__ import annotations

from enum import StrEnum

from trnbench.record import Record


class Part(StrEnum):
    """Whose parameters they are, in the order of a table."""

    EMBEDDING = "embedding"
    ATTENTION = "attention"
    MLP = "mlp"  # dense layers and shared experts
    EXPERTS = "experts"  # routed ones
    ROUTER = "router"
    NORMS = "norms"
    HEAD = "head"


class Cut(StrEnum):
    """Along what tensor parallelism cuts a weight (Shoeybi et al. 2019, Megatron-LM, section 3)."""

    OUTPUTS = "outputs"  # column-parallel: each rank has some of the outputs
    INPUTS = "inputs"  # row-parallel: each rank has some of the inputs, the results are added up
    VOCABULARY = "vocabulary"  # each rank has some of the words
    NONE = "none"  # every rank has it whole


class Weight(Record, kw_only=True):
    """A matrix of `inputs` × `outputs`, or a vector of `outputs` where `inputs` is 1.

    There are `copies` of it in the layer (its experts), and a token meets `used` of them. `units` is what a
    cut must not part: heads, each `outputs / units` wide (or `inputs / units`); 0 where any element may be
    the last of a rank. `product` is false for what is looked up, added or scaled by: it takes no
    matrix product.
    """

    name: str
    part: Part
    inputs: int
    outputs: int
    cut: Cut = Cut.NONE
    units: int = 0
    copies: int = 1
    used: int = 1
    product: bool = True

    @property
    def parameters(self) -> int:
        return self.inputs * self.outputs * self.copies

    @property
    def active(self) -> int:
        """Those that one token meets."""
        return self.inputs * self.outputs * self.used

    @property
    def flops_per_token(self) -> int:
        """2 · inputs · outputs: a multiplication and an addition for each parameter met."""
        return 2 * self.active if self.product else 0


def vector(
    name: str, part: Part, length: int, *, copies: int = 1, used: int = 1, cut: Cut = Cut.NONE, units: int = 0
) -> Weight:
    """A bias, a scale, or anything else that is one number for each feature."""
    return Weight(
        name=name,
        part=part,
        inputs=1,
        outputs=length,
        cut=cut,
        units=units,
        copies=copies,
        used=used,
        product=False,
    )
