"""The sections of a generation's answers, of comparisons and steps that have just been made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from trnbench.registry import Registry
from trnbench.results.fidelity import Comparison, Fidelity, OwnProduct, Use
from trnbench_fidelity.nearness.bands import BandRow, Bands, Ends, Groups, bands, ends_of
from trnbench_fidelity.nearness.evidence import Evidence, Known
from trnbench_fidelity.point import Usable
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.sources import PublicRows, Row, Sources
from trnbench_fidelity.steps.archive import StepArchive, StepRow, StepRows
from trnbench_fidelity.steps.load import published_steps
from trnbench_steps.step_constants import UNITS, Constant, in_seconds

ASKED = frozenset((Use.EMULATED, Use.BOUND, Use.CONTRADICTED, Use.NOT_EMULATED))
"""Of all other points the file of points itself says why the model was not asked."""


def kept_row(each: Comparison) -> Row:
    """What is kept of a comparison."""
    crossed = msgspec.UNSET if each.e_cross == each.e else each.e_cross
    return Row(use=each.use, emulated=each.emulated, e_cross=crossed, how=each.how, active=each.active)


def comparison_rows(registry: Registry, fidelity: Fidelity) -> dict[str, dict[str, Row]]:
    """Generation → its section, of a comparison that has just been made of all points.

    Not those of public kernels, which need their sources (`fidelity.sources`).
    """
    answers = {each.id: each for each in fidelity.points if each.use in ASKED}
    return {
        name: {
            point.id: kept_row(answers[point.id])
            for point in points
            if point.id in answers and point.usable is not Usable.SOURCE
        }
        for name, points in published_points(registry).items()
    }


def product_rows(products: Iterable[OwnProduct]) -> dict[str, float]:
    """The section of the products that `same.products` has just made."""
    return {each.id: each.model_flops_per_s for each in products}


def groups_of(bands: Bands) -> Groups:
    """What is kept of them."""
    return {
        group: {kind: BandRow(**msgspec.structs.asdict(band)) for kind, band in classes.items()}
        for group, classes in bands.groups.items()
    }


def public_section(sources: Sources) -> PublicRows:
    """What one generation keeps of its `Sources`."""
    return PublicRows(
        day=sources.day,
        by=sources.by,
        version=sources.version,
        checkouts=sources.checkouts,
        assumptions=sources.assumptions,
        points={each.id: kept_row(each) for each in sources.points if each.use is not Use.NO_KERNEL},
    )


def step_bands(known: Iterable[Known], errors: Mapping[str, float], version: str) -> dict[str, Bands]:
    """Generation → group → class → band, of errors that were made without the point's own model."""
    return bands(Evidence(known), errors, version)


def step_ends(kept: StepArchive, named: Mapping[str, Constant]) -> dict[str, Ends]:
    """What the ranges of the constants `named` do to the time of each step, one at a time."""
    now = in_seconds(named)
    ends: dict[str, Ends] = {}
    for answer in kept.answers:
        if answer.why:
            continue
        moved = [
            answer.time_s(msgspec.structs.replace(now, **{name: end * UNITS[name][1]}))
            for name, each in named.items()
            for end in (each.low, each.high)
        ]
        if found := ends_of(moved, answer.time_s(now)):
            ends[answer.id] = found
    return ends


def step_section(registry: Registry, kept: StepArchive) -> StepRows:
    """What is kept: what published steps and models say themselves is read from there."""
    rows = {}
    points = published_steps(registry, (kept.generation,))[kept.generation].points
    usable = {point.id for point in points if point.usable}
    for each in kept.answers:
        if each.id not in usable:
            continue
        same = {name: getattr(each, name) for name in StepRow.__struct_fields__ if hasattr(each, name)}
        rows[each.id] = StepRow(inside=kept.inside.get(each.id), ends=kept.ends.get(each.id), **same)
    bands = Bands(version=kept.version, groups=kept.groups)
    return StepRows(by=kept.by, version=kept.version, answers=rows, bands=groups_of(bands))
