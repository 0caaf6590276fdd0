"""The emulator's commands: their words, help and bodies."""

from __future__ import annotations

from typing import Any

import click

from trnbench.terminal.declaration import EVERYTHING, Branch, Command, Leaf, commands
from trnbench.terminal.vocabulary import TABLE
from trnbench_emulator.commands.vocabulary import LINKS, LOADED, PATTERNS, SWEEP, UNEVEN, WORDS, Collective


class WithSwitches(Command):
    """A command whose `--help-all` ends with the switches of `--assume`."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if not ctx.meta.get(EVERYTHING):
            return
        from trnbench_emulator.compiler import switches

        with formatter.section("What the compiler is taken to do, switched off by --assume no-NAME"):
            formatter.write_dl(switches())


_LOADED: dict[str, dict[str, Any]] = {
    "seed": {"help": "Of random values.  [default: 0]"},
}
_CORE = "The system whose core it runs on."
_OF_FILES: dict[str, dict[str, Any]] = {
    "arg": {"help": "An argument: x=128x512:bf16, x=random:128x512:bf16, x=@file.npy or n=3. Repeatable."}
}
_ON_CORE: dict[str, dict[str, Any]] = {"instance": {"many": False, "name": "instance", "help": _CORE}}
_NKI = Branch(
    """Run an NKI kernel of your own, unchanged, on any generation.

    Nothing is stored; the emulator says what limits the kernel, and every number is emulated.
    """,
    {
        "run": Leaf(
            "trnbench_emulator.commands.nki.run:run",
            """Emulate KERNEL: time, share of each peak, what is busy, what bounds it.

            Only shapes count for the time; values are computed with --functional and --check. Exit codes: 1
            when a value is wrong, 3 when a rule of the machine is broken (of several machines: of all), 124
            after --seconds.
            """,
            f"{LOADED} instance running-cores all-generations assume functional lines peak trace "
            f"trace-limit force quiet {TABLE}",
            {
                **_LOADED,
                "instance": {"help": f"{_CORE} Several: side by side, time and shares of each."},
                "force": {"help": "Let --trace replace a file that trnbench did not write."},
            },
            kind=WithSwitches,
            needs={"tolerance": "check", "trace-limit": "trace", "force": "trace"},
        ),
        "check": Leaf(
            "trnbench_emulator.commands.nki.check:check",
            """Run KERNEL with values and without time: rules, shapes, NaN, and a reference if one is named.

            Exits with 1 when a value is wrong or a device would punish it, with 3 when it breaks a rule.
            """,
            f"{LOADED} instance quiet {TABLE}",
            {**_LOADED, **_ON_CORE},
            needs={"tolerance": "check"},
        ),
        "exec": Leaf(
            "trnbench_emulator.commands.nki.script:exec_",
            """Run SCRIPT, or a module after -m, with nki there and its kernels emulated.

            Kernels are called on NumPy arrays and torch tensors; nki.benchmark and its like answer with
            emulated times. stderr begins and ends with what emulates. Exits as the script does.
            """,
            "instance script quiet",
            _ON_CORE,
            settings={"context_settings": {"ignore_unknown_options": True, "allow_interspersed_args": False}},
        ),
        "doctor": Leaf(
            "trnbench_emulator.commands.nki.doctor:doctor",
            """What of FILE or FOLDER runs, what not and why, and what newer releases removed.

            Files are imported, no kernel is run. Exits with 1 where a kernel uses what does not run here, or
            a file cannot be imported.
            """,
            f"kernel-files quiet {TABLE}",
        ),
        "compare": Leaf(
            "trnbench_emulator.commands.session.compare:compare",
            """Two kernels with the same arguments: times, traffic, engines, lines, and how far to trust it.

            Says how many published pairs with such a gain the model has in order, or that it cannot tell
            the two apart.
            """,
            f"own-kernels arg grid within memory gate instance quiet {TABLE}",
            {**_ON_CORE, **_OF_FILES},
        ),
        "tune": Leaf(
            "trnbench_emulator.commands.session.tune:tune",
            """Every combination of the values of --over, the fastest first.

            What breaks a rule is refused with the reason, and the best comes as a command. Exits with 3
            where none runs.
            """,
            "own-kernel arg over grid check tolerance seed within memory trusted log instance top quiet "
            f"{TABLE}",
            {
                **_LOADED,
                **_ON_CORE,
                **_OF_FILES,
                "own-kernel": {"metavar": "FILE.py::KERNEL"},
            },
            needs={"tolerance": "check"},
        ),
        "serve": Leaf(
            "trnbench_emulator.commands.session.session:serve",
            """Answer candidates from stdin, a line of JSON each, with a line of JSON each.

            Each has a process, a limit of time and of memory, and sees nothing of another. What is wrong
            with one is in its answer. Ends with stdin.
            """,
            "instance within memory trusted quiet",
            _ON_CORE,
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
_ONE_SIZE: dict[str, dict[str, Any]] = {**_LINKS, "minbytes": {"help": "The message.  [default: 64M]"}}
_FABRIC = Branch(
    """Ask the links of a system: collectives, pairs, cuts, and what is assumed.

    Every answer is emulated: flows share the documented links max-min fair. Sizes take K, M and G as
    powers of two (64K, 1G), GB/s are 10⁹ bytes per second.
    """,
    {
        "run": Leaf(
            "trnbench_emulator.commands.fabric.run:run",
            """A collective from -b to -e bytes on each system, in one table.

            Bus bandwidth counts the ranks of the call, as nccom-test does. Where no network lies between
            them it is a share of the documented links of a device. all_gather_v, all_to_all_v and
            reduce_scatter_v take uneven parts: --shares.
            """,
            f"collective {SWEEP} step algorithm dtype group shares with {LINKS} explain {TABLE}",
            {
                "instance": {
                    "required": True,
                    "metavar": "INSTANCE",
                    "help": "The system; a cluster takes a size: trn1-ultracluster:64. Repeatable.",
                },
                "collective": {"takes": Collective(UNEVEN)},
                "dtype": {
                    "many": False,
                    "name": "dtype",
                    "default": None,
                    "offers": None,
                    "help": "Of an element; sizes are rounded down to it.  [default: fp32]",
                },
            },
        ),
        "probe": Leaf(
            "trnbench_emulator.commands.fabric.pairs:probe",
            """Traffic that is no collective.

            PATTERN is matrix (latency and bandwidth between every two ranks) or pingpong (-b to -e bytes
            there and back, and half their time). Or it is bisection (every rank exchanges with the one half
            the ranks away) or incast (more and more ranks send to one).
            """,
            f"pattern {SWEEP} sender receiver show all {LINKS} {TABLE}",
            {
                **_LINKS,
                "minbytes": {
                    "help": "The message; in a ping-pong the smallest.  [default: 64M; in a ping-pong 8]"
                },
                "all": {"help": "Every rank of a matrix, however many."},
            },
        ),
        "scale": Leaf(
            "trnbench_emulator.commands.fabric.collective:scale",
            """A collective on more and more ranks: instances of a cluster, or devices of one system.

            `-i trn1-ultracluster` goes from 2 instances to all of them, 30,000 devices.
            """,
            f"collective minbytes algorithm counts {LINKS} {TABLE}",
            _ONE_SIZE,
        ),
        "links": Leaf(
            "trnbench_emulator.commands.fabric.collective:links",
            """What every link carries during one collective, the busiest first.

            Load is the share of what the link could have carried in the whole time.
            """,
            f"collective minbytes algorithm group top all {LINKS} {TABLE}",
            {**_ONE_SIZE, "all": {"help": "Every link that carries something."}},
        ),
        "sensitivity": Leaf(
            "trnbench_emulator.commands.fabric.collective:sensitivity",
            "How the answer moves over the range of each assumption and each reading of the documents.",
            f"collective minbytes algorithm {LINKS} {TABLE}",
            _ONE_SIZE,
        ),
        "algorithms": Leaf(
            "trnbench_emulator.commands.fabric.algorithms:algorithms",
            "Which algorithms this system allows, for which collectives, and why not.",
            f"{LINKS} {TABLE}",
            _LINKS,
        ),
    },
    old={pattern: f"probe {pattern}" for pattern in PATTERNS},
)

__getattr__ = commands(WORDS, {"nki": _NKI, "fabric": _FABRIC})
