"""How often the bands of steps hold for a model that nothing is published of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trnbench_fidelity.nearness.evidence import Evidence
from trnbench_fidelity.nearness.subject import Known
from trnbench_fidelity.steps.errors import StepError
from trnbench_fidelity.steps.fitting import fit
from trnbench_fidelity.steps.kept import KeptSteps
from trnbench_fidelity.steps.nearness import step_bands
from trnbench_fidelity.steps.step_answer import StepAnswer
from trnbench_steps.step_constants import StepConstants


def inside(
    known: Iterable[Known], points: Iterable[StepError], kept: Mapping[str, KeptSteps]
) -> dict[str, bool]:
    """Id → whether its e lies in the band it would be given, had nothing of its model been published.

    The band knows nothing of the model either: each model whose errors make it is judged by constants that
    were fitted without both. Fits them anew for every two models of a generation, which takes some seconds.
    """
    places = {each.id: each for each in known}
    own = {each.id: each.e_cross for each in points if each.e_cross is not None and each.id in places}
    found: dict[str, bool] = {}
    for generation, each in kept.items():
        usable = [answer for answer in each.answers if not answer.why and answer.id in own]
        elsewhere = {id: e for id, e in own.items() if places[id].subject.generation != generation}
        for vote in dict.fromkeys(answer.vote for answer in usable):
            others = _errors([answer for answer in usable if answer.vote != vote]) | elsewhere
            if others:
                mine = [places[answer.id] for answer in usable if answer.vote == vote]
                found |= _inside(mine, own, [places[id] for id in others], others)
    return found


def _errors(answers: list[StepAnswer]) -> dict[str, float]:
    """e of each, with constants fitted on these alone and without its own model."""
    held_out = fit(answers).held_out
    return {each.id: each.error(each.time_s(StepConstants(**held_out[each.vote]))) for each in answers}


def _inside(
    mine: list[Known], own: Mapping[str, float], others: list[Known], errors: Mapping[str, float]
) -> dict[str, bool]:
    evidence, inside = Evidence(others), {}
    made = step_bands(others, errors, "", "")
    for answer in mine:
        subject = answer.subject
        kind, _ = evidence.classify(subject)
        groups = made[subject.generation].groups if subject.generation in made else {}
        band = groups.get(subject.group, {}).get(kind)
        if band is not None:
            inside[answer.id] = band.low <= own[answer.id] <= band.high
    return inside
