"""The words that say what a command of the core is about, and which cases it takes."""

from __future__ import annotations

from trnbench.terminal import names
from trnbench.terminal.option import FILE, section, word
from trnbench.terminal.word_values import ListName

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
    word("what", takes=ListName(), metavar="[WHAT]", default=""),
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
        offers=names.complete_scopes,
    ),
    word(
        "--division",
        "Cores share one problem (sharded, as named kernels do), or each has its own (replicated).",
        metavar="WORD",
        many=True,
        name="divisions",
        offers=names.complete_divisions,
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
