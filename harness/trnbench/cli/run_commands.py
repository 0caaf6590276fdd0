"""Commands that make, keep, compare and write runs: their words, help and bodies."""

from __future__ import annotations

from typing import Any

from trnbench.terminal.declaration import Branch, Leaf, commands
from trnbench.terminal.vocabulary import (
    BASELINE,
    PAGE,
    PAIRS,
    REPORT,
    SELECTION,
    STEADINESS,
    TABLE,
    TIMELINE,
    WORDS,
)

_OF_A_SELECTION = "trnbench-report-SELECTION.html"
_LABELLED = {"name": "tags", "help": "Only runs with this tag.", "rare": False}
_OF_PAIRS: dict[str, dict[str, Any]] = {
    "kernel": {"many": True, "name": "kernels", "help": "Pairs of this kernel (or glob)."},
    "sample-time": {"help": "Pairs of one case.  [default: 10]"},
    "backend": {"help": "What measures pairs.  [default: the first that measures here]", "rare": True},
    "axis": {"help": "An axis of pairs: size=1K,64K."},
}
_LATEST = {"default": "latest"}
_HERE = {"help": f"Where the report goes.  [default: ./{REPORT}; of a selection ./{_OF_A_SELECTION}]"}
_OF_A_PAGE = {"output": "!no-report", "force": "!no-report"}
_STDOUT = {"help": "Where it goes.  [default: stdout]"}

__getattr__ = commands(
    WORDS,
    {
        "run": Leaf(
            "trnbench.cli.run:run",
            """Run benchmarks, emulated or measured, and write a report.

    With no argument, every kernel on every system, emulated. KERNEL is a name or a glob.
    """,
            f"{SELECTION} division backend peak facts jobs timeout maxfail seed retries sample-time "
            f"processes {STEADINESS} keep-identity executor preset label {PAGE} dry-run explain no-cache "
            f"quiet {TABLE}",
            {"output": _HERE},
            needs=_OF_A_PAGE,
        ),
        "resume": Leaf(
            "trnbench.cli.resume:resume",
            """Go on with a run: its missing, failed and inconclusive cases, and a report of the whole.

    RUN is an id, the beginning of one, a tag, or the latest run that is not complete. The rest of the
    run is carried out as it began; where plan, settings, versions or facts differ, the difference is named.
    """,
            f"run anyway facts jobs {PAGE} {STEADINESS} no-cache quiet {TABLE}",
            {
                "run": {"default": "", "metavar": "[RUN]"},
                "jobs": {"help": "Processes; 0: as many as pay off.  [default: as before]"},
                "output": _HERE,
            },
            needs=_OF_A_PAGE,
        ),
        "runs": Branch(
            """List, show, trace, explain, tag and delete stored runs.

    RUN is an id, the beginning of one, a tag (its newest run), or "latest".
    """,
            {
                "list": Leaf(
                    "trnbench.cli.runs:list_",
                    "List stored runs, oldest first.",
                    f"label {TABLE}",
                    {"label": _LABELLED},
                ),
                "show": Leaf(
                    "trnbench.cli.runs:show",
                    "Show the cases of a stored run.",
                    f"run status kernel instance {TABLE}",
                    {
                        "run": _LATEST,
                        "kernel": {
                            "many": True,
                            "name": "kernels",
                            "help": "Only cases of this kernel (or glob).",
                        },
                        "instance": {"help": "Only cases of this system."},
                    },
                ),
                "trace": Leaf(
                    "trnbench.cli.runs:trace",
                    """Write the timeline of CASE, an emulated case of a stored run, for Perfetto; print the
                    file's name.

                    It is emulated again from its key. CASE is an id, or the case without its system where
                    only one has it.
                    """,
                    "run case output trace-limit force",
                    {
                        "output": {
                            "help": f"Where it goes; open it at ui.perfetto.dev.  [default: ./{TIMELINE}]"
                        }
                    },
                ),
                "assumptions": Leaf(
                    "trnbench.cli.runs:assumptions",
                    """What either end of each assumption would do to the time of CASE, an emulated case of a
                    stored run.

                    It is emulated again from its key, once for each end. CASE is an id, or the case without
                    its system where only one has it.
                    """,
                    f"run case {TABLE}",
                ),
                "delete": Leaf(
                    "trnbench.cli.runs:delete",
                    "Delete stored runs.",
                    "runs yes",
                    {"runs": {"required": True, "metavar": "RUN..."}},
                ),
                "tag": Leaf(
                    "trnbench.cli.runs:tag",
                    "Give a stored run tags, or take them away; print those it has.",
                    "run tags remove",
                ),
                "prune": Leaf(
                    "trnbench.cli.runs:prune",
                    "Delete old runs without a tag, and print their ids.",
                    "keep older-than tagged dry-run yes",
                    {"dry-run": {"help": "Say what would be deleted."}},
                ),
            },
        ),
        "compare": Leaf(
            "trnbench.cli.compare:compare",
            """Say what changed from run BEFORE to run AFTER, case by case.

    A run is an id, the beginning of one, a tag, latest, latest~3, or a file. AFTER is the latest run unless
    named, BEFORE the one before that. With --a or --b and one run, two selections of that run.

    With --paired both are measured now, in turns. Each is a kernel, a setting (size=512), a file of facts, a
    commit of this folder, or a folder with a plugin.

    Measured cases are faster, slower, or show no difference, by samples of several processes; emulated ones
    differ exactly, with what differs of their inputs.
    """,
            f"before after paired {PAIRS} k a b threshold across html force all {TABLE}",
            {
                "all": {"help": "List cases that are exactly the same as well."},
                "threshold": {"help": "The least difference that counts.  [default: 3%; of pairs 1%]"},
                "html": {"rare": True},
                **_OF_PAIRS,
            },
            needs={"force": "html"},
        ),
        "gate": Branch(
            """Fail where a run is worse than what it is held against.

    `trnbench gate [RUN] --against RUN|TAG|FILE [--rules gate.toml]` is short for `trnbench gate check`;
    `trnbench gate check --help` has its options.
    """,
            {
                "check": Leaf(
                    "trnbench.cli.gate:check",
                    """Hold RUN (the latest unless named) against another, and exit with 1 where it is worse.

                    Without rules, any slower case, any emulated time that rose, any new failure and any
                    missing case breaks it. What cannot be told for sure is inconclusive, which is well unless
                    --strict.
                    """,
                    f"run against paired {PAIRS} rules k strict across junit summary annotate {TABLE}",
                    {"run": _LATEST, "strict": {"help": "What is inconclusive fails too."}, **_OF_PAIRS},
                ),
                "accept": Leaf(
                    "trnbench.cli.gate:accept",
                    """Write RUN as the baseline, with who accepted it, when and why, and print its path.

            What was accepted before stays listed in the file.
            """,
                    "run why author output force",
                    {"run": _LATEST, "output": {"help": f"Where it goes.  [default: ./{BASELINE}]"}},
                ),
            },
            default="check",
            settings={
                "options_metavar": "",
                "subcommand_metavar": "[RUN] [OPTIONS] | accept [RUN] [OPTIONS]",
            },
        ),
        "history": Leaf(
            "trnbench.cli.history:history",
            """Show cases over the stored runs: values, commits, and the first run after each step.

    CASE is an id, the case without its system, a kernel, or a glob of these; without one the cases of the
    newest run. Emulated and measured values, backends and machines are series of their own.
    """,
            f"cases label last steps output force {TABLE}",
            {"label": _LABELLED, "output": {"help": "Write a page (HTML) instead."}},
            needs={"force": "output"},
        ),
        "report": Leaf(
            "trnbench.cli.report:report",
            "Write the HTML report of stored runs (the latest one unless named) and print its path.",
            "runs output sample part force",
            {
                "output": {
                    "help": f"Where it goes; - for stdout.  [default: ./{REPORT} of a default run, else "
                    f"./{_OF_A_SELECTION}]"
                }
            },
            needs={"sample": "!part"},
        ),
        "site": Leaf(
            "trnbench.cli.site:site",
            """Write stored runs (all unless named) as a site: pages, a history of each case, a feed.

    DIR is a new folder, or one with an earlier site: only what changed is written. Its pages are static,
    link to each other and fetch nothing from elsewhere.
    """,
            "files runs",
            {"files": {"nargs": 1, "name": "folder", "metavar": "DIR"}},
        ),
        "export": Leaf(
            "trnbench.cli.report:export",
            "Write stored runs (the latest one unless named) as JSON, CSV and other formats.",
            "runs as output force",
            {"output": _STDOUT},
            needs={"force": "output"},
        ),
        "import": Leaf(
            "trnbench.cli.store:import_",
            """Put runs and results from files into the store, and print the ids; - reads standard input.

    Reads what `trnbench export --as json` wrote, and the journal of a run. With --from it reads files of
    other tools; their results are judged by the same documents.
    """,
            "files from grade instance kernel rank-count author label anyway",
            {
                "instance": {
                    "many": False,
                    "name": "instance",
                    "default": "",
                    "help": "The system they are of, where the file does not say.",
                },
                "kernel": {"default": "", "help": "The kernel they are of, where the file does not say."},
                "author": {"metavar": "TEXT", "help": "Who measured them, or where they are published."},
                "label": {"offers": None, "help": "Tag the stored runs; may be repeated."},
                "anyway": {"help": "Keep a run although its digest says that it was edited."},
            },
        ),
        "store": Branch(
            """Check, repair, back up and merge stores, and look at what was computed before.

    Other commands fill it from the journals beside it by themselves. The file is the one of --store,
    TRNBENCH_STORE or the user's data folder.
    """,
            {
                "check": Leaf(
                    "trnbench.cli.store:check",
                    "Compare tables, documents, journals and digests; exit code 1 where they differ.",
                    TABLE,
                ),
                "repair": Leaf(
                    "trnbench.cli.store:repair",
                    """Fill the store from its journals, and write again what its documents contradict.

            A damaged database is put aside and made anew from every run that can be read. No file is removed.
            """,
                ),
                "backup": Leaf(
                    "trnbench.cli.store:backup",
                    "Copy the store into a new FILE, while others may write to it, and print its path.",
                    "files",
                    {"files": {"nargs": 1, "name": "file", "metavar": "FILE"}},
                ),
                "merge": Leaf(
                    "trnbench.cli.store:merge",
                    """Put the runs of OTHER stores into this one, and print the ids of those that are new or
                    renewed.

                    All or, on an error, none. The other files are only read, and what is here already stays.
                    """,
                    "files",
                    {"files": {"name": "others", "metavar": "OTHER..."}},
                ),
                "cache": Leaf(
                    "trnbench.cli.store:cache",
                    """Look at what was computed before, or forget it.

                    The emulator's answers are kept beside the store under a digest of all that they follow
                    from: kernel, arguments, facts, costs, model. `trnbench run --no-cache` does without.
                    """,
                    f"clear {TABLE}",
                ),
            },
        ),
    },
)
