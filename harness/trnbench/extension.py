"""Records by which a plugin extends the core: sections, formats, importers, evidence, executors, models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from trnbench.errors import UsageError
from trnbench.record import Record
from trnbench.reference import Ref

if TYPE_CHECKING:
    from trnbench.results.history import CaseHistory
    from trnbench.results.run import Run


class ExecutorEntry(Record, kw_only=True):
    """An executor, by the `name` that --executor takes.

    `open` references `(jobs) -> context manager of an Executor`; it raises `UsageError` where there is none
    here. `detect` references `() -> Detection` for `trnbench doctor`, quick and without an import of the
    stack: its `why` says what was found, or what is missing."""

    name: str
    title: str
    open: Ref
    detect: Ref = ""


class Check(Record, kw_only=True):
    """A check of plugins, by the name that `trnbench plugin check --only` takes.

    `check` references `(subject) -> iterator of str and Finding` (`trnbench.testing`): the name of each thing
    that it looks at, and a finding for each that is wrong. `order` places it; the core's checks have 10, 20,
    …. `kinds`: of implementations whose references it looks at; the core's check leaves them to it."""

    name: str
    check: Ref
    order: int
    kinds: tuple[str, ...] = ()


class Expectation(Record, kw_only=True):
    """A source of evidence, as a plugin yields it.

    `beside` references `(registry, systems, cases, cache) -> Expectations`: systems by name, the cases of a
    run (none for a single question), and the cache of its store or None. `fidelity` references `(registry,
    backend, generations, notes, *, linked, multiplied, cache) -> Fidelity | None`: the model's error on
    published points, which a run keeps; "" where there is none."""

    name: str
    beside: Ref
    fidelity: Ref = ""


class Trace(Record, kw_only=True):
    """`name` is that of the backend whose cases it draws, as a plugin yields it.

    `timeline` references `(measurement, registry, about, limit) -> TraceFile`: `about` are words for the
    file's head, `limit` the most bytes. `assumptions` references `(measurement, registry) -> (seconds,
    ends)`: the time as it is now, and an `AssumptionEnd` for each end of each range. Both raise `UsageError`
    for a case that they cannot draw, `UnknownName` for a kernel or system that is not here any more."""

    name: str
    timeline: Ref = ""
    assumptions: Ref = ""


class TraceFile(NamedTuple):
    """A file for trace viewers. `time_s` is what the case takes now, `note` what was left out, or ""."""

    data: bytes
    slices: int
    time_s: float
    note: str = ""


class AssumptionEnd(Protocol):
    """An assumption at one end of its range: figures in base units of `unit`, the time in seconds."""

    name: str
    taken: float
    value: float
    unit: str
    time_s: float
    ratio: float
    reason: str


def check_drawn(trace: Trace | None, part: str, backend: str, case: str) -> Ref:
    """The reference of `part`, "timeline" or "assumptions". Raises `UsageError` where nobody gives it."""
    reference: Ref = getattr(trace, part) if trace is not None else ""
    if not reference:
        raise UsageError(
            f"{case} has no {part}",
            cause=f"it was made by the backend {backend!r}, and no plugin that is installed draws its cases",
            try_="trnbench plugin list",
        )
    return reference


WORKLOAD_FAMILY = "workload"
"""Of kernels that are steps of models."""


class ModelFile(Record, kw_only=True):
    """A model by data: a TOML file as docs/workloads.md shows, or a Hugging Face config.json. No file is read
    until somebody asks for the model by `name`."""

    name: str
    path: Path


class StepKernel(Record, kw_only=True):
    """An NKI kernel for an operator of a step, by the name that `--operator` takes.

    `operator` says what it does ("attention", "norm", or an operator's name: "mlp up"), `kernel` references
    the function "package.module:function"; beside it stands its `…_inputs`.
    """

    name: str
    operator: str
    kernel: Ref


Depth: TypeAlias = Literal[1, 2, 3]


class Section(Record, kw_only=True):
    """A section of the HTML report.

    `render` references `(runs: Sequence[Run]) -> str`: a safe HTML fragment (markupsafe.Markup),
    or "" when the section has nothing to show. One with a parameter `since` is given, where there is a run
    before, the fragment that tells what changed. `order` places it: the built-in ones use 10, 20, ….

    `depth` is how far down the page a reader meets it: 1 the first screen, 2 what holds a machine back, 3 the
    rest, opened on demand. `needs` says what data it is made of and `fill` what would bring them: with both,
    a section that has nothing to show says so in the place of being left out.
    """

    name: str  # also the fragment in the URL: "scoreboard"
    title: str
    order: int
    render: Ref
    depth: Depth = 3
    needs: str = ""  # "watts of each case"
    fill: str = ""  # "trnbench run --backend neuron, as root"


class Format(Record, kw_only=True):
    """An output format. `write` references `(runs: Sequence[Run]) -> bytes`.

    A `page` is made of sections and is given them: `(runs, sections: Sequence[Section]) -> bytes`; one that
    has a parameter `before` is given the run before, where the store has one. A format with a `part` writes
    that part of the page alone, for `trnbench report --part`.
    """

    name: str  # "html", "json", "csv", "markdown"
    title: str
    suffix: str  # ".html"
    write: Ref
    binary: bool = False
    page: bool = False
    part: str = ""  # "headline", "scoreboard", …


class Page(Record, kw_only=True):
    """The file of a command that shows something else than runs. `write` references a function of what
    the command found that returns bytes: for "history" the HTML page of a sequence of `trnbench.CaseHistory`,
    for "plan" the SVG drawing of one `trnbench.Pareto`. That of "site" takes one `trnbench.Site` and yields
    files, a name and bytes each; None in the place of bytes keeps the file that is there.
    """

    name: str  # of the command: "history"
    title: str
    write: Ref


class Site(NamedTuple):
    """What `trnbench site` has for its folder. `runs`: id of each and a mark that changes with it, the oldest
    first. `load` gives a run by its id, `before` the one that it is held against. `memory` is the content of
    its file site.json, {} at first."""

    runs: Mapping[str, str]
    histories: Callable[[], Sequence[CaseHistory]]
    sections: Sequence[Section]
    load: Callable[[str], Run]
    before: Callable[[str], Run | None]
    memory: Mapping[str, Any]


class Importer(Record, kw_only=True):
    """A reader of another tool's results, for `trnbench import FILE --from NAME`.

    `read` references `(data: bytes) -> ImportedRun`, or a `Run`, or a sequence of runs. What it cannot read
    it says by raising a `trnbench.TrnbenchError`.
    """

    name: str
    title: str
    read: Ref
