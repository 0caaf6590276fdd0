"""How far a model is from published measurements: one comparison per point, one row per family."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.results.own_product import OwnProduct


class Use(str, Enum):
    """What became of a published point. The first two are fidelity, all others are shown apart."""

    HELD_OUT = "held out"  # emulated; no constant of the model was fitted on it
    IN_SAMPLE = "in-sample"  # emulated; a constant was fitted on it
    CONTRADICTED = "contradicted"  # emulated; another source says otherwise of the same thing
    BOUND = "bound"  # an upper bound of a time
    SAME_OPERATION = "same operation"  # our own kernel of that operation and shape, not the published one
    NEEDS_SOURCE = "needs source"  # the kernel is in a public repository, see --kernels
    NO_KERNEL = "no kernel"  # the kernel it was measured with cannot be had, or is none
    NOT_EMULATED = "not emulated"  # the model cannot take it as stated
    NOT_USED = "not used"  # says too little, or of something else

    def __str__(self) -> str:
        return self.value


COUNTED = (Use.HELD_OUT, Use.IN_SAMPLE)


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published point beside the model's answer, both in `unit` (an SI base unit).

    `error` is emulated / published − 1. `slower` is the same of the times: a rate is turned round,
    so that a positive number always means that the model is slower than the machine.
    `cross_validated` is the model's answer with every constant that was fitted on this point fitted
    without it; for a held-out point it is the answer itself.
    """

    id: str
    family: str
    generation: str
    use: Use
    quantity: str
    unit: str
    published: float | None = None
    emulated: float | None = None
    error: float | None = None
    slower: float | None = None
    cross_validated: float | None = None
    held: bool | None = None  # of a bound: the emulated time is not above it
    how: str = ""  # how it was emulated, or why not
    source: str = ""
    confidence: str = ""


class Errors(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Statistics of absolute errors, as fractions; `bias` is the median of `Comparison.slower`."""

    count: int
    median: float
    p90: float
    worst: float
    worst_id: str
    bias: float


class FamilyFidelity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`errors` over all emulated points as the model stands, `cross_validated` over those of them
    that the model had not seen; None where there is no such point. `uses` counts points by `Use`."""

    name: str
    title: str
    in_sample: int = 0
    errors: Errors | None = None
    cross_validated: Errors | None = None
    bounds_held: int = 0
    uses: dict[str, int] = {}


class PublicKernels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Published kernels of one generation run from their own sources, which are not part of trnbench: what
    that gave on `day` with version `version` of the model `by`. `errors` are of the points that count,
    bounds are shown apart; `not_run`: points whose kernel could not be had or run."""

    generation: str
    by: str
    version: str
    day: str
    errors: Errors | None = None
    bounds: int = 0
    bounds_held: int = 0
    not_run: int = 0


class Fidelity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The comparison as it was when a run was made. `families` are worst first; `points` are those
    with an emulated number. `by` and `version` name the model; `public` may be of an earlier version."""

    by: str
    version: str = ""
    families: tuple[FamilyFidelity, ...] = ()
    points: tuple[Comparison, ...] = ()
    public: tuple[PublicKernels, ...] = ()
    products: tuple[OwnProduct, ...] = ()  # of runs with a product of ours
    notes: tuple[str, ...] = ()
