"""The rates of flows that share links, worked out once for those that cross the same links equally often."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trnbench_emulator.fabric.flow import Flow, Together
from trnbench_emulator.fabric.maxmin import Floats, Indices, Usage, fair_shares


class Among:
    """Rates of some of `mixes`, no two alike: each is stacked once, however many sets of them are active."""

    MOST = 1 << 19  # rates kept: 4 MB

    def __init__(self, rates: Rates, mixes: Sequence[int]) -> None:
        self._rates = rates
        self._usage = rates.stack(mixes)
        self._place = {mix: place for place, mix in enumerate(mixes)}
        self._known: dict[bytes, tuple[Floats, bool]] = {}

    def of(self, active: NDArray[np.bool_]) -> tuple[Floats, bool]:
        """As `Rates.of`, of those that are `active`, in the order of all; of the rest it means nothing."""
        key = np.packbits(active).tobytes()
        found = self._known.get(key)
        if found is None:
            if len(self._known) * len(active) >= self.MOST:
                self._known.clear()
            found = self._known[key] = self._shared(active)
        return found

    def of_each(self, mixes: Sequence[int]) -> tuple[dict[int, float], bool]:
        """Of these, active at once; those that are alike count as one that takes as often as much."""
        places = [self._place[mix] for mix in mixes]
        rates, limited = self._shared(np.bincount(places, minlength=len(self._place)))
        return dict(zip(mixes, rates[places].tolist(), strict=True)), limited

    def _shared(self, often: NDArray[Any]) -> tuple[Floats, bool]:
        """Where each is active so `often`."""
        usage = self._usage
        times = often[usage.flow]
        taken = np.flatnonzero(times)
        part = Usage(usage.flow[taken], usage.resource[taken], usage.weight[taken] * times[taken])
        return self._rates.shared(part, len(often))


class Rates:
    """Rates by which mixes of links are active at once: the steps of a ring ask the same every time, sizes
    and plans ask alike.

    May be kept for all simulations on one network. Rates depend on nothing but how often each mix is active,
    and are worked out in an order that depends on the mixes alone: what was asked before changes no digit.
    """

    LARGEST = 20_000  # answers kept; a long sweep of uneven traffic would keep too many
    UNIONS = 4
    FEW = 256
    """Mixes that are stacked for all their sets."""
    KEPT = 256
    """Flows of a plan or a step whose names are kept."""

    def __init__(self, capacity: Floats, watched: NDArray[np.bool_] | None = None) -> None:
        self.capacity = capacity
        self._watched = np.zeros(0, np.intp) if watched is None else np.flatnonzero(watched)
        self._together: dict[int, tuple[Together, list[int], tuple[int, ...]]] = {}  # the latest, by identity
        self._equal: dict[bytes, int] = {}
        self._kept: list[tuple[Indices, Floats]] = []
        self._places: list[bytes] = []  # where each stands in a sum, whenever it was named
        self._known: dict[tuple[int, ...], tuple[list[float], bool]] = {}
        self._of_each: dict[tuple[int, ...], tuple[dict[int, float], bool]] = {}
        self._among: dict[tuple[int, ...], Among] = {}

    def name(self, flow: Flow) -> int:
        """A number for the flow's mix of links, the same for equal ones."""
        content = flow.resources.tobytes() + flow.weights.tobytes()
        number = self._equal.setdefault(content, len(self._kept))
        if number == len(self._kept):
            self._kept.append((flow.resources, flow.weights))
            self._places.append(blake2b(content, digest_size=8).digest())
        return number

    def names(self, together: Together) -> tuple[list[int], tuple[int, ...]]:
        """As `name`, of all flows of a plan or a step; and each that is among them, where they are few."""
        named = self._together.get(id(together))
        if named is None:
            if len(self._together) >= self.KEPT:
                self._together.pop(next(iter(self._together)))
            names = [self.name(flow) for flow in together.flows]
            different = tuple(dict.fromkeys(names))
            union = different if len(different) <= self.FEW else ()
            named = self._together[id(together)] = together, names, union
        return named[1:]

    def of(self, mixes: tuple[int, ...], union: tuple[int, ...] = ()) -> tuple[list[float], bool]:
        """Bytes/s of flows with these mixes, all active at once, in this order; and whether a resource that
        is watched limits one of them. `union`: where others of these will be asked for, too.
        """
        found = self._known.get(mixes)
        if found is None:
            if len(self._known) >= self.LARGEST:
                self._known.clear()
                self._of_each.clear()
            ordered = tuple(sorted(mixes))
            if ordered not in self._of_each:
                among = self.among(union or tuple(dict.fromkeys(ordered)))
                self._of_each[ordered] = among.of_each(ordered)
            rate, limited = self._of_each[ordered]
            found = self._known[mixes] = [rate[mix] for mix in mixes], limited
        return found

    def among(self, mixes: tuple[int, ...]) -> Among:
        """For many sets of these mixes, no two of which are alike."""
        found = self._among.get(mixes)
        if found is None:
            if len(self._among) >= self.UNIONS:
                self._among.pop(next(iter(self._among)))
            found = self._among[mixes] = Among(self, mixes)
        return found

    def shared(self, usage: Usage, flows: int) -> tuple[Floats, bool]:
        """Fair shares, and whether a resource that is watched limits one of the flows."""
        rates, limits = fair_shares(usage, self.capacity, flows)
        return rates, bool(limits[self._watched].any())

    def stack(self, mixes: Sequence[int]) -> Usage:
        """What one of each takes, in an order that does not depend on when they were named."""
        places = sorted(range(len(mixes)), key=lambda place: self._places[mixes[place]])
        usage = Usage.stack([self._kept[mixes[place]] for place in places])
        return Usage(np.array(places, np.intp)[usage.flow], usage.resource, usage.weight)
