"""The core's words: options and arguments of its commands, and what commands of plugins share with them."""

from __future__ import annotations

from trnbench.bounded import kinds
from trnbench.terminal import names
from trnbench.terminal.cell import FORMATS
from trnbench.terminal.context import PROGRAM
from trnbench.terminal.option import FILE, FOLDER, NO_FOLDER, OldSpelling, Table, section, word
from trnbench.terminal.word_values import (
    CASES,
    READINGS,
    SUBJECTS,
    Reading,
    configured_format,
    no_cache,
    quiet,
    table_format,
)

POLICIES = ("seed", "device", "engine", "latest")
STATUSES = ("ok", "document-low", "inconclusive", "suspect", "failed", "skipped")

REPORT, BASELINE, TIMELINE = "trnbench-report.html", "trnbench-baseline.json", "trace.json"
"""What is written in the working folder where no file is named."""

PROCESSES = 3  # trnbench.run.selection's, named here to import nothing

WORDS = Table(
    SUBJECTS,
    CASES,
    section(  # fields of `trnbench.run.selection.RunSettings`
        "How it is carried out",
        word(
            "--backend", "Emulated, or measured.", metavar="NAME", default="", offers=names.complete_backends
        ),
        word(
            "--peak",
            "Documents that percentages are taken of: seed, device, engine or latest.  [default: seed]",
            metavar="POLICY",
            name="policy",
            offers=names.offered(POLICIES),
        ),
        word(
            "--facts",
            "Add a fact file of your own (TOML, see docs/facts.md). Repeatable.",
            FILE,
            "FILE",
            many=True,
            rare=True,
        ),
        word("--jobs", "Processes; 0: as many as pay off.  [default: 0]", kinds.JOBS, "N"),
        word(
            "--timeout",
            "Limit for one case; 0: none.  [default: 0]",
            kinds.TIME_LIMIT,
            "SECONDS",
            name="timeout_s",
            rare=True,
        ),
        word(
            "--maxfail",
            "Stop after N failed or suspect cases; 0: never.  [default: 0]",
            kinds.MOST_FAILED,
            "N",
            rare=True,
        ),
        word("--seed", "Of random data.  [default: 0]", kinds.SEED, "N", rare=True),
        word(
            "--retries",
            "Tries more for a case that crashed or hung.",
            kinds.RETRIES,
            "N",
            default=0,
            rare=True,
        ),
        word(
            "--sample-time",
            "Sampling of one measured case; 0: its own.",
            kinds.SAMPLING,
            "SECONDS",
            name="sample_s",
            default=0.0,
            rare=True,
        ),
        word(
            "--processes",
            "Processes that measure each case, round by round; where they disagree, up to three times "
            f"as many.  [default: {PROCESSES}]",
            kinds.PROCESSES,
            "N",
            default=PROCESSES,
            rare=True,
        ),
        word(
            "--wait-quiet",
            "Wait at most so long for a quiet machine, before a measured run.",
            kinds.QUIET,
            "SECONDS",
            default=0.0,
            rare=True,
        ),
        word("--require-quiet", "Measure nothing on a busy machine: exit code 1 instead.", bool, rare=True),
        word("--strict", "Exit code 1 for inconclusive cases as well.", bool, rare=True),
        word("--keep-identity", "Leave names of host and user, and addresses, in the run.", bool, rare=True),
        word(
            "--executor",
            "Who carries cases out: processes of this machine, or a plugin's executor.  [default: process]",
            metavar="NAME",
            default="process",
            offers=names.complete_executors,
            rare=True,
        ),
        word("--preset", "A preset of the configuration.", metavar="NAME", default="", rare=True),
        word(
            "--label",
            "Tag the stored run; may be repeated.",
            metavar="TAG",
            many=True,
            name="labels",
            offers=names.complete_run_tags,
            rare=True,
        ),
        word("--dry-run", "List the cases, run none.", bool),
        word("--anyway", "Go on although versions, settings or facts differ.", bool),
        word(
            "--no-cache",
            "Work everything out anew, and keep nothing of it for later.",
            bool,
            expose_value=False,
            callback=no_cache,
            rare=True,
        ),
        word(
            "-q --quiet",
            "No progress and no warnings; also before the command.",
            bool,
            expose_value=False,
            callback=quiet,
            rare=True,
        ),
    ),
    section(
        "What is written",
        word(
            "--format",
            "How to print it; wide: a table with all columns.  [default: table, or as configured]",
            FORMATS,
            default=configured_format,
            show_default=False,
            callback=table_format,
        ),
        word("--explain", "Say in full what stands behind the numbers.", bool, rare=True),
        word("-o --output", "Where it goes, and not to its own place.", FILE, "FILE"),
        word("--force", "Overwrite FILE whatever it is.", bool, rare=True),
        word("--no-report", "Keep the run, write no report.", bool, rare=True),
        word(
            "--sample",
            "Put at most N cases of each run on the page, and say what was left out.",
            kinds.SAMPLE,
            "N",
        ),
        word(
            "--part",
            "One part of the page alone (headline, scoreboard, …) as Markdown on stdout; with -o FILE.svg as "
            "a drawing, FILE.png as a picture, FILE.md as Markdown.",
            metavar="NAME",
        ),
        word(
            "--as",
            "json, csv, parquet, …: trnbench list formats; or schema, the JSON Schema of a run.",
            metavar="FORMAT",
            name="name",
            offers=names.complete_formats,
        ),
        word("--all", "Everything, however much.", bool, name="every"),
        word("--top", "Rows shown, the first of all.", kinds.SHOWN, "N", shown="8"),
        word("--trace-limit", "Largest size of that file.", kinds.TRACE, "SIZE", shown="64M", rare=True),
    ),
    section(
        "Stored runs",
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
        word("--paired", "Measure both sides now, in turns.", bool),
        word("--instructions", "Count the instructions of pairs, and take no time.", bool, rare=True),
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
            rare=True,
        ),
        word(
            "--annotate/--no-annotate",
            "Print annotations of GitHub Actions to stderr.  [default: where GITHUB_ACTIONS is true]",
            default=None,
            rare=True,
        ),
        word("--why", "Why it is good enough; kept in the file.", metavar="TEXT", required=True),
        word("--author", "Who says so; nobody is named unless you do.", metavar="NAME", default=""),
    ),
    section(
        "Files of other tools",
        word(
            "--from",
            "What wrote it: nccl-tests, nccom-test, pytest-benchmark, or what a plugin reads.",
            metavar="FORMAT",
            name="name",
            default="",
        ),
        word("--grade", "Who made the numbers: you, or others.", ("measured", "published")),
        word("--rank-count", "Ranks of a collective, likewise.", kinds.RANKS, "N", name="ranks", default=0),
    ),
    section(
        "Documents and graphs",
        word("--rule", "Only this rule. Repeatable.", metavar="RULE", many=True, name="rules"),
        word("--only", "This check alone; may be repeated.", metavar="CHECK", many=True),
        word("--dir", "Where to write it; NAME in the current folder unless given.", FOLDER, name="folder"),
        word(
            "--reading",
            "How documents are read where they can be in more than one way: neuronlink=one-way|both-ways, "
            "trn3-links=levels|table|chip-page; the first of each unless given. Repeatable.",
            Reading(),
            "NAME=READING",
            many=True,
            name="readings",
            offers=names.offered(
                f"{name}={reading}" for name, readings in READINGS.items() for reading in readings
            ),
            rare=True,
        ),
        word("--open-cores", "Open every device into its NeuronCores.", bool, name="cores"),
        word("--failures", "Leave out what is well.", bool),
        word(
            "--graph",
            "What to write.  [default: by the suffix of FILE, or text]",
            ("text", "json", "dot", "svg"),
            name="kind",
        ),
        word("--clear", "Forget all of it; the next run works everything out anew.", bool),
        word(
            "--files",
            "The files that settings are read from instead, the later over the earlier.",
            bool,
            key="setting-files",
        ),
    ),
    base=PROGRAM,
    old=(
        OldSpelling("--wide", "--format wide", "format"),
        OldSpelling("--schema", "--as schema", "as"),
        OldSpelling("--as", "--grade {}", "grade"),
        OldSpelling("--as", "--graph {}", "graph"),
        OldSpelling("--by", "--author {}", "author"),
        OldSpelling("--cores", "--open-cores", "open-cores"),
        OldSpelling("--ranks", "--rank-count {}", "rank-count"),
        OldSpelling("--tag", "--label {}", "label"),
        OldSpelling("--trn3-links", "--reading trn3-links={}", "reading"),
        OldSpelling("--neuronlink-direction", "--reading neuronlink={}", "reading"),
    ),
)

SELECTION = "kernels shard k tag family instance generation dtype scope axis zip exclude"
"""All that chooses cases: fields of `trnbench.run.selection.Selection`."""
TABLE = "format"
"""Of commands that print tables."""
PAGE = "output force no-report"
"""Of commands that end in a report."""
STEADINESS = "wait-quiet require-quiet strict"
"""Of commands that measure."""
PAIRS = "kernel axis backend sample-time seed instructions"
"""Of commands that measure two versions in turns."""
GRAPH = "facts reading"
"""How a graph reads documents."""
