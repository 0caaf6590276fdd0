"""The built-in report sections and output formats of trnbench, functions of `Run` values alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import trnbench
from trnbench import Format, Importer, Page, Section

_SECTIONS: tuple[tuple[str, str, int, Literal[1, 2, 3]], ...] = (
    ("headline", "Headline", 10, 1),
    ("workloads", "Workloads", 12, 1),
    ("comparison", "What changed", 15, 2),
    ("scoreboard", "Scoreboard", 20, 2),
    ("losses", "Losses", 22, 2),
    ("links", "Links", 24, 2),
    ("generations", "Generations", 26, 2),
    ("rooflines", "Rooflines", 30, 3),
    ("fabric", "Fabric", 50, 3),
    ("fidelity", "Fidelity", 70, 3),
    ("cases", "Cases", 75, 3),
    ("documents", "Documents", 80, 3),
    ("method", "Environment and method", 90, 3),
)
_FORMATS = (
    ("html", "one HTML file, opens anywhere, fetches nothing", ".html", "trnbench_reports.page:render"),
    ("json", "the whole run, strict JSON", ".json", "trnbench:write_json"),
    ("csv", "one row per metric of each case", ".csv", "trnbench_reports.formats.csv:write"),
    (
        "markdown",
        "headline and scoreboard for a pull request",
        ".md",
        "trnbench_reports.formats.markdown:write",
    ),
    (
        "arrow",
        "the rows of the CSV as Arrow's file format",
        ".arrow",
        "trnbench_reports.formats.arrow:write_arrow",
    ),
    (
        "pytest-benchmark",
        "times as JSON of pytest-benchmark",
        ".pytest-benchmark.json",
        "trnbench_reports.formats.pytest_benchmark:write",
    ),
    (
        "nccl-tests",
        "collectives in the table of nccl-tests",
        ".nccl-tests.txt",
        "trnbench_reports.formats.nccl_tests:write",
    ),
    ("junit", "cases as tests, for CI servers", ".junit.xml", "trnbench:write_junit"),
    ("openmetrics", "gauges for Prometheus", ".prom", "trnbench_reports.formats.openmetrics:write"),
    ("parquet", "the rows of the CSV as Parquet", ".parquet", "trnbench_reports.formats.arrow:write_parquet"),
)


_PARTS = (
    ("headline", ".svg"),
    ("headline", ".md"),
    ("scoreboard", ".svg"),
    ("scoreboard", ".md"),
    ("losses", ".svg"),
    ("losses", ".md"),
    ("links", ".svg"),
    ("generations", ".svg"),
)
_PICTURES = ("headline", "scoreboard", "losses", "links", "generations")


@trnbench.hookimpl
def trnbench_reports() -> Iterator[Section | Format | Page]:
    """Names only; a section is imported when the page is written."""
    for name, title, order, depth in _SECTIONS:
        yield Section(
            name=name,
            title=title,
            order=order,
            depth=depth,
            render=f"trnbench_reports.sections.{name}:render",
        )
    for name, title, suffix, write in _FORMATS:
        yield Format(name=name, title=title, suffix=suffix, write=write, page=name == "html")
    for piece, suffix in _PARTS:
        yield Format(
            name=f"{piece}{suffix}",
            title=f"the {piece} of the page alone",
            suffix=f".{piece}{suffix}",
            write=f"trnbench_reports.formats.parts:{piece}_{suffix[1:]}",
            part=piece,
        )
    for piece in _PICTURES:
        yield Format(
            name=f"{piece}.png",
            title=f"the {piece} of the page alone, by the Chromium that is found",
            suffix=f".{piece}.png",
            write=f"trnbench_reports.formats.picture:{piece}",
            part=piece,
        )
    yield Page(name="history", title="cases over the stored runs", write="trnbench_reports.history:render")
    yield Page(name="site", title="several runs as linked pages", write="trnbench_reports.site.build:write")
    yield Page(name="plan", title="the Pareto front of a plan", write="trnbench_reports.plan:render")


@trnbench.hookimpl
def trnbench_importers() -> Iterator[Importer]:
    """What other tools write in the formats that we write too."""
    for name, title, module in (
        ("pytest-benchmark", "JSON of pytest-benchmark", "pytest_benchmark"),
        ("nccl-tests", "what nccl-tests prints", "nccl_tests"),
    ):
        yield Importer(name=name, title=title, read=f"trnbench_reports.importers.{module}:read")
