"""What `trnbench` exports, for type checkers and editors: .ci/stubs writes this file."""

from trnbench import nki as nki
from trnbench.backend import Backend as Backend
from trnbench.backend import Calibration as Calibration
from trnbench.backend import Detection as Detection
from trnbench.backend import Growth as Growth
from trnbench.backend import Observation as Observation
from trnbench.backend import Program as Program
from trnbench.backend import Proof as Proof
from trnbench.backend import Witness as Witness
from trnbench.bounded.json import NotJson as NotJson
from trnbench.bounded.json import parse_json as parse_json
from trnbench.case_key import CaseKey as CaseKey
from trnbench.compare.api import compare_runs as compare_runs
from trnbench.compare.api import gate as gate
from trnbench.compare.change import Change as Change
from trnbench.compare.change import Comparison as RunComparison
from trnbench.compare.change import Side as Side
from trnbench.compare.change import change_text as change_text
from trnbench.compare.gate.rule import Direction as RuleDirection
from trnbench.compare.gate.rule import Finding as Finding
from trnbench.compare.gate.rule import Gated as Gated
from trnbench.compare.gate.rule import Outcome as Outcome
from trnbench.compare.gate.rule import Rule as Rule
from trnbench.errors import BadInput as BadInput
from trnbench.errors import ExitCode as ExitCode
from trnbench.errors import FactError as FactError
from trnbench.errors import KernelError as KernelError
from trnbench.errors import MissingFile as MissingFile
from trnbench.errors import NothingSelected as NothingSelected
from trnbench.errors import PluginError as PluginError
from trnbench.errors import StoreError as StoreError
from trnbench.errors import TopologyError as TopologyError
from trnbench.errors import TrnbenchError as TrnbenchError
from trnbench.errors import UnitError as UnitError
from trnbench.errors import UnknownName as UnknownName
from trnbench.errors import UsageError as UsageError
from trnbench.extension import Check as Check
from trnbench.extension import ExecutorEntry as ExecutorEntry
from trnbench.extension import Expectation as Expectation
from trnbench.extension import Format as Format
from trnbench.extension import Importer as Importer
from trnbench.extension import ModelFile as ModelFile
from trnbench.extension import Page as Page
from trnbench.extension import Section as Section
from trnbench.extension import Site as Site
from trnbench.extension import StepKernel as StepKernel
from trnbench.extension import Trace as Trace
from trnbench.extension import TraceFile as TraceFile
from trnbench.facts.check import Findings as Findings
from trnbench.facts.check import check_facts as check_facts
from trnbench.facts.disagreement import Disagreement as Disagreement
from trnbench.facts.fact import Assembly as Assembly
from trnbench.facts.fact import Assumption as Assumption
from trnbench.facts.fact import Direction as Direction
from trnbench.facts.fact import Dispute as Dispute
from trnbench.facts.fact import Fact as Fact
from trnbench.facts.fact import FactBook as FactBook
from trnbench.facts.fact import Peak as Peak
from trnbench.facts.fact import PeakChoice as PeakChoice
from trnbench.facts.fact import PeakPolicy as PeakPolicy
from trnbench.facts.fact import Provenance as Provenance
from trnbench.facts.fact import Scope as Scope
from trnbench.facts.fact import Source as Source
from trnbench.facts.metric import METRICS as METRICS
from trnbench.facts.units import percent as percent
from trnbench.facts.units import show as show
from trnbench.generation import Generation as Generation
from trnbench.generation import Instance as Instance
from trnbench.generation import System as System
from trnbench.kernels.kernel import Axis as Axis
from trnbench.kernels.kernel import Case as Case
from trnbench.kernels.kernel import Kernel as Kernel
from trnbench.kernels.kernel import Point as Point
from trnbench.kernels.kernel import PrimaryMetric as PrimaryMetric
from trnbench.kernels.kernel import PublishedAs as PublishedAs
from trnbench.kernels.kernel import Statement as Statement
from trnbench.kernels.kernel import Subject as Subject
from trnbench.kernels.kernel import Template as Template
from trnbench.kernels.kernel import Variant as Variant
from trnbench.kernels.kernel import asks as asks
from trnbench.kernels.kernel import word_axis as word_axis
from trnbench.kernels.table import read_kernels as read_kernels
from trnbench.kernels.work import Extent as Extent
from trnbench.kernels.work import Spread as Spread
from trnbench.kernels.work import Work as Work
from trnbench.kernels.work import item_bytes as item_bytes
from trnbench.kernels.work import needs as needs
from trnbench.kernels.work import per_core as per_core
from trnbench.measure.conditions import Watch as Watch
from trnbench.measure.conditions import disturbed as disturbed
from trnbench.measure.observe import observe as observe
from trnbench.measure.session import Timing as Timing
from trnbench.measure.session import host_flush as host_flush
from trnbench.record import Record as Record
from trnbench.record import grouped as grouped
from trnbench.reference import resolve as resolve
from trnbench.registry import load_registry as load_registry
from trnbench.registry.hookspecs import hookimpl as hookimpl
from trnbench.results.digest import shortened as shortened
from trnbench.results.expectation import expected as expected
from trnbench.results.expectation import expected_time as expected_time
from trnbench.results.expectation import grey as grey
from trnbench.results.expectation import least_time as least_time
from trnbench.results.expectation import nearness_of as nearness_of
from trnbench.results.expectation import signed_text as signed_error
from trnbench.results.fidelity import Comparison as Comparison
from trnbench.results.fidelity import FamilyFidelity as FamilyFidelity
from trnbench.results.fidelity import Fidelity as Fidelity
from trnbench.results.history import CaseHistory as CaseHistory
from trnbench.results.history import HistoryPoint as HistoryPoint
from trnbench.results.history import HistoryStep as HistoryStep
from trnbench.results.json import dumps as dumps
from trnbench.results.json import loads as loads
from trnbench.results.json import write as write_json
from trnbench.results.junit import write as write_junit
from trnbench.results.measurement import Band as Band
from trnbench.results.measurement import BestPublished as BestPublished
from trnbench.results.measurement import Evidence as Evidence
from trnbench.results.measurement import Grade as Grade
from trnbench.results.measurement import Judgement as Judgement
from trnbench.results.measurement import Measurement as Measurement
from trnbench.results.measurement import Metric as Metric
from trnbench.results.measurement import Nearest as Nearest
from trnbench.results.measurement import Nearness as Nearness
from trnbench.results.measurement import Part as Part
from trnbench.results.measurement import Reason as Reason
from trnbench.results.measurement import Status as Status
from trnbench.results.measurement import Verdict as Verdict
from trnbench.results.measurement import stored_waterfall as stored_waterfall
from trnbench.results.measurement import waterfall_from_peak as waterfall_from_peak
from trnbench.results.metric_table import COLUMNS as METRIC_COLUMNS
from trnbench.results.metric_table import metric_rows as metric_rows
from trnbench.results.nccl_table import operation as nccl_operation
from trnbench.results.nccl_table import table as nccl_table
from trnbench.results.run import ImportedCase as ImportedCase
from trnbench.results.run import ImportedRun as ImportedRun
from trnbench.results.run import PluginRecord as PluginRecord
from trnbench.results.run import Run as Run
from trnbench.results.run import SystemRecord as SystemRecord
from trnbench.run.api import bench as bench
from trnbench.run.api import load_run as load_run
from trnbench.run.api import open_store as open_store
from trnbench.run.api import render as render
from trnbench.run.expectation import Expectations as Expectations
from trnbench.run.headline import axis_text as axis_text
from trnbench.run.headline.answer import Headline as Headline
from trnbench.run.headline.answer import headline as headline
from trnbench.run.headline.line import Line as HeadlineLine
from trnbench.run.headline.line import PerCore as HeadlinePart
from trnbench.run.headline.line import superseding as superseding
from trnbench.run.headline.words import Card as HeadlineCard
from trnbench.run.headline.words import Row as HeadlineRow
from trnbench.run.render import Drawing as Drawing
from trnbench.run.render import SectionFailed as SectionFailed
from trnbench.store.store import Store as Store
from trnbench.terminal.context import Session as Session
from trnbench.terminal.context import session as session
from trnbench.topology.draw import svg as topology_svg
from trnbench.topology.graph import Figure as Figure
from trnbench.topology.graph import Link as Link
from trnbench.topology.graph import LinkClass as LinkClass
from trnbench.topology.graph import LinkKind as LinkKind
from trnbench.topology.graph import Node as Node
from trnbench.topology.graph import NodeKind as NodeKind
from trnbench.topology.graph import Topology as Topology
from trnbench_emulator.kernel_run.api import emulate_kernel as emulate_kernel
from trnbench_emulator.kernel_run.result import KernelRun as KernelRun
from trnbench_fidelity.summary import Table as FidelityTable
from trnbench_fidelity.summary import Told as FidelityTold
from trnbench_fidelity.summary import told as fidelity_told
from trnbench_kernels.nki.references import unscaled as unscaled
from trnbench_steps.division import Division as Division
from trnbench_steps.division import divide as divide
from trnbench_steps.hbm import Fit as Fit
from trnbench_steps.hbm import fit as fit
from trnbench_steps.job import Job as Job
from trnbench_steps.job import Recompute as Recompute
from trnbench_steps.job import Task as Task
from trnbench_steps.layout import Layout as Layout
from trnbench_steps.measures import Measures as Measures
from trnbench_steps.measures import measures as measures
from trnbench_steps.model import Model as Model
from trnbench_steps.plan.api import plan as plan
from trnbench_steps.plan.pareto import Pareto as Pareto
from trnbench_steps.plan.pareto import ParetoOption as ParetoOption
from trnbench_steps.shipped_models import load_model as load_model
from trnbench_steps.shipped_models import shipped_names as shipped_models
from trnbench_steps.step import StepModel as StepModel
from trnbench_steps.step import step as step
from trnbench_steps.step_constants import StepConstants as StepConstants
from trnbench_steps.step_parts import StepParts as StepParts
from trnbench_steps.step_parts import StepTime as StepTime
from trnbench_torch.cuda import CudaCarrier as CudaCarrier
from trnbench_torch.cuda import CudaDevice as CudaDevice
from trnbench_torch.cuda import set_precision as set_cuda_precision
from trnbench_torch.device import CpuDevice as CpuDevice
from trnbench_torch.library import missing as torch_missing
from trnbench_torch.library import version as torch_version
from trnbench_torch.observation import observe_case as observe_torch_case
from trnbench_torch.observation import observe_collective as observe_torch_collective
from trnbench_torch.observation import refused as torch_refuses
from trnbench.version import VERSION as __version__

__all__ = [
    "Assembly",
    "Assumption",
    "Axis",
    "Backend",
    "BadInput",
    "Band",
    "BestPublished",
    "Calibration",
    "Case",
    "CaseHistory",
    "CaseKey",
    "Change",
    "Check",
    "Comparison",
    "CpuDevice",
    "CudaCarrier",
    "CudaDevice",
    "Detection",
    "Direction",
    "Disagreement",
    "Dispute",
    "Division",
    "Drawing",
    "Evidence",
    "ExecutorEntry",
    "ExitCode",
    "Expectation",
    "Expectations",
    "Extent",
    "Fact",
    "FactBook",
    "FactError",
    "FamilyFidelity",
    "Fidelity",
    "FidelityTable",
    "FidelityTold",
    "Figure",
    "Finding",
    "Findings",
    "Fit",
    "Format",
    "Gated",
    "Generation",
    "Grade",
    "Growth",
    "Headline",
    "HeadlineCard",
    "HeadlineLine",
    "HeadlinePart",
    "HeadlineRow",
    "HistoryPoint",
    "HistoryStep",
    "ImportedCase",
    "ImportedRun",
    "Importer",
    "Instance",
    "Job",
    "Judgement",
    "Kernel",
    "KernelError",
    "KernelRun",
    "Layout",
    "Link",
    "LinkClass",
    "LinkKind",
    "METRICS",
    "METRIC_COLUMNS",
    "Measurement",
    "Measures",
    "Metric",
    "MissingFile",
    "Model",
    "ModelFile",
    "Nearest",
    "Nearness",
    "Node",
    "NodeKind",
    "NotJson",
    "NothingSelected",
    "Observation",
    "Outcome",
    "Page",
    "Pareto",
    "ParetoOption",
    "Part",
    "Peak",
    "PeakChoice",
    "PeakPolicy",
    "PluginError",
    "PluginRecord",
    "Point",
    "PrimaryMetric",
    "Program",
    "Proof",
    "Provenance",
    "PublishedAs",
    "Reason",
    "Recompute",
    "Record",
    "Rule",
    "RuleDirection",
    "Run",
    "RunComparison",
    "Scope",
    "Section",
    "SectionFailed",
    "Session",
    "Side",
    "Site",
    "Source",
    "Spread",
    "Statement",
    "Status",
    "StepConstants",
    "StepKernel",
    "StepModel",
    "StepParts",
    "StepTime",
    "Store",
    "StoreError",
    "Subject",
    "System",
    "SystemRecord",
    "Task",
    "Template",
    "Timing",
    "Topology",
    "TopologyError",
    "Trace",
    "TraceFile",
    "TrnbenchError",
    "UnitError",
    "UnknownName",
    "UsageError",
    "Variant",
    "Verdict",
    "Watch",
    "Witness",
    "Work",
    "asks",
    "axis_text",
    "bench",
    "change_text",
    "check_facts",
    "compare_runs",
    "disturbed",
    "divide",
    "dumps",
    "emulate_kernel",
    "expected",
    "expected_time",
    "fidelity_told",
    "fit",
    "gate",
    "grey",
    "grouped",
    "headline",
    "hookimpl",
    "host_flush",
    "item_bytes",
    "least_time",
    "load_model",
    "load_registry",
    "load_run",
    "loads",
    "measures",
    "metric_rows",
    "nccl_operation",
    "nccl_table",
    "nearness_of",
    "needs",
    "nki",
    "observe",
    "observe_torch_case",
    "observe_torch_collective",
    "open_store",
    "parse_json",
    "per_core",
    "percent",
    "plan",
    "read_kernels",
    "render",
    "resolve",
    "session",
    "set_cuda_precision",
    "shipped_models",
    "shortened",
    "show",
    "signed_error",
    "step",
    "stored_waterfall",
    "superseding",
    "topology_svg",
    "torch_missing",
    "torch_refuses",
    "torch_version",
    "unscaled",
    "waterfall_from_peak",
    "word_axis",
    "write_json",
    "write_junit",
    "__version__",
]
