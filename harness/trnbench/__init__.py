"""trnbench: how close does this Trainium instance come to its documents, and what takes the rest?

Everything public is importable from here, what builds topologies from `trnbench.topology`, what tests of
plugins need from `trnbench.testing`; nothing is imported until it is asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trnbench.backend import Backend, Calibration, Detection, Observation
    from trnbench.bounded.json import NotJson, parse_json
    from trnbench.cli.context import Session, session
    from trnbench.compare.api import compare_runs, gate
    from trnbench.compare.change import Change, Side, Verdict
    from trnbench.compare.change import Comparison as RunComparison
    from trnbench.compare.gate.finding import Finding, Gated, Outcome
    from trnbench.compare.gate.rule import Direction as RuleDirection
    from trnbench.compare.gate.rule import Rule
    from trnbench.compare.plan.pareto import Pareto, ParetoOption
    from trnbench.compare.words import change_text
    from trnbench.errors import (
        BadInput,
        ExitCode,
        FactError,
        KernelError,
        MissingFile,
        NothingSelected,
        PluginError,
        StoreError,
        TopologyError,
        TrnbenchError,
        UnitError,
        UnknownName,
        UsageError,
    )
    from trnbench.facts.assembly import Assembly
    from trnbench.facts.book import FactBook
    from trnbench.facts.check import Findings, check_facts
    from trnbench.facts.disagreement import Disagreement
    from trnbench.facts.fact import Assumption, Dispute, Fact, Provenance, Source
    from trnbench.facts.format import percent, show
    from trnbench.facts.metric import METRICS
    from trnbench.facts.peak import Peak, PeakChoice, PeakPolicy
    from trnbench.facts.scope import Direction, Scope
    from trnbench.fidelity.told import Table as FidelityTable
    from trnbench.fidelity.told import Told as FidelityTold
    from trnbench.fidelity.told import told as fidelity_told
    from trnbench.generation import Generation, Instance, System
    from trnbench.hookspecs import hookimpl
    from trnbench.kernels.axis import Axis
    from trnbench.kernels.case import Case
    from trnbench.kernels.dtype import item_bytes, needs
    from trnbench.kernels.extent import Extent
    from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
    from trnbench.kernels.nki.references import unscaled
    from trnbench.kernels.program import Program, Witness
    from trnbench.kernels.published import PublishedAs
    from trnbench.kernels.spread import Spread
    from trnbench.kernels.statement import Statement
    from trnbench.kernels.sweep import per_core
    from trnbench.kernels.variant import Variant
    from trnbench.kernels.work import Work
    from trnbench.lazy import resolve
    from trnbench.measure.conditions import Watch
    from trnbench.measure.flush import host_flush
    from trnbench.measure.observe import observe
    from trnbench.measure.quiet import disturbed
    from trnbench.measure.session import Timing
    from trnbench.measure.torch.cpu import CpuDevice
    from trnbench.measure.torch.cuda import CudaCarrier
    from trnbench.measure.torch.cuda import set_precision as set_cuda_precision
    from trnbench.measure.torch.cuda_queue import CudaDevice
    from trnbench.measure.torch.library import missing as torch_missing
    from trnbench.measure.torch.library import version as torch_version
    from trnbench.measure.torch.observing import observe_case as observe_torch_case
    from trnbench.measure.torch.observing import observe_collective as observe_torch_collective
    from trnbench.measure.torch.observing import refused as torch_refuses
    from trnbench.registry import load_registry
    from trnbench.results.digest import shortened
    from trnbench.results.error_text import signed_text as signed_error
    from trnbench.results.evidence import Evidence, Grade
    from trnbench.results.expectation import expected, expected_time, grey, nearness_of
    from trnbench.results.fidelity import Comparison, FamilyFidelity, Fidelity
    from trnbench.results.history import CaseHistory, HistoryPoint, HistoryStep
    from trnbench.results.imported import ImportedCase, ImportedRun
    from trnbench.results.json import dumps, loads
    from trnbench.results.json import write as write_json
    from trnbench.results.junit import write as write_junit
    from trnbench.results.measurement import CaseKey, Judgement, Measurement, Metric, Part, Reason, Status
    from trnbench.results.metric_row import COLUMNS as METRIC_COLUMNS
    from trnbench.results.metric_row import metric_rows
    from trnbench.results.nccl_table import operation as nccl_operation
    from trnbench.results.nccl_table import table as nccl_table
    from trnbench.results.nearness import Band, BestPublished, Nearest, Nearness
    from trnbench.results.proof import Growth, Proof
    from trnbench.results.run import PluginRecord, Run, SystemRecord
    from trnbench.results.waterfall import from_peak as waterfall_from_peak
    from trnbench.results.waterfall import stored as stored_waterfall
    from trnbench.run.api import bench, load_run, open_store, render
    from trnbench.run.drawing import Drawing, SectionFailed
    from trnbench.run.headline.axes import axis_text
    from trnbench.run.headline.cards import Card as HeadlineCard
    from trnbench.run.headline.cards import Row as HeadlineRow
    from trnbench.run.headline.line import Line as HeadlineLine
    from trnbench.run.headline.lines import Headline, headline
    from trnbench.run.headline.promised import superseding
    from trnbench.run.kernel import emulate_kernel
    from trnbench.run.kernel_run import KernelRun
    from trnbench.section import Format, Importer, Page, Section
    from trnbench.store.store import Store
    from trnbench.topology.draw import topology_svg
    from trnbench.topology.graph import Figure, Link, LinkClass, LinkKind, Node, NodeKind, Topology
    from trnbench.workloads.brought import ModelFile, StepKernel
    from trnbench.workloads.division import Division, divide
    from trnbench.workloads.hbm import Fit, fit
    from trnbench.workloads.job import Job, Recompute, Task
    from trnbench.workloads.layout import Layout
    from trnbench.workloads.measures import Measures, measures
    from trnbench.workloads.model import Model
    from trnbench.workloads.shipped import load_model
    from trnbench.workloads.shipped import shipped_names as shipped_models
    from trnbench.workloads.step import StepModel, step
    from trnbench.workloads.step_constants import StepConstants
    from trnbench.workloads.step_parts import StepParts, StepTime

_HOMES = {
    "backend": "Backend Calibration Detection Observation",
    "bounded.json": "NotJson parse_json",
    "cli.context": "Session session",
    "compare.api": "compare_runs gate",
    "compare.change": "Change RunComparison=Comparison Side Verdict",
    "compare.gate.finding": "Finding Gated Outcome",
    "compare.gate.rule": "Rule RuleDirection=Direction",
    "compare.plan.pareto": "Pareto ParetoOption",
    "compare.words": "change_text",
    "errors": (
        "BadInput ExitCode FactError KernelError MissingFile NothingSelected PluginError StoreError "
        "TopologyError TrnbenchError UnitError UnknownName UsageError"
    ),
    "facts.assembly": "Assembly",
    "facts.book": "FactBook",
    "facts.check": "check_facts Findings",
    "facts.disagreement": "Disagreement",
    "facts.fact": "Assumption Dispute Fact Provenance Source",
    "facts.format": "percent show",
    "facts.metric": "METRICS",
    "facts.peak": "Peak PeakChoice PeakPolicy",
    "facts.scope": "Direction Scope",
    "fidelity.told": "fidelity_told=told FidelityTable=Table FidelityTold=Told",
    "generation": "Generation Instance System",
    "hookspecs": "hookimpl",
    "kernels.axis": "Axis",
    "kernels.case": "Case",
    "kernels.dtype": "item_bytes needs",
    "kernels.extent": "Extent",
    "kernels.kernel": "Kernel Point PrimaryMetric",
    "kernels.nki.references": "unscaled",
    "kernels.program": "Program Witness",
    "kernels.published": "PublishedAs",
    "kernels.spread": "Spread",
    "kernels.statement": "Statement",
    "kernels.sweep": "per_core",
    "kernels.variant": "Variant",
    "kernels.work": "Work",
    "lazy": "resolve",
    "measure.conditions": "Watch",
    "measure.flush": "host_flush",
    "measure.observe": "observe",
    "measure.quiet": "disturbed",
    "measure.session": "Timing",
    "measure.torch.cpu": "CpuDevice",
    "measure.torch.cuda": "CudaCarrier set_cuda_precision=set_precision",
    "measure.torch.cuda_queue": "CudaDevice",
    "measure.torch.library": "torch_missing=missing torch_version=version",
    "measure.torch.observing": (
        "observe_torch_case=observe_case observe_torch_collective=observe_collective torch_refuses=refused"
    ),
    "registry": "load_registry",
    "results.digest": "shortened",
    "results.error_text": "signed_error=signed_text",
    "results.evidence": "Evidence Grade",
    "results.expectation": "expected expected_time grey nearness_of",
    "results.fidelity": "Comparison FamilyFidelity Fidelity",
    "results.history": "CaseHistory HistoryPoint HistoryStep",
    "results.imported": "ImportedCase ImportedRun",
    "results.json": "dumps loads write_json=write",
    "results.junit": "write_junit=write",
    "results.measurement": "CaseKey Judgement Measurement Metric Part Reason Status",
    "results.metric_row": "METRIC_COLUMNS=COLUMNS metric_rows",
    "results.nccl_table": "nccl_operation=operation nccl_table=table",
    "results.nearness": "Band BestPublished Nearest Nearness",
    "results.proof": "Growth Proof",
    "results.run": "PluginRecord Run SystemRecord",
    "results.waterfall": "stored_waterfall=stored waterfall_from_peak=from_peak",
    "run.api": "bench load_run open_store render",
    "run.drawing": "Drawing SectionFailed",
    "run.headline.axes": "axis_text",
    "run.headline.cards": "HeadlineCard=Card HeadlineRow=Row",
    "run.headline.line": "HeadlineLine=Line",
    "run.headline.lines": "Headline headline",
    "run.headline.promised": "superseding",
    "run.kernel": "emulate_kernel",
    "run.kernel_run": "KernelRun",
    "section": "Format Importer Page Section",
    "store.store": "Store",
    "topology.draw": "topology_svg",
    "topology.graph": "Figure Link LinkClass LinkKind Node NodeKind Topology",
    "workloads.brought": "ModelFile StepKernel",
    "workloads.division": "divide Division",
    "workloads.hbm": "Fit fit",
    "workloads.job": "Job Recompute Task",
    "workloads.layout": "Layout",
    "workloads.measures": "Measures measures",
    "workloads.model": "Model",
    "workloads.shipped": "load_model shipped_models=shipped_names",
    "workloads.step": "StepModel step",
    "workloads.step_constants": "StepConstants",
    "workloads.step_parts": "StepParts StepTime",
}
"""Module of trnbench → its public names; `name=attribute` where the module calls it otherwise."""

__all__ = [
    "METRICS", "METRIC_COLUMNS", "Assembly", "Assumption", "Axis", "Backend", "BadInput", "Band",
    "BestPublished", "Calibration", "Case", "CaseHistory", "CaseKey", "Change", "Comparison", "CpuDevice",
    "CudaCarrier", "CudaDevice", "Detection", "Direction", "Disagreement", "Dispute", "Division",
    "Drawing", "Evidence", "ExitCode", "Extent", "Fact", "FactBook", "FactError", "FamilyFidelity",
    "Fidelity", "FidelityTable", "FidelityTold", "Figure", "Finding", "Findings", "Fit", "Format", "Gated",
    "Generation", "Grade", "Growth", "Headline", "HeadlineCard", "HeadlineLine", "HeadlineRow",
    "HistoryPoint", "HistoryStep", "ImportedCase", "ImportedRun", "Importer", "Instance", "Job",
    "Judgement", "Kernel", "KernelError", "KernelRun", "Layout", "Link", "LinkClass", "LinkKind",
    "Measurement", "Measures", "Metric", "MissingFile", "Model", "ModelFile", "Nearest", "Nearness",
    "Node", "NodeKind", "NotJson", "NothingSelected", "Observation", "Outcome", "Page", "Pareto",
    "ParetoOption", "Part", "Peak", "PeakChoice", "PeakPolicy", "PluginError", "PluginRecord", "Point",
    "PrimaryMetric", "Program", "Proof", "Provenance", "PublishedAs", "Reason", "Recompute", "Rule",
    "RuleDirection", "Run", "RunComparison", "Scope", "Section", "SectionFailed", "Session", "Side",
    "Source", "Spread", "Statement", "Status", "StepConstants", "StepKernel", "StepModel", "StepParts",
    "StepTime", "Store", "StoreError", "System", "SystemRecord", "Task", "Timing", "Topology",
    "TopologyError", "TrnbenchError", "UnitError", "UnknownName", "UsageError", "Variant", "Verdict",
    "Watch", "Witness", "Work", "axis_text", "bench", "change_text", "check_facts", "compare_runs",
    "disturbed", "divide", "dumps", "emulate_kernel", "expected", "expected_time", "fidelity_told", "fit",
    "gate", "grey", "headline", "hookimpl", "host_flush", "item_bytes", "load_model", "load_registry",
    "load_run", "loads", "measures", "metric_rows", "nccl_operation", "nccl_table", "nearness_of", "needs",
    "observe", "observe_torch_case", "observe_torch_collective", "open_store", "parse_json", "per_core",
    "percent", "render", "resolve", "session", "set_cuda_precision", "shipped_models", "shortened", "show",
    "signed_error", "step", "stored_waterfall", "superseding", "topology_svg", "torch_missing",
    "torch_refuses", "torch_version", "unscaled", "waterfall_from_peak", "write_json", "write_junit",
]  # fmt: skip


@cache
def _places() -> dict[str, tuple[str, str]]:
    """Name → where it is: a module of trnbench, and what it is called there."""
    pairs = ((module, *word.partition("=")) for module, words in _HOMES.items() for word in words.split())
    return {name: (module, attribute or name) for module, name, _, attribute in pairs}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from trnbench.version import VERSION

        return VERSION
    place = _places().get(name)
    if place is None:
        raise AttributeError(f"module 'trnbench' has no attribute {name!r}")
    module, attribute = place
    return getattr(import_module(f"trnbench.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
