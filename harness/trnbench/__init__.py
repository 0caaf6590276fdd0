"""trnbench: how close does this Trainium instance come to its documents, and what takes the rest?

Everything public is importable from here, what builds topologies from `trnbench.topology`, what tests of
plugins need from `trnbench.testing`; nothing is imported until it is asked for. What plugins give under this
name (`trnbench.step`, `trnbench.nki`) comes by entry points of group `trnbench.api`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` is as dear as a start of Python, and --help needs none
if TYPE_CHECKING:
    from typing import Any

_HOMES = {
    "case_key": "CaseKey",
    "backend": "Backend Calibration Detection Growth Observation Program Proof Witness",
    "bounded.json": "NotJson parse_json",
    "terminal.context": "Session session",
    "compare.api": "compare_runs gate",
    "compare.change": "Change change_text RunComparison=Comparison Side",
    "compare.gate.rule": "Finding Gated Outcome Rule RuleDirection=Direction",
    "errors": (
        "BadInput ExitCode FactError KernelError MissingFile NothingSelected PluginError StoreError "
        "TopologyError TrnbenchError UnitError UnknownName UsageError"
    ),
    "run.expectation": "Expectations",
    "extension": (
        "Check ExecutorEntry Expectation Format Importer ModelFile Page Section Site StepKernel Trace "
        "TraceFile"
    ),
    "facts.check": "check_facts Findings",
    "facts.disagreement": "Disagreement",
    "facts.fact": (
        "Assembly Assumption Direction Dispute Fact FactBook Peak PeakChoice PeakPolicy Provenance Scope "
        "Source"
    ),
    "facts.metric": "METRICS",
    "facts.units": "percent show",
    "generation": "Generation Instance System",
    "registry.hookspecs": "hookimpl",
    "kernels.kernel": (
        "asks Axis Case Kernel Point PrimaryMetric PublishedAs Statement Subject Template Variant word_axis"
    ),
    "kernels.table": "read_kernels",
    "kernels.work": "Extent item_bytes needs per_core Spread Work",
    "measure.conditions": "disturbed Watch",
    "measure.observe": "observe",
    "measure.session": "host_flush Timing",
    "record": "grouped Record",
    "reference": "resolve",
    "registry": "load_registry",
    "results.digest": "shortened",
    "results.expectation": "expected expected_time grey least_time nearness_of signed_error=signed_text",
    "results.fidelity": "Comparison FamilyFidelity Fidelity",
    "results.history": "CaseHistory HistoryPoint HistoryStep",
    "results.json": "dumps loads write_json=write",
    "results.junit": "write_junit=write",
    "results.measurement": (
        "Band BestPublished Evidence Grade Judgement Measurement Metric Nearest Nearness Part Reason Status "
        "stored_waterfall Verdict waterfall_from_peak"
    ),
    "results.metric_table": "METRIC_COLUMNS=COLUMNS metric_rows",
    "results.nccl_table": "nccl_operation=operation nccl_table=table",
    "results.run": "ImportedCase ImportedRun PluginRecord Run SystemRecord",
    "run.api": "bench load_run open_store render",
    "run.headline.answer": "Headline headline",
    "run.headline.line": "HeadlineLine=Line HeadlinePart=PerCore superseding",
    "run.headline": "axis_text",
    "run.headline.words": "HeadlineCard=Card HeadlineRow=Row",
    "run.render": "Drawing SectionFailed",
    "store.store": "Store",
    "topology.draw": "topology_svg=svg",
    "topology.graph": "Figure Link LinkClass LinkKind Node NodeKind Topology",
}
"""Module of trnbench → its public names; `name=attribute` where the module calls it otherwise."""

_places: dict[str, tuple[str, str]] = {}


def _home_of() -> dict[str, tuple[str, str]]:
    """Name → where it is: a module of trnbench, and what it is called there. Made when one is asked for."""
    if not _places:
        pairs = ((module, *word.partition("=")) for module, words in _HOMES.items() for word in words.split())
        _places.update({name: (module, attribute or name) for module, name, _, attribute in pairs})
    return _places


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from trnbench.version import VERSION

        return VERSION
    if name == "__all__":
        return sorted(_home_of())
    home = _home_of().get(name)
    if home is None:
        if name.startswith("_"):  # asked of every module by those who inspect it
            raise AttributeError(f"module 'trnbench' has no attribute {name!r}")
        from trnbench.api import exported

        return exported(name)
    from importlib import import_module

    module, attribute = home
    return getattr(import_module(f"trnbench.{module}"), attribute)


def __dir__() -> list[str]:
    from trnbench.api import api

    return sorted({*globals(), "__all__", *_home_of(), *api()})


class _Submodules:
    """Finder of `trnbench.<name>` that plugins give; what it needs is imported when somebody asks."""

    @staticmethod
    def find_spec(name: str, _path: Any = None, _target: Any = None) -> Any:
        if not name.startswith("trnbench."):
            return None
        from trnbench.api import find_submodule

        return find_submodule(name)


if not any(getattr(finder, "__name__", "") == "_Submodules" for finder in sys.meta_path):
    sys.meta_path.append(_Submodules)  # type: ignore[arg-type]
