"""Which algorithm the runtime takes: data, with what it was observed on; nothing is observed elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from trnbench.errors import FactError


class Threshold(msgspec.Struct, frozen=True):
    """`algorithm` is taken below `max_bytes` of the full buffer."""

    algorithm: str
    max_bytes: float


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed: on a generation, in a context, for these collectives of so many ranks (cores,
    logical or physical) of so many instances. `points` are published; `*` at the end stands for many.
    `source` names a document that says the same, "" where none does; `why` says what was seen.
    """

    generation: str
    context: str
    collectives: tuple[str, ...]
    ranks: tuple[int, ...]
    instances: int
    take: tuple[Threshold, ...]
    why: str
    points: tuple[str, ...]
    source: str = ""

    def taken(self, size: float) -> str:
        """The algorithm for `size` bytes."""
        return next(each.algorithm for each in self.take if size < each.max_bytes)

    @property
    def sentence(self) -> str:
        """`mesh below 1 MB, rdh below 56 MB, kangaring above (cc-intra; …)`."""
        steps = ", ".join(
            f"{each.algorithm} below {each.max_bytes / 1e6:g} MB"
            if each.max_bytes != float("inf")
            else f"{each.algorithm}{' above' if len(self.take) > 1 else ''}"
            for each in self.take
        )
        said = ": ".join(filter(None, (self.source, self.why)))
        return f"{steps} ({said}; observed: {', '.join(self.points)})"


def rules_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """`[[fabric.rules]]` of a cost table. Raises FactError for a row that lacks something."""
    rules = []
    for number, row in enumerate(rows):
        try:
            steps = [
                Threshold(each["algorithm"], float(each.get("below_bytes", "inf"))) for each in row["take"]
            ]
            rule = msgspec.convert(
                {**row, "take": sorted(steps, key=lambda each: each.max_bytes)}, Rule, strict=True
            )
        except (KeyError, msgspec.ValidationError) as error:
            raise FactError(
                f"[[fabric.rules]] number {number + 1} of the cost table cannot be read: {error}",
                cause="a rule names generation, context, collectives, ranks, instances, take, source, points",
                try_="correct the row in costs.toml",
            ) from None
        if not rule.take or rule.take[-1].max_bytes != float("inf"):
            raise FactError(
                f"[[fabric.rules]] number {number + 1} of the cost table names nothing for large messages",
                cause="the last algorithm of take has no below_bytes",
                try_="correct the row in costs.toml",
            )
        rules.append(rule)
    return tuple(rules)


def observed(
    rules: Iterable[Rule], *, generation: str, context: str, collective: str, ranks: int, instances: int
) -> Rule | None:
    """The rule that was observed on exactly this, None where none was."""
    return next(
        (
            rule
            for rule in rules
            if (rule.generation, rule.context, rule.instances) == (generation, context, instances)
            and collective in rule.collectives
            and ranks in rule.ranks
        ),
        None,
    )
