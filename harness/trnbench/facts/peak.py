"""The figure a result is held against: chosen by a stated policy, alternatives kept in view."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.errors import UnknownName
from trnbench.facts.scope import Direction, Scope


class PeakPolicy(str, Enum):
    """Which of the disagreeing documents a percentage is taken of."""

    SEED = "seed"  # the instance table of the seed document (default)
    DEVICE = "device"  # the device page, times the devices in scope
    ENGINE = "engine"  # rows × columns × 2 × clock × cores: what the clocks allow
    LATEST = "latest"  # the newest document that is not superseded

    def __str__(self) -> str:
        return self.value


def as_policy(policy: PeakPolicy | str) -> PeakPolicy:
    """The policy of this name. Raises `UnknownName`."""
    try:
        return PeakPolicy(policy)
    except ValueError:
        raise UnknownName("peak policy", str(policy), map(str, PeakPolicy), try_="--peak seed") from None


class Peak(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One candidate: a documented figure, or one derived from documented figures by `formula`.

    `value` in the base unit of `metric`, for the whole `scope` (one core, one device, …).
    """

    metric: str  # "peak_flops", "hbm_bandwidth", "neuronlink_bandwidth", …
    value: float
    scope: Scope
    dtype: str = ""
    sparse: bool = False
    direction: Direction = Direction.NONE
    qualifier: str = ""
    evidence: str = "documented"  # or "derived"; "measured": reached on the machine of the run, no bound
    formula: str = ""  # for derived peaks: "3,360 TFLOPS / 16 devices / 2 cores"
    facts: tuple[str, ...] = ()  # Fact.id of what it stands on
    source: str = ""  # Source.id
    policy: PeakPolicy | None = None  # the policy that would choose it, if any
    superseded_by: str = ""


class PeakChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The peak a case is judged by, every alternative, and what the clocks allow.

    `engine_bound` is None where no clock gives one (network figures, for instance): then an
    excess over the documented figure can only be compared with what exists, and says so.
    """

    policy: PeakPolicy
    chosen: Peak
    alternatives: tuple[Peak, ...] = ()
    engine_bound: Peak | None = None
    note: str = ""  # e.g. the policy had no figure of this scope, and what was taken instead
