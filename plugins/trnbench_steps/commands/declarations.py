"""Commands about steps of models: their words, help and bodies."""

from __future__ import annotations

from trnbench.terminal.declaration import Branch, Leaf, commands
from trnbench.terminal.vocabulary import TABLE
from trnbench_steps.commands.vocabulary import ON_RANKS, WORDS

_EVERY = "Repeatable.  [default: every system of a run]"
_INSTANCE = {"instance": {"help": f"Name, alias or NAME:SIZE. {_EVERY}"}}

__getattr__ = commands(
    WORDS,
    {
        "workload": Branch(
            "Models: parameters, operations, memory, and what a step of theirs takes.",
            {
                "list": Leaf(
                    "trnbench_steps.commands.workload.info:list_",
                    """List the models that trnbench and plugins describe, with their parameters.

                    A config.json of Hugging Face takes the place of a name wherever a model is asked for.
                    """,
                    TABLE,
                ),
                "info": Leaf(
                    "trnbench_steps.commands.workload.info:info",
                    """Show the parameters, operations and cache of MODEL: a name of `workload list`, or a
                    config.json.

                    With --task also the operations and the memory of a step on the ranks of a layout, and the
                    systems that it fits on.
                    """,
                    f"model instance {ON_RANKS} facts {TABLE}",
                    _INSTANCE,
                ),
                "run": Leaf(
                    "trnbench_steps.commands.workload.run:run",
                    """Put together what a step of MODEL takes: a name of `workload list`, or a config.json.
                    Each system and point of the axes is a case of a run, which is kept like every other.
                    """,
                    f"model instance {ON_RANKS} axis zip exclude operator facts jobs label output trace "
                    f"force explain no-cache quiet {TABLE}",
                    {
                        "instance": {"help": f"Name, alias, glob or NAME:SIZE. {_EVERY}"},
                        "axis": {
                            "offers": None,
                            "help": "Sweep batch, kv, sequence, tp or another option: batch=1,4,16, "
                            "'kv[pow2]=10:14'.",
                        },
                        "zip": {"offers": None, "help": "These axes move together."},
                        "exclude": {"offers": None, "help": "Leave out points."},
                        "jobs": {"rare": True, "help": "Processes; 0: as many as pay off."},
                        "trace": {"rare": True},
                        "output": {"help": "Write a report of the run, too."},
                    },
                    needs={"force": "output trace"},
                ),
            },
        ),
        "plan": Leaf(
            "trnbench_steps.commands.plan:plan",
            """Say which instances and which layout MODEL takes, with the command of each.

            A limit is kept surely, maybe or hardly, by the band of a time. An option without a band is never
            first unless --allow-no-evidence says so.
            """,
            "model task instance batches tpot ttft prompt output-tokens requests-per-s kv "
            f"sequence tokens days type prices by top chart force allow-no-evidence facts {TABLE}",
            {
                "instance": {"help": f"Name, alias, glob or NAME:SIZE. {_EVERY}"},
                "task": {"takes": ("train", "decode"), "help": "[default: train with --tokens, else decode]"},
                "sequence": {"rare": True, "help": "Tokens of a sequence in training.  [default: 4096]"},
                "kv": {"help": "Tokens in the cache, where no prompt and answer say it.  [default: 4096]"},
            },
            needs={"force": "chart"},
        ),
    },
)
