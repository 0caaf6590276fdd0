"""What generations ship of the model's answers, and the tables of the documents that follow from the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from renewal import ERRORS, README, inserted, write
from renewal.sections import comparison_rows, groups_of, product_rows, public_section
from trnbench.run import snapshot
from trnbench.store.answers import Answers, code_stamps, files_of, read_answers, stamps
from trnbench_fidelity import sources, summary, tables
from trnbench_fidelity.bench import Bench, lineage
from trnbench_fidelity.commands import band_coverage, fidelity_tables
from trnbench_fidelity.nearness import bands, coverage, made
from trnbench_fidelity.own_products import products
from trnbench_fidelity.steps import archive
from trnbench_fidelity.validate import validate

if TYPE_CHECKING:
    from trnbench.generation import Generation
    from trnbench.registry import Registry

SECTIONS = (
    snapshot.SECTION,
    sources.COMPARISONS,
    sources.PRODUCTS,
    bands.SECTION,
    bands.RANGES,
    sources.SECTION,
    archive.SECTION,
)
"""In the order of the file."""


def renew(registry: Registry) -> None:
    """Graphs, comparisons, products and bands of every generation with a file of answers, and the tables.

    Raises what `validate` raises.
    """
    fidelity = validate(registry)
    rows, banded = comparison_rows(registry, fidelity), made(registry, fidelity)
    for name, generation in registry.generations.items():
        if generation.answers is None:
            continue
        systems = registry.systems(each.name for each in generation.instances)
        sections: dict[str, object] = {snapshot.SECTION: snapshot.shipped(systems)}
        if name in rows:
            sections[sources.COMPARISONS] = rows[name]
            sections[sources.PRODUCTS] = product_rows(products(registry, name))
        if name in banded:
            sections[bands.SECTION] = groups_of(banded[name])
        sections[bands.RANGES] = bands.ranges(registry, name)
        by, version = Bench(registry).model()
        write_answers(
            generation,
            sections,
            by=by,
            version=version,
            files=stamps(files_of(lineage(registry, name))),
            code=code_stamps(snapshot.builders(systems)),
        )
    page = inserted(ERRORS.read_text(encoding="utf-8"), summary.markdown(fidelity))
    public = sources.kept(registry)
    assert public is not None, "no installed generation keeps what public kernels gave"
    write(
        ERRORS,
        inserted(
            page,
            fidelity_tables.public_markdown(public),
            fidelity_tables.PUBLIC_BEGIN,
            fidelity_tables.PUBLIC_END,
        ),
    )
    judged = band_coverage.judged_of(registry, fidelity, archive.step_archives(registry))
    bands_hold = coverage.markdown(coverage.coverage_rows(judged))
    page = ERRORS.read_text(encoding="utf-8")
    write(ERRORS, inserted(page, bands_hold, coverage.BEGIN, coverage.END))
    brief = tables.brief(fidelity.families)
    page = README.read_text(encoding="utf-8")
    write(README, inserted(page, brief, tables.TRUST_BEGIN, tables.TRUST_END))


def renew_public_kernels(registry: Registry, folder: Path) -> None:
    """The section of public kernels, which are run from their sources in `folder`: some minutes.

    Raises `CalledProcessError` where that fails.
    """
    options = ("--no-cache", "sources", "--kernels", str(folder), "--format", "json")
    command = [sys.executable, "-m", "trnbench", "validate", *options]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    of_all = msgspec.json.decode(printed, type=sources.Sources)
    for name in dict.fromkeys(point.generation for point in of_all.points):
        points = tuple(point for point in of_all.points if point.generation == name)
        section = public_section(msgspec.structs.replace(of_all, points=points))
        write_answers(registry.generations[name], {sources.SECTION: section})


def write_answers(generation: Generation, sections: Mapping[str, object], **stamped: Any) -> None:
    """The file with these sections in place of those it has. Raises `BadInput` for a file that is none."""
    path = generation.answers
    if path is None:
        return
    before = read_answers(path) if path.is_file() else Answers(generation=generation.name)
    raw = {name: msgspec.Raw(msgspec.json.encode(each)) for name, each in sections.items()}
    every = {**before.sections, **raw}
    ordered = {name: every[name] for name in SECTIONS if name in every}
    write(path, as_json(msgspec.structs.replace(before, sections=ordered, **stamped)))


_WIDE = 200
"""Characters of JSON that stand on one line: a row of a table, so that people can compare files by line."""


def as_json(answers: Answers) -> str:
    """What `read_answers` reads, a line for each row."""
    return "\n".join(_lines(msgspec.json.decode(msgspec.json.encode(answers)))) + "\n"


def _lines(value: Any, before: str = "") -> list[str]:
    flat = msgspec.json.encode(value).decode()
    if len(flat) <= _WIDE or not isinstance(value, dict | list):
        return [before + flat]
    if isinstance(value, dict):
        opened, closed = "{}"
        parts = [_lines(each, f"{msgspec.json.encode(key).decode()}:") for key, each in value.items()]
    else:
        opened, closed = "[]"
        parts = [_lines(each) for each in value]
    for part in parts[:-1]:
        part[-1] += ","
    return [before + opened, *(line for part in parts for line in part), closed]
