"""`trnbench validate`: how far the emulator is from published measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session, session
from trnbench.cli.names import complete_instances
from trnbench.cli.output import Column, emit, format_option, say, write
from trnbench.cli.own_products import show_own_products
from trnbench.errors import ExitCode, MissingFile, NothingSelected, UnknownName, UsageError

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.results.fidelity import Comparison, Fidelity


def _percent(fraction: float) -> str:
    from trnbench.fidelity.tables import percent

    return percent(fraction)


def _signed(fraction: float) -> str:
    from trnbench.fidelity.tables import signed

    return signed(fraction)


_FAMILIES: tuple[Column | str, ...] = (
    "family",
    "points",
    Column("median", show=_percent, align="right"),
    Column("p90", show=_percent, align="right"),
    Column("worst", show=_percent, align="right"),
    Column("bias", show=_signed, align="right"),
    Column("in_sample", "fitted on"),
    Column("cross_validated_points", "cross-validated"),
    Column("cross_validated_median", "median", show=_percent, align="right"),
    Column("cross_validated_p90", "p90", show=_percent, align="right"),
    Column("bounds", show=str),
    "contradicted",
    "needs_source",
    "no_kernel",
    "not_emulated",
    "not_used",
)
_POINTS: tuple[Column | str, ...] = (
    "id",
    "family",
    "use",
    Column("published_text", "published", align="right"),
    Column("emulated_text", "emulated", align="right"),
    Column("error", show=_signed, align="right"),
    Column("cross_validated_error", "cross-validated", show=_signed, align="right"),
    Column("evidence"),
    "source",
    "how",
)


@click.command("validate")
@click.option("--family", "families", multiple=True, metavar="NAME", help="Only this family. Repeatable.")
@click.option(
    "-i",
    "--instance",
    "instances",
    multiple=True,
    metavar="NAME",
    help="Only points of this system. Repeatable.",
    shell_complete=complete_instances,
)
@click.option("--generation", "generations", multiple=True, metavar="NAME", help="Only points of this one.")
@click.option(
    "--kernels",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Folder of public kernel sources; those that points name are run.",
)
@click.option(
    "--sources", is_flag=True, help="Only the points measured with a public kernel; needs --kernels."
)
@click.option(
    "--assume",
    "assume",
    multiple=True,
    metavar="no-NAME[,…]",
    help="What the compiler of public kernels is not taken to do, as of trnbench nki run. Repeatable.",
)
@click.option("--points", is_flag=True, help="One row per point instead of one per family.")
@click.option(
    "--same",
    "own",
    is_flag=True,
    help="Our own product beside the best published one of each shape, instead: two programs, never counted.",
)
@click.option(
    "--max-median",
    "limits",
    multiple=True,
    metavar="FAMILY=12%",
    help="Exit with 1 when the median error of a family is larger. Repeatable.",
)
@format_option
@session
def validate(
    state: Session,
    families: tuple[str, ...],
    instances: tuple[str, ...],
    generations: tuple[str, ...],
    kernels: Path | None,
    sources: bool,
    assume: tuple[str, ...],
    points: bool,
    own: bool,
    limits: tuple[str, ...],
    format: str,
) -> ExitCode:
    """Emulate published measurements as stated and show the error, worst family first.

    Median, 90th percentile and worst of the absolute error; bias is the median error of the time,
    + where the model is slower than the machine. Points that a constant was fitted on are counted;
    the cross-validated columns are of constants fitted without the point. Bounds,
    contradicted points and our own kernel of the same operation are shown apart and never counted.
    """
    from trnbench.compiler import assumptions
    from trnbench.fidelity.validate import validate as hold

    registry = state.registry
    _check_names(registry, families, generations)
    gates = [_limit(each) for each in limits]
    if own:
        if families or instances or kernels or sources or assume or points or limits:
            raise UsageError(
                "--same goes with --generation and --format alone",
                cause="it compares products of ours with published ones, which no other option is about",
                try_="trnbench validate --same --generation trn2",
            )
        if not show_own_products(registry, generations, format):
            raise NothingSelected(
                "no product is published of the selected generations",
                cause=_why_empty(registry, generations),
                try_="trnbench validate --same: of all generations",
            )
        return ExitCode.OK
    # An alias becomes the name; a size stays, and without one every size is meant.
    systems = {"".join((registry.instance(each)[1].name, *each.partition(":")[1:])) for each in instances}
    if kernels is not None and not kernels.is_dir():
        raise MissingFile(
            f"--kernels: {kernels} is no folder",
            cause="it is a file" if kernels.exists() else "it does not exist",
            try_="the folder into which the public sources were fetched",
        )
    if sources and kernels is None:
        raise UsageError("--sources goes with --kernels PATH", try_="the folder with the public sources")
    assumed = assumptions(assume)
    if assume and kernels is None:
        raise UsageError("--assume goes with --kernels PATH", try_="the folder with the public sources")
    found = hold(
        registry,
        families=families,
        generations=generations,
        systems=systems,
        kernels=kernels,
        with_same=not sources,
        sources=sources,
        assumptions=assumed,
    )
    if not found.points:
        raise NothingSelected(
            "no published point is selected",
            cause=_why_empty(registry, generations),
            try_="trnbench validate --points: all there are",
        )
    if points:
        emit([_point_row(each) for each in found.points], _POINTS, format)
    elif sources and kernels is not None and format in ("md", "json"):
        _show_sources(found, kernels, format, str(assumed))
    else:
        _show(found, format)
        if sources and format == "table":
            _show_not_run(found)
        elif format == "table" and not (kernels or families or systems):
            _say_public(registry, generations)
    for note in found.notes:
        say(note)
    return _judge(found, gates)


def _show(found: Fidelity, format: str) -> None:
    from trnbench.fidelity.tables import family_row, markdown

    if format == "md":
        write("".join(f"{note[0].upper()}{note[1:]}.\n\n" for note in found.notes) + markdown(found))
        return
    rows = [family_row(each) | ({"notes": found.notes} if found.notes else {}) for each in found.families]
    emit(rows, _FAMILIES, format)
    if format == "table":
        say(f"model: {found.by} {found.version}; {_counted(found)}", level=0)


def _show_sources(found: Fidelity, kernels: Path, format: str, assumed: str) -> None:
    from datetime import UTC, datetime

    from trnbench.fidelity.sources import as_json, checkouts, markdown, of_fidelity

    made = of_fidelity(found, checkouts(kernels), datetime.now(UTC).date().isoformat(), assumed)
    write(markdown(made) if format == "md" else as_json(made))


def _say_public(registry: Registry, generations: Sequence[str]) -> None:
    """What public kernels gave when they were last run: they are not here to run again."""
    from trnbench.fidelity.sources import kept, summaries

    found = kept(registry, generations)
    for each in summaries(found) if found else ():
        if each.errors:
            errors = f"median {_percent(each.errors.median)}, p90 {_percent(each.errors.p90)}"
            say(
                f"public kernels of {each.generation}, run on {each.day} by {each.by} {each.version}: "
                f"{errors} ({each.errors.count} points)",
                level=0,
            )


def _show_not_run(found: Fidelity) -> None:
    rows = [{"not run": each.id, "because": each.how} for each in found.points if each.emulated is None]
    if rows:
        write("\n")
        emit(rows, ("not run", "because"), "table")


def _counted(found: Fidelity) -> str:
    counted = sum(each.errors.count for each in found.families if each.errors)
    total = len({each.id for each in found.points})
    return f"{counted} of {total} published points are emulated as stated"


def _point_row(each: Comparison) -> dict[str, object]:
    from trnbench.facts.format import show
    from trnbench.fidelity.statistics import relative_error
    from trnbench.results.json import plain

    def text(value: float | None) -> str | None:
        if value is None:
            return None
        if each.unit == "1":
            return f"{value:.3g}"
        return f"{value:.4g} 1/s" if each.unit == "1/s" else show(value, each.unit)

    crossed = None
    if each.cross_validated is not None and each.published is not None:
        crossed = relative_error(each.cross_validated, each.published)
    fields = plain(each)
    assert isinstance(fields, dict)
    return {
        **fields,
        "published_text": text(each.published),
        "emulated_text": text(each.emulated),
        "cross_validated_error": crossed,
        "evidence": "P" if each.emulated is None else "P/E",
    }


def _check_names(registry: Registry, families: Iterable[str], generations: Iterable[str]) -> None:
    from trnbench.fidelity.family import FAMILIES

    for name in families:
        if name not in FAMILIES:
            raise UnknownName("family", name, FAMILIES, try_="trnbench validate: every family")
    for name in generations:
        if name not in registry.generations:
            raise UnknownName("generation", name, registry.generations, try_="trnbench list generations")


def _limit(text: str) -> tuple[str, float]:
    """ "gemm=12%" → ("gemm", 0.12)."""
    from trnbench.fidelity.family import FAMILIES

    family, equals, number = text.partition("=")
    try:
        limit = float(number.strip().removesuffix("%")) / 100
    except ValueError:
        limit = math.nan
    if not equals or not number.strip().endswith("%") or not 0 <= limit < math.inf:
        raise UsageError(
            f"--max-median {text!r} is no limit",
            cause="it is a family, an equals sign and a percentage",
            try_="--max-median hbm=3%",
        )
    if family not in FAMILIES:
        raise UnknownName("family", family, FAMILIES, try_="trnbench validate: every family")
    return family, limit


def _judge(found: Fidelity, gates: Sequence[tuple[str, float]]) -> ExitCode:
    code = ExitCode.OK
    medians = {each.name: each.errors.median for each in found.families if each.errors}
    for family, limit in gates:
        if family not in medians:
            say(f"error: --max-median {family}: no point of it is emulated, so nothing is shown")
            code = ExitCode.GATE
        elif medians[family] > limit:
            say(
                f"error: --max-median {family}: the median error is {_percent(medians[family])}, "
                f"allowed are {_percent(limit)}"
            )
            code = ExitCode.GATE
    return code


def _why_empty(registry: Registry, generations: Sequence[str]) -> str:
    from trnbench.fidelity.validate import published_points

    if not published_points(registry, generations):
        names = ", ".join(generations) or "no installed generation"
        return f"{names} brings no published measurements"
    return "the options exclude every point"
