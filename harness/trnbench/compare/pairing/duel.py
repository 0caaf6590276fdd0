"""The cases of each side, and which belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from trnbench.backend import Backend
from trnbench.case_key import CaseKey
from trnbench.compare.pairing.operand import Kind, Operand
from trnbench.compare.pairing.rounds import Seat
from trnbench.errors import NothingSelected, UsageError
from trnbench.registry import Registry
from trnbench.run.api import choose_backend, here
from trnbench.run.plan import plan
from trnbench.run.reply import checked_refusal, detected
from trnbench.run.selection import Selection

T = TypeVar("T")


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked beside the two sides: the words of the options of the same names."""

    backend: str = ""
    kernels: tuple[str, ...] = ()
    keyword: str = ""
    axes: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    sample_s: float = 0.0
    seed: int = 0


def measuring(registry: Registry, name: str) -> Backend:
    """The backend called `name`; for "", or one that measures nothing, the first that measures here.

    Raises `UnknownName`, and `UsageError` where none measures.
    """
    if name:
        chosen = choose_backend(registry, name)
        if detected(chosen).instance:
            return chosen
        raise UsageError(
            f"backend {name!r} measures nothing",
            cause="what it tells is exact: it needs no pairs",
            try_="trnbench compare RUN RUN; or --backend host",
        )
    for backend in registry.backends.values():
        found = detected(backend)
        if found.available and found.instance:
            return backend
    raise UsageError(
        "no backend measures here", cause="pairs are measured, not emulated", try_="trnbench doctor"
    )


def seats(registry: Registry, wish: Wish, side: Operand) -> list[Seat]:
    """The cases of one side that can run. Raises `NothingSelected`, and what a plan raises."""
    backend = measuring(registry, wish.backend)
    selection = Selection.of(
        kernels=(side.typed,) if side.kind is Kind.KERNEL else wish.kernels,
        keyword=wish.keyword,
        axes=(*wish.axes, side.typed) if side.kind is Kind.SETTING else wish.axes,
    )
    facts = (*wish.facts, side.typed) if side.kind is Kind.FACTS else wish.facts
    planned = plan(registry, here(selection, backend), extra_facts=tuple(map(Path, facts)))
    placed = [Seat(backend, case, planned.systems[case.key.instance]) for case in planned.runnable]
    fit = [
        seat for seat in placed if not checked_refusal(backend, backend.unsupported(seat.case, seat.system))
    ]
    if not fit:
        raise NothingSelected(
            f"backend {backend.name!r} can measure no case of {side.typed}",
            cause=backend.unsupported(placed[0].case, placed[0].system) if placed else "each is skipped",
            try_="trnbench run --dry-run --backend NAME  says why",
        )
    return fit


def keyed(own: Sequence[Seat], side: Operand) -> dict[str, CaseKey]:
    """The cases of one side, by what they are called but for what the two sides differ in."""
    free = side.axis.rpartition(".")[2] if side.kind is Kind.SETTING else ""
    return {_key(seat.case.key, free, named=side.kind is not Kind.KERNEL): seat.case.key for seat in own}


def _key(case: CaseKey, free: str, *, named: bool) -> str:
    point = {axis: value for axis, value in case.point.items() if axis != free}
    return msgspec.structs.replace(case, kernel=case.kernel if named else "", point=point).joint


class Duel(NamedTuple):
    """Two cases that belong together, by their places on each side."""

    first: int
    second: int


def duels(first: Mapping[str, CaseKey], second: Mapping[str, CaseKey]) -> dict[Duel, tuple[CaseKey, CaseKey]]:
    """What both sides have. Raises `NothingSelected` where that is nothing."""
    places = {key: place for place, key in enumerate(second)}
    together = {
        Duel(place, places[key]): (case, second[key])
        for place, (key, case) in enumerate(first.items())
        if key in places
    }
    if not together:
        one, two = (next(iter(cases.values())).id for cases in (first, second))
        raise NothingSelected(
            "the two sides have no case in common",
            cause=f"such as {one} of the first and {two} of the second",
            try_="-a NAME=VALUE  sets an axis of both sides",
        )
    return together
