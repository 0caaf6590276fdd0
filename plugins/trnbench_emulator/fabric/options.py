"""What is asked of a system's links: who the ranks are, how figures are read, what is slow or late."""

from __future__ import annotations

import msgspec

from trnbench.bounded.kinds import LATE, LEFT_OF_LINK, LEFT_OF_RANK, OVERSUBSCRIPTION
from trnbench.errors import UsageError
from trnbench_emulator.fabric.constants import CONTEXTS, NCCOM

LEVELS = ("device", "logical-core", "core")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`level` says what a rank is, `context` whether a collective runs alone, as nccom-test measures it,
    or inside a compiled graph. Empty `neuronlink_direction` and `trn3_links` keep the default.

    `degraded`: (node name, node name, factor) per directed link, 0 for a dead one. `straggler`: (rank,
    share) of its device's memory bandwidth that a slow rank has left. `late`: (rank, seconds) that a rank
    begins after the others. `oversubscription`: the cluster network carries this many times less than the
    adapters together. `ideal` leaves all endpoint costs and efficiencies out, and with them what a
    straggler's memory costs. `exact` simulates flows that compete unevenly however long that takes.
    """

    level: str = "device"
    context: str = NCCOM
    neuronlink_direction: str = ""
    trn3_links: str = ""
    degraded: tuple[tuple[str, str, float], ...] = ()
    straggler: tuple[tuple[int, float], ...] = ()
    late: tuple[tuple[int, float], ...] = ()
    oversubscription: float = 1.0
    ideal: bool = False
    exact: bool = False

    def check(self) -> None:
        """Raises UsageError for what no system can be; the message names the flag to change."""
        if self.level not in LEVELS:
            raise UsageError(
                f"ranks cannot be {self.level!r}",
                cause=f"they are {', '.join(LEVELS)}",
                try_="--ranks device",
            )
        if self.context not in CONTEXTS:
            raise UsageError(
                f"a collective has no context {self.context!r}",
                cause="it runs alone as nccom-test measures it (nccom), or inside a compiled graph (graph)",
                try_="--context nccom",
            )
        if not OVERSUBSCRIPTION.fits(self.oversubscription):
            raise UsageError(
                f"an oversubscription of {self.oversubscription:g} makes no sense",
                cause="it says how many times less the network carries than the adapters: 1 or more",
                try_="--oversubscription 2",
            )
        for *_, factor in self.degraded:
            if not LEFT_OF_LINK.fits(factor):
                raise UsageError(
                    f"a factor of {factor:g} makes no sense",
                    cause="0 is a dead link, 1 a whole one, 0.5 half",
                    try_="--degrade d0-d1=0.5",
                )
        for rank, share in self.straggler:
            if not LEFT_OF_RANK.fits(share):
                raise UsageError(
                    f"a straggler at {share:g} makes no sense",
                    cause="it is the share of its speed that the rank has left: above 0, up to 1",
                    try_=f"--degrade {rank}=0.5",
                )
        for rank, seconds in self.late:
            if not LATE.fits(seconds):
                raise UsageError(
                    f"a rank cannot be {seconds:g} s late",
                    cause="it is a time from 0 on",
                    try_=f"--degrade {rank}=50us",
                )


DEFAULT = Options()
