"""The core's words: options and arguments of its commands, and what commands of plugins share with them."""

from __future__ import annotations

from typing import Any

import click

from trnbench.bounded import kinds
from trnbench.cli import names
from trnbench.cli.cell import FORMATS
from trnbench.cli.context import PROGRAM, Session
from trnbench.cli.option import FILE, FOLDER, NO_FOLDER, Table, word

POLICIES = ("seed", "device", "engine", "latest")
LISTS = (
    "kernels",
    "instances",
    "cases",
    "tags",
    "families",
    "backends",
    "formats",
    "importers",
    "sections",
)
SHELLS = ("bash", "zsh", "fish", "powershell")
STATUSES = ("ok", "document-low", "inconclusive", "suspect", "failed", "skipped")

REPORT, BASELINE = "trnbench-report.html", "trnbench-baseline.json"
"""What is written in the working folder where no file is named."""

PROCESSES = 3  # trnbench.run.settings's, named here to import nothing

WIDE, VERBOSITY = "trnbench.wide", "trnbench.verbosity"
"""Of the context's `meta`: that --wide was given, and what `say` looks at."""


def _configured() -> str:
    from trnbench.cli.settings import load_settings

    return load_settings().format


def _wide(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[WIDE] = True


def _quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.verbosity = ctx.meta[VERBOSITY] = -1


def _no_cache(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.use_cache = False


class _List(click.ParamType[str]):
    """One of the lists of `trnbench list`; the nearest one is named when it is none."""

    name = "what"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in LISTS:
            return value
        from trnbench.errors import UnknownName

        raise UnknownName(
            "list", value, LISTS, try_=f"trnbench list cases {value}, for the cases of a kernel of that name"
        )

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in LISTS if name.startswith(incomplete)]


WORDS = Table(
    # What is asked about.
    word("run", offers=names.complete_runs),
    word("runs", metavar="[RUN]...", nargs=-1, offers=names.complete_runs),
    word("case", offers=names.complete_cases),
    word("cases", metavar="[CASE]...", nargs=-1, offers=names.complete_cases),
    word("kernels", metavar="[KERNEL]...", nargs=-1, offers=names.complete_kernels),
    word("system", offers=names.complete_systems, metavar="INSTANCE"),
    word("A", name="a", metavar="A", offers=names.complete_systems),
    word("B", name="b", metavar="B", offers=names.complete_systems),
    word("subject", metavar="KERNEL|INSTANCE", offers=names.complete_subjects),
    word("generations", metavar="[GENERATION]...", nargs=-1, offers=names.complete_generations),
    word("what", takes=_List(), metavar="[WHAT]", default="kernels"),
    word("before", default="", offers=names.complete_runs),
    word("after", default="", offers=names.complete_runs),
    word("tags", metavar="[TAG]...", nargs=-1, offers=names.complete_run_tags),
    word("files", takes=FILE, metavar="FILE...", nargs=-1, required=True),
    word("plugin", metavar="[NAME|PATH]", required=False),
    word("name"),
    word("shell", takes=SHELLS),
    word(
        "-i --instance",
        "Name, alias or glob; NAME:SIZE for clusters.",
        metavar="NAME",
        many=True,
        name="instances",
        offers=names.complete_instances,
    ),
    # Which cases.
    word(
        "--shard",
        "Part I of N of the cases: 1/8 to 8/8 are all of them, each once.",
        metavar="I/N",
        default="",
    ),
    word(
        "-k",
        "Words with and, or, not: 'gemm and not fp32'.",
        metavar="EXPRESSION",
        name="keyword",
        default="",
    ),
    word(
        "--tag", "Kernels with this tag.", metavar="TAG", many=True, name="tags", offers=names.complete_tags
    ),
    word(
        "--family",
        "Kernels of this family.",
        metavar="NAME",
        many=True,
        name="families",
        offers=names.complete_families,
    ),
    word(
        "--generation",
        "Systems of this generation.",
        metavar="NAME",
        many=True,
        name="generations",
        offers=names.complete_generations,
    ),
    word(
        "--dtype",
        "Data type; drops kernels without one.",
        metavar="NAME",
        many=True,
        name="dtypes",
        offers=names.complete_dtypes,
    ),
    word(
        "--scope",
        "core, logical-core, device, instance, ultraserver, cluster, or system: the whole of each.",
        metavar="SCOPE",
        many=True,
        name="scopes",
        offers=names.complete_scopes,
    ),
    word(
        "-a --axis",
        "Sweep an axis: size=1K,64K, 'size[pow2]=10:30:2' (2^10, 2^12, …) or "
        "'size[range]=128:1024:128'; KERNEL.NAME=… for one kernel alone.",
        metavar="NAME=VALUES",
        many=True,
        name="axes",
        offers=names.complete_axes,
    ),
    word(
        "--zip",
        "These axes move together instead of crossing.",
        metavar="A,B",
        many=True,
        name="zips",
        offers=names.complete_axis_names,
    ),
    word(
        "--exclude",
        "Leave out points, such as 'dtype=fp32,size>=8192'.",
        metavar="TERMS",
        many=True,
        name="excludes",
        offers=names.complete_axes,
    ),
    # How a run is carried out: fields of `trnbench.run.settings.RunSettings`.
    word("--backend", "Emulated, or measured.", metavar="NAME", default="", offers=names.complete_backends),
    word("--peak", "Documents that percentages are taken of.  [default: seed]", POLICIES, name="policy"),
    word(
        "--facts",
        "Add a fact file of your own (TOML, see docs/facts.md). Repeatable.",
        FILE,
        "FILE",
        many=True,
    ),
    word("--jobs", "Processes; 0: as many as pay off.  [default: 0]", kinds.JOBS, "N"),
    word(
        "--timeout",
        "Limit for one case; 0: none.",
        kinds.TIME_LIMIT,
        "SECONDS",
        name="timeout_s",
        default=0.0,
    ),
    word("--maxfail", "Stop after N failed or suspect cases; 0: never.", kinds.MOST_FAILED, "N", default=0),
    word("--seed", "Of random data.  [default: 0]", kinds.SEED, "N"),
    word("--retries", "Tries more for a case that crashed or hung.", kinds.RETRIES, "N", default=0),
    word(
        "--sample-time",
        "Sampling of one measured case; 0: its own.",
        kinds.SAMPLING,
        "SECONDS",
        name="sample_s",
        default=0.0,
    ),
    word(
        "--processes",
        "Processes that measure each case, round by round; where they disagree, up to three times "
        f"as many.  [default: {PROCESSES}]",
        kinds.PROCESSES,
        "N",
        default=PROCESSES,
    ),
    word(
        "--wait-quiet",
        "Wait at most so long for a quiet machine, before a measured run.",
        kinds.QUIET,
        "SECONDS",
        default=0.0,
    ),
    word("--require-quiet", "Measure nothing on a busy machine: exit code 1 instead.", bool),
    word("--strict", "Exit code 1 for inconclusive cases as well.", bool),
    word("--keep-identity", "Leave names of host and user, and addresses, in the run.", bool),
    word(
        "--executor",
        "Who carries cases out: processes of this machine, or a plugin's executor.  [default: process]",
        metavar="NAME",
        default="process",
        offers=names.complete_executors,
    ),
    word("--preset", "A preset of the configuration.", metavar="NAME", default=""),
    word(
        "--label",
        "Tag the stored run; may be repeated.",
        metavar="TAG",
        many=True,
        name="labels",
        offers=names.complete_run_tags,
    ),
    word("--dry-run", "List the cases, run none.", bool),
    word("--anyway", "Go on although versions, settings or facts differ.", bool),
    word(
        "--no-cache",
        "Work everything out anew, and keep nothing of it for later.",
        bool,
        expose_value=False,
        callback=_no_cache,
    ),
    word(
        "-q --quiet",
        "No progress and no warnings; also before the command.",
        bool,
        expose_value=False,
        callback=_quiet,
    ),
    # What is written, and where.
    word(
        "--format",
        "How to print the result.",
        FORMATS,
        default=_configured,
        show_default="table, or as configured",
    ),
    word(
        "--wide",
        "All columns of a table, however narrow the terminal.",
        bool,
        expose_value=False,
        callback=_wide,
    ),
    word("--explain", "Say in full what stands behind the numbers.", bool),
    word("-o --output", "Where it goes.", FILE, "FILE"),
    word("--force", "Overwrite FILE whatever it is.", bool),
    word("--no-report", "Keep the run, write no report.", bool),
    word(
        "--sample",
        "Put at most N cases of each run on the page, and say what was left out.",
        kinds.SAMPLE,
        "N",
    ),
    word(
        "--part",
        "One part of the page alone (headline, scoreboard, …) as Markdown on stdout; with -o FILE.svg as "
        "a drawing, with -o FILE.md as Markdown.",
        metavar="NAME",
    ),
    word(
        "--as",
        "json, csv, parquet, openmetrics, pytest-benchmark, …: trnbench list formats.",
        metavar="FORMAT",
        name="name",
        offers=names.complete_formats,
    ),
    word("--schema", "Print the JSON Schema of a run instead.", bool),
    word("--all", "Everything, however much.", bool, name="every"),
    word("--trace-limit", "Largest size of that file.", kinds.TRACE, "SIZE", shown="64M"),
    # Stored runs.
    word(
        "--tag",
        "Only runs with this tag.",
        metavar="TAG",
        many=True,
        key="run-tag",
        name="tags",
        offers=names.complete_run_tags,
    ),
    word(
        "--remove",
        "Take this tag away; may be repeated.",
        metavar="TAG",
        many=True,
        offers=names.complete_run_tags,
    ),
    word("--status", "Only these cases.", STATUSES, many=True, name="statuses"),
    word("--kernel", "The kernel.", metavar="NAME", offers=names.complete_kernels),
    word("-y --yes", "Do not ask.", bool),
    word("--keep", "Keep the N newest.", kinds.KEPT, "N"),
    word("--older-than", "Delete only what is older.", kinds.DAYS, "DAYS"),
    word("--tagged", "Delete runs with tags as well.", bool),
    word("--last", "Only the N newest runs; 0: all.", kinds.KEPT, "N", default=0),
    word("--steps", "Only cases with a step.", bool, name="stepped"),
    word("--a", "Cases of the first side: 'dtype=bf16,size>=4096'.", metavar="TERMS", default=""),
    word("--b", "Cases of the second side: 'dtype=fp8,size>=4096'.", metavar="TERMS", default=""),
    word(
        "--threshold",
        "Call nothing faster or slower that differs by less: 3%.  [default: 3% of measured times, "
        "any difference of emulated ones]",
        kinds.PERCENT,
        "PER CENT",
    ),
    word("--across", "Compare numbers of two kinds too: evidence, scope, peaks, ranks.", bool),
    word(
        "--html",
        "Write the report of both runs, with what changed, instead; - for stdout.",
        FILE,
        "FILE",
        name="page",
    ),
    word(
        "--against",
        f"What it is held against.  [default: ./{BASELINE}]",
        metavar="RUN|TAG|FILE",
        default="",
        offers=names.complete_runs,
    ),
    word("--rules", "Rules in TOML: docs/comparing.md.", NO_FOLDER, "FILE"),
    word("--junit", "Write JUnit XML.", NO_FOLDER, "FILE"),
    word(
        "--summary",
        "Append a summary in Markdown.  [default: where GITHUB_STEP_SUMMARY says]",
        NO_FOLDER,
        "FILE",
    ),
    word(
        "--annotate/--no-annotate",
        "Print annotations of GitHub Actions to stderr.  [default: where GITHUB_ACTIONS is true]",
        default=None,
    ),
    word("--why", "Why it is good enough; kept in the file.", metavar="TEXT", required=True),
    word("--by", "Who says so; nobody is named unless you do.", metavar="NAME", default=""),
    # Files of other tools.
    word(
        "--from",
        "What wrote it: nccl-tests, nccom-test, pytest-benchmark, or what a plugin reads.",
        metavar="FORMAT",
        name="name",
        default="",
    ),
    word(
        "--as", "Who made the numbers: you, or others.", ("measured", "published"), key="grade", name="grade"
    ),
    word("--ranks", "Ranks of a collective, likewise.", kinds.RANKS, "N", default=0),
    # Documents, plugins and graphs.
    word("--rule", "Only this rule. Repeatable.", metavar="RULE", many=True, name="rules"),
    word("--only", "This check alone; may be repeated.", metavar="CHECK", many=True),
    word("--dir", "Where to write it; NAME in the current folder unless given.", FOLDER, name="folder"),
    word(
        "--trn3-links",
        "Which of the three NeuronLink figures of Trn3 the links get.  [default: levels]",
        ("levels", "table", "chip-page"),
    ),
    word(
        "--neuronlink-direction",
        "How documented NeuronLink figures are read.  [default: one-way]",
        ("one-way", "both-ways"),
    ),
    word("--cores", "Open every device into its NeuronCores.", bool),
    word("--failures", "Leave out what is well.", bool),
    word(
        "--as",
        "What to write.  [default: by the suffix of FILE, or text]",
        ("text", "json", "dot", "svg"),
        key="graph-format",
        name="kind",
    ),
    base=PROGRAM,
)

SELECTION = "kernels shard k tag family instance generation dtype scope axis zip exclude"
"""All that chooses cases: fields of `trnbench.run.selection.Selection`."""
TABLE = "format wide"
"""Of commands that print tables."""
PAGE = "output force no-report"
"""Of commands that end in a report."""
STEADINESS = "wait-quiet require-quiet strict"
"""Of commands that measure."""
GRAPH = "facts neuronlink-direction trn3-links"
"""How a graph reads documents."""
