"""Fitted constants of a generation, and what they are with a model left out."""

from __future__ import annotations

from collections.abc import Mapping

from trnbench_steps.step_constants import UNITS, Constant, StepConstants


def constants(named: Mapping[str, Constant], without: str = "") -> StepConstants:
    """The values, in seconds and shares; those of a fit without the model `without` where they are known."""
    return StepConstants(
        **{name: each.held_out.get(without, each.value) * UNITS[name][1] for name, each in named.items()}
    )
