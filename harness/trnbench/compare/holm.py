"""Many questions at once: what one of them may claim."""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(p: Sequence[float]) -> list[float]:
    """Holm's step-down values: below α for all that may be claimed with a chance of α for any false claim.

    The smallest is multiplied by how many there are, the next by one less, and none falls below the one
    before (Holm 1979).
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    found = [0.0] * len(p)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, p[index] * (len(p) - rank)))
        found[index] = least
    return found
