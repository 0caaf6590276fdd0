"""The command about the model's errors: its words beside the core's, its help, and where its body is."""

from __future__ import annotations

from trnbench.bounded import kinds
from trnbench.cli.declaration import Leaf, commands
from trnbench.cli.option import FILE, Table, word
from trnbench.cli.vocabulary import TABLE
from trnbench_emulator.commands.vocabulary import WORDS as EMULATOR

WORDS = Table(
    word(
        "--kernels",
        "Folder of public kernel sources; those that points name are run anew.",
        FILE,
        "PATH",
        key="sources-folder",
    ),
    word("--sources", "Only the points measured with a public kernel; needs --kernels.", bool),
    word("--points", "One row per point instead.", key="points", name="table", flag_value="points"),
    word("--bounds", "The broken inequalities instead.", name="table", flag_value="bounds"),
    word("--order", "Pairs of versions in published sequences instead.", name="table", flag_value="order"),
    word(
        "--engines",
        "How long each engine is active in published profiles.",
        name="table",
        flag_value="engines",
    ),
    word("--moved", "How points moved that were untouched before instead.", name="table", flag_value="moved"),
    word(
        "--same",
        "Our own product beside the best published one of each shape, instead: two programs, never counted.",
        bool,
        name="own",
    ),
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
        "--coverage",
        "Whether bands hold, instead: every point and step in bands that know nothing of its vote.",
        bool,
    ),
    word(
        "--min-coverage",
        "Exit with 1 when fewer rows or votes lie in their bands, in all or of a family. Repeatable.",
        metavar="[FAMILY=]80%",
        many=True,
        name="minimum",
    ),
    base=EMULATOR,
)

__getattr__ = commands(
    WORDS,
    {
        "validate": Leaf(
            "trnbench_fidelity.commands.validate:validate",
            """Emulate published measurements as stated: broken inequalities first, then errors, worst first.

            Errors are of the time, ln(model / published), printed as per cent of it: 15 % is a factor of
            1.15. Each kernel has one vote, |error| averaged over its points; one row per family and
            generation, with what the model was fitted on, shaped by and never touched. Kernels run from
            public sources are counted as the plugins keep them; --kernels runs them anew. A family of the
            limits may be `public`: all of those.

            --family workloads composes published steps of whole models instead: errors by task, generation
            and kind of model, with each model left out of the fit of the constants; its limits are of decode,
            prefill and train.
            """,
            "family instance generation sources-folder sources assume points bounds order engines moved same "
            f"max-median max-p90 max-broken coverage min-coverage no-cache {TABLE}",
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
