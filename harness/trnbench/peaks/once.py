"""Answers that follow from a system's documents alone, given again when they are asked for again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from trnbench.generation import System

P = ParamSpec("P")
R = TypeVar("R")


def once_for_system(answer: Callable[Concatenate[System, P], R]) -> Callable[Concatenate[System, P], R]:
    """A function of a system and of hashable values, worked out once for each: cases of many scopes and sizes
    share it."""
    place = f"{answer.__module__}.{answer.__qualname__}"

    @wraps(answer)
    def known(system: System, /, *args: P.args, **named: P.kwargs) -> R:
        answers: dict[Any, R] = vars(system).setdefault(place, {})
        asked = (args, *sorted(named.items()))
        if asked not in answers:
            answers[asked] = answer(system, *args, **named)
        return answers[asked]

    return known
