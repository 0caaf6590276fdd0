"""`trnbench validate`: how far the emulator is from published measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import ExitCode, Fidelity, MissingFile, NothingSelected, Session, UnknownName, UsageError
from trnbench.terminal.output import say
from trnbench_emulator.commands.nki.kernel import apart
from trnbench_emulator.compiler import Assumptions, assumptions
from trnbench_fidelity.commands import band_coverage, fidelity_tables, validate_steps
from trnbench_fidelity.commands.fidelity_tables import show_own_products
from trnbench_fidelity.point import FAMILIES
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.snapshot import cached_validation
from trnbench_fidelity.validate import validate as hold

if TYPE_CHECKING:
    from trnbench.registry import Registry


WORKLOADS = "workloads"
"""Steps of whole models: no family of kernels, with an errors table of its own."""


@apart
def validate(
    state: Session,
    what: str | None,
    families: tuple[str, ...],
    instances: tuple[str, ...],
    generations: tuple[str, ...],
    kernels: Path | None,
    assume: tuple[str, ...],
    medians: tuple[str, ...],
    p90s: tuple[str, ...],
    most_broken: int | None,
    minimum: tuple[str, ...],
    format: str,
) -> ExitCode:
    """Emulate published measurements as stated: broken inequalities first, then errors, worst first."""
    registry = state.registry
    sources = what == "sources"
    table = None if what in ("same", "coverage", "sources") else what
    asked = {
        "-i": instances,
        "--kernels": kernels,
        "sources": sources,
        "--assume": assume,
        "same": what == "same",
        f"{table}": table,
        "--max-median": medians,
        "--max-p90": p90s,
        "--max-broken": most_broken is not None,
    }
    steps = WORKLOADS in families
    if what == "coverage" or minimum:
        other = [name for name, value in asked.items() if value]
        other += [f"--family {WORKLOADS}"] if steps else []
        band_coverage.refuse(other, f"validate {what}" if what == "coverage" else "--min-coverage")
        _check_names(registry, set(families) - set(validate_steps.TASKS), generations)
        least = band_coverage.minima(minimum)
        return band_coverage.show_coverage(state, families, generations, least, format)
    _check_names(registry, () if steps else families, generations)
    if what == "same":
        return _own_products(
            registry, generations, bool(families) or any({**asked, "same": False}.values()), format
        )
    gates = validate_steps.parsed(medians, p90s, most_broken, steps=steps)
    # An alias becomes the name; a size stays, and without one every size is meant.
    systems = {"".join((registry.instance(name)[1].name, *name.partition(":")[1:])) for name in instances}
    if steps:
        given = {name: asked[name] for name in ("--kernels", "sources", "--assume", "--max-broken")}
        given |= {f"{table}": table not in (None, "points"), "another --family": len(set(families)) > 1}
        validate_steps.refuse([name for name, value in given.items() if value not in (None, False, ())])
        return validate_steps.validate_steps(
            state, generations, frozenset(systems), table == "points", gates, format
        )
    assumed = assumptions(assume)
    _check_sources(kernels, sources=sources, assumed=bool(assume))
    selected: dict[str, Any] = {"families": families, "generations": generations, "systems": systems}
    fidelity = _fidelity(state, kernels, sources=sources, assumed=assumed, selected=selected)
    _show(fidelity, table, kernels if sources else None, str(assumed), format)
    return validate_steps.judge(fidelity, gates)


def _own_products(registry: Registry, generations: Sequence[str], others: bool, format: str) -> ExitCode:
    """Raises `UsageError` where other options are typed, `NothingSelected` where no product is published."""
    if others:
        raise UsageError(
            "validate same goes with --generation and --format alone",
            cause="it compares products of ours with published ones, which no other option is about",
            try_="trnbench validate same --generation trn2",
        )
    if not show_own_products(registry, generations, format):
        raise NothingSelected(
            "no product is published of the selected generations",
            cause=_why_empty(registry, generations),
            try_="trnbench validate same: of all generations",
        )
    return ExitCode.OK


def _fidelity(
    state: Session, kernels: Path | None, *, sources: bool, assumed: Assumptions, selected: Mapping[str, Any]
) -> Fidelity:
    """Of the points of `selected` families, generations and systems. Raises `NothingSelected`."""
    registry = state.registry
    if kernels is None:
        fidelity = cached_validation(registry, state.cache(), **selected)
    else:
        fidelity = hold(
            registry, **selected, kernels=kernels, with_same=not sources, sources=sources, assumptions=assumed
        )
    if not fidelity.points:
        raise NothingSelected(
            "no published point is selected",
            cause=_why_empty(registry, selected["generations"]),
            try_="trnbench validate points: all there are",
        )
    return fidelity


def _check_sources(kernels: Path | None, *, sources: bool, assumed: bool) -> None:
    """Raises `MissingFile` where --kernels is no folder, `UsageError` for what goes with it alone."""
    if kernels is not None and not kernels.is_dir():
        raise MissingFile(
            f"--kernels: {kernels} is no folder",
            cause="it is a file" if kernels.exists() else "it does not exist",
            try_="the folder into which the public sources were fetched",
        )
    if sources and kernels is None:
        raise UsageError(
            "validate sources goes with --kernels PATH", try_="the folder with the public sources"
        )
    if assumed and kernels is None:
        raise UsageError("--assume goes with --kernels PATH", try_="the folder with the public sources")


def _show(fidelity: Fidelity, table: str | None, sources: Path | None, assumed: str, format: str) -> None:
    """The table that is asked for, what is kept of public `sources`, or the whole comparison."""
    if table is not None:
        fidelity_tables.show_table(table, fidelity, format)
    elif sources is not None and format in ("md", "json"):
        fidelity_tables.show_sources(fidelity, sources, format, assumed)
    else:
        fidelity_tables.show(fidelity, format)
        if sources is not None and format == "table":
            fidelity_tables.show_not_run(fidelity)
    for note in fidelity.notes:
        say(note)


def _check_names(registry: Registry, families: Iterable[str], generations: Iterable[str]) -> None:
    for name in families:
        if name not in FAMILIES:
            raise UnknownName("family", name, (*FAMILIES, WORKLOADS), try_="trnbench validate: every family")
    for name in generations:
        if name not in registry.generations:
            raise UnknownName("generation", name, registry.generations, try_="trnbench list generations")


def _why_empty(registry: Registry, generations: Sequence[str]) -> str:
    if not published_points(registry, generations):
        names = ", ".join(generations) or "no installed generation"
        return f"{names} brings no published measurements"
    return "the options exclude every point"
