"""The words of the emulator's commands, beside the core's: kernels of a user, and links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnbench.bounded import kinds
from trnbench.terminal.names import offer
from trnbench.terminal.option import FILE, NO_FOLDER, OldSpelling, Table, section, word
from trnbench.terminal.vocabulary import WORDS as CORE

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "permute",
    "barrier",
)
UNEVEN = ("all_gather_v", "all_to_all_v", "reduce_scatter_v")
"""Collectives that take uneven parts."""
PATTERNS = ("matrix", "pingpong", "bisection", "incast")
"""Traffic that is no collective."""
STATES = ("run", "refused", "removed")
"""Of the public names of NKI."""

_sources = offer(
    lambda registry, *_: (
        name
        for name, kernel in registry.kernels.items()
        if any(kind.startswith("nki") for kind in kernel.implementations)
    )
)


def complete_sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Benchmarks that have an NKI kernel, and files."""
    from click.shell_completion import CompletionItem

    names = [] if "/" in incomplete else _sources(ctx, param, incomplete)
    return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


class Collective(click.ParamType[str]):
    """`all_reduce`, also as `all-reduce`, `allreduce` and nccl-tests' `all_reduce_perf`."""

    name = "collective"

    def __init__(self, uneven: tuple[str, ...] = ()) -> None:
        self.names = (*COLLECTIVES, *uneven)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from trnbench.errors import UnknownName

        plain = {name.replace("_", ""): name for name in self.names}
        plain["sendrecv"] = "permute"
        typed = str(value).lower().removesuffix("_perf").replace("-", "").replace("_", "")
        if typed not in plain:
            raise UnknownName(
                "collective", str(value), self.names, try_="trnbench fabric algorithms -i trn2-16.48xlarge"
            )
        return plain[typed]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]


WORDS = Table(
    section(
        "The kernel, and how it is called",
        word("kernel", key="own-kernel", metavar="FILE.py::KERNEL|BENCHMARK", offers=complete_sources),
        word(
            "--arg",
            "An argument: x=128x512:bf16, x=random:128x512:bf16, x=@file.npy or n=3; of a benchmark an axis: "
            "size=4096. Repeatable.",
            metavar="NAME=VALUE",
            many=True,
            name="texts",
        ),
        word(
            "--grid",
            "Launch as N programs that share the problem, each on a core: 2; of Beta 1 any: 4x2, nc2x4.",
            metavar="N",
        ),
        word(
            "--check",
            "Compare with a NumPy function: NAME, FILE.py::NAME, module:NAME; of a benchmark `reference`.",
            metavar="FUNCTION",
            name="reference",
        ),
        word(
            "--tolerance",
            "For --check: largest error as a share of the largest value. Default: by data type.",
            kinds.TOLERANCE,
            "X",
            rare=True,
        ),
        word(
            "--limit",
            "Instructions after which a kernel is taken to be endless.",
            kinds.INSTRUCTIONS,
            "N",
            shown=20_000_000,
            rare=True,
        ),
        word(
            "--seconds",
            "Time after which a kernel is taken to be endless; 0: none.",
            kinds.TIME_LIMIT,
            "N",
            name="timeout_s",
            shown=600.0,
            rare=True,
        ),
        word(
            "--memory",
            "Memory of this machine that values may take.",
            kinds.MEMORY,
            "SIZE",
            shown="4G",
            rare=True,
        ),
        word(
            "--nki",
            "What `import nki` means: auto is the real package where it is installed.",
            ("auto", "trnbench"),
            shown="auto",
            rare=True,
        ),
        word(
            "--cores",
            "How many cores run it at once, each the whole problem. With --grid: those full of launches.",
            ("core", "logical-core", "device", "instance"),
            key="running-cores",
            shown="core",
        ),
        word(
            "--all-generations",
            "On one system of every generation, side by side.",
            bool,
            name="everywhere",
            rare=True,
        ),
        word(
            "--assume",
            "What the compiler is not taken to do to the kernel; the names are below. Repeatable.",
            metavar="no-NAME[,…]",
            many=True,
            rare=True,
        ),
        word("--functional", "Compute the values as well; --check does so too.", bool),
        word("--lines", "Time by source line.", bool, rare=True),
        word("--trace", "Write the timeline for ui.perfetto.dev.", FILE, "FILE.json"),
        word("own-kernels", name="kernels", metavar="FILE.py::KERNEL FILE.py::KERNEL", nargs=2),
        word(
            "--over",
            "An argument and the values to try: tile=128,256,512. Repeatable: all combinations.",
            metavar="NAME=VALUE,…",
            many=True,
        ),
        word("--within", "Time after which a candidate is ended.", kinds.TIME_LIMIT, "SECONDS", shown=10.0),
        word("--trusted", "Run candidates in this process: quicker, and nothing is kept from them.", bool),
        word("--gate", "Exit with 1 where the second takes longer, and name its lines.", bool),
        word("--log", "Keep answers here; what is there already is not asked again.", NO_FOLDER, "FILE"),
        word("script", name="words", metavar="SCRIPT|-m MODULE [ARG]...", nargs=-1, takes=click.UNPROCESSED),
        word("kernel-files", name="kernels", takes=FILE, metavar="FILE|FOLDER"),
        word("--state", "Only names of this state. Repeatable.", STATES, many=True),
        word("--module", "Only of nki.isa, nki.language, …", metavar="NAME", many=True, name="modules"),
    ),
    section(
        "Links and ranks",
        word("collective", takes=Collective(), metavar="COLLECTIVE"),
        word(
            "--ranks",
            "What a rank is.",
            ("device", "logical-core", "core"),
            shown="logical-core",
        ),
        word(
            "--context",
            "Alone, as nccom-test measures it, or inside a compiled graph.",
            ("nccom", "graph"),
            shown="nccom",
            rare=True,
        ),
        word(
            "--degrade",
            "A slow or dead link: d0-d1=0.5 both ways, 'd0>d1=0' one way; or a slow rank: 3=0.5 has half its "
            "memory bandwidth, 3=50us begins late. Repeatable.",
            metavar="LINK=FACTOR|RANK=SHARE|TIME",
            many=True,
        ),
        word(
            "--exact",
            "Simulate what competes unevenly however long it takes, instead of in lockstep.",
            bool,
            rare=True,
        ),
        word(
            "--oversubscription",
            "How many times less the cluster network carries than all adapters together.",
            kinds.OVERSUBSCRIPTION,
            shown=1.0,
            rare=True,
        ),
        word(
            "--algorithm",
            "auto: what the runtime was observed to take, else the best; best: the quickest; or one by name.",
            metavar="auto|best|NAME",
            shown="auto",
        ),
        word("-b --minbytes", "The smallest message, or the only one.  [default: 8]", kinds.MESSAGE),
        word("-e --maxbytes", "The largest message.  [default: what -b says, else 1G]", kinds.MESSAGE),
        word("-f --stepfactor", "From size to size.", kinds.STEP_FACTOR, shown=2.0, rare=True),
        word("--step", "Bytes from size to size, instead of -f.", kinds.MESSAGE, rare=True),
        word(
            "--group",
            "Groups of ranks at once: tensor=8; or by rank: [[0,1],[2,3]].",
            metavar="KIND=SIZE|JSON",
            many=True,
            rare=True,
        ),
        word(
            "--shares",
            "Uneven parts, for (v): one for each rank, or a repeated pattern: 3,1,1,1. Or a rule: "
            "rank r has 1/(r+1)^S, or rank 0 has SHARE and the others the rest.",
            metavar="N,N,…|zipf:S|hot:SHARE",
            rare=True,
        ),
        word(
            "--with",
            "Another collective at the same time: all_to_all=64M; in groups: all_to_all=64M@expert=8.",
            metavar="COLLECTIVE=SIZE[@KIND=SIZE]",
            many=True,
            name="others",
            rare=True,
        ),
        word(
            "--show",
            "What the table holds; JSON and CSV hold all.",
            ("bandwidth", "latency", "hops"),
            shown="bandwidth",
            rare=True,
        ),
        word("--sender", "The rank that sends first, in a ping-pong.", kinds.RANK, name="src", shown=0),
        word(
            "--receiver",
            "The rank that is sent to.  [default: in a ping-pong the same place of the next instance, else "
            "the next rank; in an incast 0]",
            kinds.RANK,
            name="dst",
        ),
        word("pattern", takes=PATTERNS, metavar="|".join(PATTERNS)),
        word(
            "--counts", "How many instances (of a cluster) or ranks, instead of all steps.", metavar="N,N,…"
        ),
    ),
    base=CORE,
    old=(
        OldSpelling("-a", "--algorithm {}", "algorithm"),
        *(OldSpelling(flag, "-b {}", "minbytes") for flag in ("-s", "--size")),
        OldSpelling("--straggler", "--degrade {}", "degrade"),
        OldSpelling("--skew", "--shares {}", "shares"),
        OldSpelling("--replica-groups", "--group {}", "group"),
        OldSpelling("--from", "--sender {}", "sender"),
        OldSpelling("--to", "--receiver {}", "receiver"),
        OldSpelling("--all", "--all-generations", "all-generations"),
        OldSpelling("--timeout", "--seconds {}", "seconds"),
    ),
)

LOADED = "own-kernel arg grid check tolerance seed limit seconds memory nki"
"""KERNEL, and how it is loaded, called and limited."""
LINKS = "instance ranks context degrade exact oversubscription reading facts"
"""The system and the readings of its links, for `fabric_of`."""
SWEEP = "minbytes maxbytes stepfactor"
"""Message sizes, from the smallest to the largest."""
