"""trnbench: how close does this Trainium instance come to its documents, and what takes the rest?

Everything public is importable from here; nothing is imported until it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trnbench.backend import Backend, Detection, Observation
    from trnbench.errors import ExitCode, TrnbenchError
    from trnbench.facts.assembly import Assembly
    from trnbench.facts.book import FactBook
    from trnbench.facts.check import Findings, check_facts
    from trnbench.facts.disagreement import Disagreement
    from trnbench.facts.fact import Assumption, Dispute, Fact, Provenance, Source
    from trnbench.facts.format import percent, show
    from trnbench.facts.metric import METRICS
    from trnbench.facts.peak import Peak, PeakChoice, PeakPolicy
    from trnbench.facts.scope import Direction, Scope
    from trnbench.generation import Generation, Instance, System
    from trnbench.hookspecs import hookimpl
    from trnbench.kernels.axis import Axis
    from trnbench.kernels.case import Case
    from trnbench.kernels.extent import Extent
    from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
    from trnbench.kernels.program import Program
    from trnbench.kernels.published import PublishedAs
    from trnbench.kernels.work import Work
    from trnbench.lazy import resolve
    from trnbench.measure.session import Timing
    from trnbench.registry import load_registry
    from trnbench.results.evidence import Evidence, Grade
    from trnbench.results.expectation import expected, expected_time, grey, nearness_of
    from trnbench.results.fidelity import Comparison, FamilyFidelity, Fidelity
    from trnbench.results.json import dumps, loads
    from trnbench.results.measurement import (
        CaseKey,
        Judgement,
        Measurement,
        Metric,
        Part,
        Reason,
        Status,
    )
    from trnbench.results.nearness import Band, BestPublished, Nearest, Nearness
    from trnbench.results.proof import Growth, Proof
    from trnbench.results.run import PluginRecord, Run, SystemRecord
    from trnbench.run.api import bench, load_run, open_store, render
    from trnbench.run.drawing import Drawing, SectionFailed
    from trnbench.run.headline import Headline, headline
    from trnbench.run.kernel import KernelRun, emulate_kernel
    from trnbench.section import Format, Importer, Section
    from trnbench.store.store import Store
    from trnbench.topology.draw import topology_svg
    from trnbench.topology.graph import Figure, Link, LinkClass, LinkKind, Node, NodeKind, Topology

_HOMES = {
    "trnbench.backend": ("Backend", "Detection", "Observation"),
    "trnbench.errors": ("ExitCode", "TrnbenchError"),
    "trnbench.facts.assembly": ("Assembly",),
    "trnbench.facts.book": ("FactBook",),
    "trnbench.facts.check": ("Findings", "check_facts"),
    "trnbench.facts.disagreement": ("Disagreement",),
    "trnbench.facts.fact": ("Assumption", "Dispute", "Fact", "Provenance", "Source"),
    "trnbench.facts.format": ("percent", "show"),
    "trnbench.facts.metric": ("METRICS",),
    "trnbench.facts.peak": ("Peak", "PeakChoice", "PeakPolicy"),
    "trnbench.facts.scope": ("Direction", "Scope"),
    "trnbench.generation": ("Generation", "Instance", "System"),
    "trnbench.hookspecs": ("hookimpl",),
    "trnbench.kernels.axis": ("Axis",),
    "trnbench.kernels.case": ("Case",),
    "trnbench.kernels.extent": ("Extent",),
    "trnbench.kernels.kernel": ("Kernel", "Point", "PrimaryMetric"),
    "trnbench.kernels.program": ("Program",),
    "trnbench.kernels.published": ("PublishedAs",),
    "trnbench.kernels.work": ("Work",),
    "trnbench.lazy": ("resolve",),
    "trnbench.measure.session": ("Timing",),
    "trnbench.registry": ("load_registry",),
    "trnbench.results.evidence": ("Evidence", "Grade"),
    "trnbench.results.expectation": ("expected", "expected_time", "grey", "nearness_of"),
    "trnbench.results.fidelity": ("Comparison", "FamilyFidelity", "Fidelity"),
    "trnbench.results.json": ("dumps", "loads"),
    "trnbench.results.measurement": (
        "CaseKey",
        "Judgement",
        "Measurement",
        "Metric",
        "Part",
        "Reason",
        "Status",
    ),
    "trnbench.results.nearness": ("Band", "BestPublished", "Nearest", "Nearness"),
    "trnbench.results.proof": ("Growth", "Proof"),
    "trnbench.results.run": ("PluginRecord", "Run", "SystemRecord"),
    "trnbench.run.api": ("bench", "load_run", "open_store", "render"),
    "trnbench.run.drawing": ("Drawing", "SectionFailed"),
    "trnbench.run.headline": ("Headline", "headline"),
    "trnbench.run.kernel": ("KernelRun", "emulate_kernel"),
    "trnbench.store.store": ("Store",),
    "trnbench.section": ("Format", "Importer", "Section"),
    "trnbench.topology.draw": ("topology_svg",),
    "trnbench.topology.graph": (
        "Figure",
        "Link",
        "LinkClass",
        "LinkKind",
        "Node",
        "NodeKind",
        "Topology",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "METRICS",
    "Assembly",
    "Assumption",
    "Axis",
    "Backend",
    "Band",
    "BestPublished",
    "Case",
    "CaseKey",
    "Comparison",
    "Detection",
    "Direction",
    "Disagreement",
    "Dispute",
    "Drawing",
    "Evidence",
    "ExitCode",
    "Extent",
    "Fact",
    "FactBook",
    "FamilyFidelity",
    "Fidelity",
    "Figure",
    "Findings",
    "Format",
    "Generation",
    "Grade",
    "Growth",
    "Headline",
    "Importer",
    "Instance",
    "Judgement",
    "Kernel",
    "KernelRun",
    "Link",
    "LinkClass",
    "LinkKind",
    "Measurement",
    "Metric",
    "Nearest",
    "Nearness",
    "Node",
    "NodeKind",
    "Observation",
    "Part",
    "Peak",
    "PeakChoice",
    "PeakPolicy",
    "PluginRecord",
    "Point",
    "PrimaryMetric",
    "Program",
    "Proof",
    "Provenance",
    "PublishedAs",
    "Reason",
    "Run",
    "Scope",
    "Section",
    "SectionFailed",
    "Source",
    "Status",
    "Store",
    "System",
    "SystemRecord",
    "Timing",
    "Topology",
    "TrnbenchError",
    "Work",
    "bench",
    "check_facts",
    "dumps",
    "emulate_kernel",
    "expected",
    "expected_time",
    "grey",
    "headline",
    "hookimpl",
    "load_registry",
    "load_run",
    "loads",
    "nearness_of",
    "open_store",
    "percent",
    "render",
    "resolve",
    "show",
    "topology_svg",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("trnbench")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'trnbench' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
