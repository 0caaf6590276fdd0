"""The emulator's commands: their words, help and bodies."""

from __future__ import annotations

from typing import Any

import click

from trnbench.cli.declaration import Branch, Leaf, commands
from trnbench.cli.vocabulary import TABLE
from trnbench_emulator.commands.vocabulary import LINKS, LOADED, SWEEP, UNEVEN, WORDS, Collective


class WithSwitches(click.Command):
    """A command whose `--help` ends with the switches of `--assume`."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from trnbench_emulator.commands.nki.blocks import switches

        super().format_epilog(ctx, formatter)
        with formatter.section("What the compiler is taken to do, switched off by --assume no-NAME"):
            formatter.write_dl(switches())


_LOADED: dict[str, dict[str, Any]] = {
    "seed": {"shown": 0, "metavar": None, "help": "Of random values."},
    "timeout": {"shown": 600.0, "help": "Stop after this long; 0 for never."},
}
_CORE = "The system whose core it runs on."
_NKI = Branch(
    """Run an NKI kernel of your own, unchanged, on any generation.

    Nothing is stored; the emulator says what limits the kernel, and every number is emulated.
    """,
    {
        "run": Leaf(
            "trnbench_emulator.commands.nki.run:run",
            """Emulate KERNEL: time, share of each peak, what is busy, what bounds it.

            Only shapes count for the time; values are computed with --functional and --check. Exits with 1
            when a value is wrong, with 3 when the kernel breaks a rule of the machine (of several: of all of
            them), with 124 when it takes longer than --timeout.

            What the compiler is taken to do to the kernel is told with the time, and so is the time without
            it where that differs by more than 10 %.
            """,
            f"{LOADED} instance running-cores all-generations no-fold assume functional lines peak trace "
            f"trace-limit force quiet {TABLE}",
            {
                **_LOADED,
                "instance": {"help": f"{_CORE} Several: side by side, time and shares of each."},
                "peak": {
                    "shown": "seed",
                    "help": "Which of the disagreeing documents percentages are taken of.",
                },
                "force": {"help": "Let --trace replace a file that trnbench did not write."},
            },
            kind=WithSwitches,
        ),
        "check": Leaf(
            "trnbench_emulator.commands.nki.check:check",
            """Run KERNEL with values and without time: rules, shapes, NaN, and a reference if one is named.

            Exits with 1 when a value is wrong, with 3 when the kernel breaks a rule of the machine.
            """,
            f"{LOADED} instance quiet {TABLE}",
            {**_LOADED, "instance": {"many": False, "name": "instance", "help": _CORE}},
        ),
        "list": Leaf(
            "trnbench_emulator.commands.nki.list:list_",
            "List the public names of NKI: run, refused, or removed by NKI itself.",
            f"state module {TABLE}",
        ),
    },
)

_LINKS: dict[str, dict[str, Any]] = {
    "instance": {
        "many": False,
        "name": "instance",
        "required": True,
        "metavar": "INSTANCE",
        "help": "The system; a cluster takes a size: trn1-ultracluster:64.",
    }
}
_EACH = {**_LINKS, "size": {"shown": "64M", "help": "Of each message."}}
_FABRIC = Branch(
    """Ask the links of a system: collectives, pairs, cuts, and what is assumed.

    Every answer is emulated: flows share the documented links max-min fair. Sizes take K, M and G as
    powers of two (64K, 1G), GB/s are 10⁹ bytes per second.
    """,
    {
        "run": Leaf(
            "trnbench_emulator.commands.fabric.run:run",
            """A collective from -b to -e bytes, in the table of nccl-tests.

            Bus bandwidth counts the ranks asked about, as nccom-test does, and is held against what the
            documented links of a device allow it to be, where no network lies between them. all_gather_v and
            all_to_all_v take uneven parts: --shares or --skew.
            """,
            f"collective {SWEEP} step algorithm element group replica-groups shares skew with {LINKS} "
            f"{TABLE}",
            {**_LINKS, "collective": {"takes": Collective(UNEVEN)}},
        ),
        "matrix": Leaf(
            "trnbench_emulator.commands.fabric.pairs:matrix",
            """Latency and bandwidth between every two ranks, one pair at a time.

            Latency is the time of one byte: links, start and step of the ends.
            """,
            f"size show all {LINKS} {TABLE}",
            {**_LINKS, "size": {"shown": "64M"}, "all": {"help": "Every rank, however many."}},
        ),
        "pingpong": Leaf(
            "trnbench_emulator.commands.fabric.pairs:pingpong",
            """A message there and back between two ranks; on a cluster over EFA to the next instance.

            Times are half of there and back, bandwidth is the message over that.
            """,
            f"{SWEEP} sender to {LINKS} {TABLE}",
            {
                **_LINKS,
                "to": {
                    "help": "The one that sends back.  "
                    "[default: the same place of the next instance, else the next rank]"
                },
            },
        ),
        "bisection": Leaf(
            "trnbench_emulator.commands.fabric.pairs:bisection",
            "Every rank exchanges with the one half the ranks away, held against the narrowest cut.",
            f"size {LINKS} {TABLE}",
            _EACH,
        ),
        "incast": Leaf(
            "trnbench_emulator.commands.fabric.pairs:incast",
            "More and more ranks send to one at the same time.",
            f"size to {LINKS} {TABLE}",
            {**_EACH, "to": {"name": "target", "shown": 0, "help": "The rank they all send to."}},
        ),
        "scale": Leaf(
            "trnbench_emulator.commands.fabric.collective:scale",
            """A collective on more and more ranks: instances of a cluster, or devices of one system.

            `-i trn1-ultracluster` goes from 2 instances to all of them, 30,000 devices.
            """,
            f"collective size algorithm counts {LINKS} {TABLE}",
            _LINKS,
        ),
        "links": Leaf(
            "trnbench_emulator.commands.fabric.collective:links",
            """What every link carries during one collective, the busiest first.

            Load is the share of what the link could have carried in the whole time.
            """,
            f"collective size algorithm group replica-groups top all {LINKS} {TABLE}",
            {**_LINKS, "all": {"help": "Every link that carries something."}},
        ),
        "sensitivity": Leaf(
            "trnbench_emulator.commands.fabric.collective:sensitivity",
            "How the answer moves over the range of each assumption and each reading of the documents.",
            f"collective size algorithm {LINKS} {TABLE}",
            _LINKS,
        ),
        "algorithms": Leaf(
            "trnbench_emulator.commands.fabric.algorithms:algorithms",
            "Which algorithms this system allows, for which collectives, and why not.",
            f"{LINKS} {TABLE}",
            _LINKS,
        ),
    },
)

__getattr__ = commands(WORDS, {"nki": _NKI, "fabric": _FABRIC})
