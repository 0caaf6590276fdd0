"""Values of words that are more than one of some choices, and the words that select cases."""

from __future__ import annotations

import click

from trnbench.terminal import VERBOSITY, WIDE, names
from trnbench.terminal.context import Session
from trnbench.terminal.option import FILE, section, word

READINGS = {"neuronlink": ("one-way", "both-ways"), "trn3-links": ("levels", "table", "chip-page")}
"""Of each reading's name its values; the first is taken unless another is asked for."""

BUILDERS = {"neuronlink": "neuronlink_direction", "trn3-links": "trn3_links"}
"""What builders of graphs call them."""


LISTS = (
    *("kernels", "instances", "cases", "tags", "families", "backends", "formats", "importers"),
    "sections",
)


_ELSEWHERE = {
    **dict.fromkeys(("model", "models", "workloads"), "trnbench workload list"),
    **dict.fromkeys(("axis", "axes", "dtype", "dtypes"), "trnbench info gemm"),
    "generations": "trnbench spec list",
    "plugins": "trnbench plugin list",
    "runs": "trnbench runs list",
}
"""What lists the rest that somebody may look for here."""


def configured_format() -> str:
    """How results are printed unless a command says otherwise."""
    from trnbench.terminal.settings import load_settings

    return load_settings().format


def table_format(ctx: click.Context, _: click.Parameter, value: str) -> str:
    """A wide table is a table to bodies; the terminal counts as wide enough."""
    if value == "wide":
        ctx.meta[WIDE] = True
    return "table" if value == "wide" else value


def quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """No progress and no warnings from here on."""
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.verbosity = ctx.meta[VERBOSITY] = -1


def no_cache(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Nothing that was computed before is used or kept."""
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.use_cache = False


class ListName(click.ParamType[str]):
    """One of the lists of `trnbench list`, or "" for the first; the nearest one is named when it is none."""

    name = "what"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Raises `UnknownName`."""
        if value in LISTS or not value:
            return value
        from trnbench.errors import UnknownName

        other = _ELSEWHERE.get(value, f"trnbench list cases {value}  if it is a kernel")
        raise UnknownName("list", value, LISTS, try_=other)


class Reading(click.ParamType[str]):
    """`trn3-links=table`: how documents are read that can be read in more than one way."""

    name = "reading"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Raises `UsageError` for what is no reading."""
        name, _, reading = value.partition("=")
        if reading in READINGS.get(name, ()):
            return value
        from trnbench.errors import UsageError, cut

        known = ", ".join(f"{name}={'|'.join(readings)}" for name, readings in READINGS.items())
        raise UsageError(
            f"--reading {cut(value)} is none", cause=f"known: {known}", try_="--reading neuronlink=both-ways"
        )


def readings_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Of --reading: option of a graph's builder → value; the last of several for one holds."""
    pairs = (text.partition("=") for text in texts)
    return {BUILDERS[name]: reading for name, _, reading in pairs}


SHELLS = ("bash", "zsh", "fish", "powershell")

SUBJECTS = section(
    "What is asked about",
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
    word("what", takes=ListName(), metavar="[WHAT]", default="", offers=names.offered(LISTS)),
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
)

CASES = section(
    "Which cases",
    word(
        "--shard",
        "Part I of N of the cases: 1/8 to 8/8 are all of them, each once.",
        metavar="I/N",
        default="",
        rare=True,
    ),
    word(
        "-k",
        "Words with and, or, not: 'gemm and not fp32'.",
        metavar="EXPRESSION",
        name="keyword",
        default="",
    ),
    word(
        "--tag",
        "Kernels with this tag.",
        metavar="TAG",
        many=True,
        name="tags",
        offers=names.complete_tags,
        rare=True,
    ),
    word(
        "--family",
        "Kernels of this family.",
        metavar="NAME",
        many=True,
        name="families",
        offers=names.complete_families,
        rare=True,
    ),
    word(
        "--generation",
        "Systems of this generation.",
        metavar="NAME",
        many=True,
        name="generations",
        offers=names.complete_generations,
        rare=True,
    ),
    word(
        "-d --dtype",
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
        offers=names.offered("trnbench.run.selection:SCOPES"),
    ),
    word(
        "--division",
        "Cores share one problem (sharded, as named kernels do), or each has its own (replicated).",
        metavar="WORD",
        many=True,
        name="divisions",
        offers=names.offered("trnbench.run.selection:DIVISIONS"),
    ),
    word(
        "-a --axis",
        "Sweep an axis: size=1K,64K, size=512x64x128, 'size[pow2]=10:30:2' (2^10, 2^12, …) or "
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
        rare=True,
    ),
    word(
        "--exclude",
        "Leave out points, such as 'dtype=fp32,size>=8192'.",
        metavar="TERMS",
        many=True,
        name="excludes",
        offers=names.complete_axes,
        rare=True,
    ),
)
