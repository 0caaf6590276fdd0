"""The command about the model's errors: its words beside the core's, its help, and where its body is."""

from __future__ import annotations

from trnbench.bounded import kinds
from trnbench.terminal.declaration import Leaf, commands
from trnbench.terminal.option import FILE, OldSpelling, Table, section, word
from trnbench.terminal.vocabulary import TABLE
from trnbench_emulator.commands.vocabulary import WORDS as EMULATOR

WHAT = ("points", "bounds", "order", "engines", "moved", "same", "coverage", "sources")
"""What `validate` prints instead of all of it."""

WORDS = Table(
    section(
        "What is judged, and by which limits",
        word(
            "--kernels",
            "Folder of public kernel sources; those that points name are run anew.",
            FILE,
            "PATH",
            key="sources-folder",
        ),
        word("what", takes=WHAT, metavar="[WHAT]", required=False, key="judgement", name="what"),
        word(
            "--max-median",
            "Exit with 1 when a generation's median error of a family is larger. Repeatable.",
            metavar="FAMILY=12%",
            many=True,
            name="medians",
        ),
        word(
            "--max-p90",
            "The same of the 90th percentile. Repeatable.",
            metavar="FAMILY=45%",
            many=True,
            name="p90s",
        ),
        word(
            "--max-broken",
            "Exit with 1 when the model breaks more published inequalities.",
            kinds.BROKEN,
            "COUNT",
            name="most_broken",
        ),
        word(
            "--min-coverage",
            "Exit with 1 when fewer rows or votes lie in their bands, in all or of a family. Repeatable.",
            metavar="[FAMILY=]80%",
            many=True,
            name="minimum",
        ),
    ),
    base=EMULATOR,
    old=[OldSpelling(f"--{what}", what, "judgement") for what in WHAT],
)

__getattr__ = commands(
    WORDS,
    {
        "validate": Leaf(
            "trnbench_fidelity.commands.validate:validate",
            """Emulate published measurements as stated: broken inequalities first, then errors, worst first.

            Errors are of the time, ln(model / published), as per cent of it. Each kernel has one vote.

            WHAT prints one thing: points, bounds, order (of published versions), engines, or moved (points
            untouched before). Or same (our product beside the best published), coverage (of bands), or
            sources (points with a public kernel; with --kernels).

            --family workloads composes published steps of whole models; its limits are of decode, prefill and
            train. Of the other limits `public` is all public kernels.
            """,
            "judgement family instance generation sources-folder assume max-median max-p90 "
            f"max-broken min-coverage no-cache {TABLE}",
            {
                "family": {"offers": None, "help": "Only this family. Repeatable."},
                "instance": {"help": "Only points of this system. Repeatable."},
                "generation": {"help": "Only points of this one."},
                "assume": {
                    "help": "What the compiler of public kernels is not taken to do, as of trnbench nki run. "
                    "Repeatable."
                },
            },
        )
    },
)
