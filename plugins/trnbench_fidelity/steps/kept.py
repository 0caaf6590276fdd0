"""What a generation keeps of its published steps: the model's answers to them, and bands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trnbench.bounded.file import TABLE, read_file
from trnbench.errors import BadInput
from trnbench.results.nearness import Band, Nearness
from trnbench_fidelity.steps.step_answer import StepAnswer

if TYPE_CHECKING:
    from trnbench.registry import Registry


class KeptSteps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one generation, by version `version` of the model `by`: answers, and group → class → band.

    `inside`: which of the points lie in the band that they would be given, had nothing of their model been
    published; of answers that no band was made for it is empty.
    """

    generation: str
    by: str
    version: str
    answers: tuple[StepAnswer, ...] = ()
    groups: dict[str, dict[Nearness, Band]] = {}
    inside: dict[str, bool] = {}


def read_kept(path: Path) -> KeptSteps:
    """Raises `BadInput` for what is no such file."""
    try:
        return msgspec.json.decode(read_file(path, most=TABLE), type=KeptSteps)
    except (msgspec.MsgspecError, RecursionError, BadInput) as error:
        raise BadInput(
            f"{path} does not hold answers to published steps: {error.args[0]}",
            cause="it was not made by .ci/renew_steps, or by another version of it",
            try_="make it anew: docs/fidelity.md, Steps of whole models",
        ) from None


def kept_steps(registry: Registry) -> dict[str, KeptSteps]:
    """Generation → what it keeps, for those that keep any. Raises `BadInput`."""
    paths = {name: each.steps for name, each in registry.generations.items()}
    return {name: read_kept(path) for name, path in paths.items() if path is not None}


def as_json(kept: KeptSteps) -> str:
    """What `read_kept` reads, a line for each answer."""
    return msgspec.json.format(msgspec.json.encode(kept), indent=1).decode() + "\n"
