"""Trying again a case that was lost, and saying so in its result."""

from __future__ import annotations

import msgspec

from trnbench.results.measurement import Measurement, Reason

AGAIN = (Reason.CRASH, Reason.OUT_OF_MEMORY, Reason.TIMEOUT)
"""What may be an accident of the moment. A wrong result or missing evidence is none: it stays."""


class Retries:
    """Counts the tries of each case of a run; `most` is how often one is tried again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lost: dict[int, list[str]] = {}

    def again(self, position: int, measurement: Measurement) -> bool:
        """Whether to try the case once more; what went wrong is kept for `told`."""
        if measurement.reason not in AGAIN:
            return False
        lost = self._lost.setdefault(position, [])
        if len(lost) >= self.most:
            return False
        lost.append(f"try {len(lost) + 1}: {measurement.reason}: {measurement.reason_text}")
        return True

    def told(self, position: int, measurement: Measurement) -> Measurement:
        """The measurement with its earlier tries in the notes; the same one where there were none."""
        lost = self._lost.get(position)
        if not lost:
            return measurement
        notes = (*measurement.notes, f"this is try {len(lost) + 1}", *lost)
        return msgspec.structs.replace(
            measurement, notes=notes, detail={**measurement.detail, "tries": len(lost) + 1}
        )
