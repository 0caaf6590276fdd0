"""The words of commands about steps of models, beside the core's: fields of `Layout`, `Job` and `Goal`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trnbench.bounded import kinds
from trnbench.terminal.option import FILE, OldSpelling, Table, section, word
from trnbench.terminal.vocabulary import WORDS as CORE
from trnbench_steps.paths import PATHS, TYPES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_models(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Models that are shipped, and files; no plugin is asked."""
    from click.shell_completion import CompletionItem

    from trnbench_steps.shipped_models import shipped_names

    names = [CompletionItem(name) for name in shipped_names() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


LAYOUT = (
    word("--tp", "Tensor parallelism: ranks that share each matrix.", kinds.DEGREE, "N"),
    word("--pp", "Pipeline stages.", kinds.DEGREE, "N", rare=True),
    word("--dp", "Data parallelism.", kinds.DEGREE, "N"),
    word("--cp", "Context parallelism: ranks that share each sequence.", kinds.DEGREE, "N", rare=True),
    word("--ep", "Expert parallelism: groups that experts lie over.", kinds.DEGREE, "N", rare=True),
    word("--expert-tp", "Ranks that share each expert.  [default: as --tp]", kinds.DEGREE, "N", rare=True),
    word(
        "--chunks",
        "Runs of layers of a stage; more than one interleaves the pipeline.",
        kinds.DEGREE,
        "N",
        rare=True,
    ),
    word(
        "--zero", "1 cuts the optimiser's state over the data-parallel ranks.", kinds.OPTIONAL, "N", rare=True
    ),
    word("--lnc", "Physical cores of a rank.  [default: the system's]", kinds.DEGREE, "N", rare=True),
    word("--sequence-parallel", "Cut what lies between the cut parts along the sequence.", bool, rare=True),
    word(
        "--placement",
        "Which core each rank is: 0,2,1,3.  [default: its number]",
        metavar="CORES",
        default="",
        rare=True,
    ),
)
"""Fields of `trnbench_steps.layout.Layout`."""

SOFTWARE = {name.removesuffix("_path"): name for name in PATHS}
"""Parts with a path of the software, as they are typed, and their fields of `trnbench_steps.job.Job`."""

_PATHS = "; ".join(f"{name}={'|'.join(PATHS[field])}" for name, field in SOFTWARE.items())

JOB = (
    word("--task", "What is done with the model.", ("train", "prefill", "decode")),
    word("--batch", "Sequences of a step, on all ranks together.", kinds.SEQUENCES, "N", shown="1"),
    word(
        "--micro-batch",
        "Sequences of a rank at once, in training.",
        kinds.SEQUENCES,
        "N",
        shown="1",
        rare=True,
    ),
    word(
        "--sequence",
        "Tokens of a sequence in training, or of a prompt.  [default: 4096]",
        kinds.TOKENS,
        "TOKENS",
    ),
    word(
        "--kv",
        "Tokens in the cache of each sequence, with the new one.  [default: 4096]",
        kinds.TOKENS,
        "TOKENS",
    ),
    word(
        "--recompute",
        "What the backward pass works out again.",
        ("none", "selective", "full"),
        shown="none",
        rare=True,
    ),
    word(
        "--type",
        "Type of a part: weights, activations, cache, gradients (bf16), moments, master (fp32; or none). "
        "Repeatable.",
        metavar="PART=TYPE",
        many=True,
        name="types",
        rare=True,
    ),
    word(
        "--path",
        f"Path of the software, where it is known: {_PATHS}. Repeatable.",
        metavar="PART=PATH",
        many=True,
        name="paths",
        rare=True,
    ),
)
"""Fields of `trnbench_steps.job.Job`."""

WORDS = Table(
    section("The model and its job", word("model", offers=complete_models), *JOB),
    section("The layout", *LAYOUT),
    section(
        "The run",
        word(
            "--operator",
            "Your NKI kernel in the step, beside ours: attention=kernel.py::flash.",
            metavar="NAME=KERNEL",
            many=True,
            name="operators",
            rare=True,
        ),
        word("--trace", "One layer and one step of the first case, for ui.perfetto.dev.", FILE, "FILE"),
    ),
    section(  # fields of `trnbench_steps.plan.goal.Goal`
        "What the plan is for",
        word(
            "--batches",
            "Sequences of a step.  [default: searched; training: 1024]",
            metavar="N[,N…]",
            default="",
            rare=True,
        ),
        word("--tpot", "Most that a token may take.", kinds.AWAITED, "TIME"),
        word("--ttft", "Most until the first token; with --prompt.", kinds.AWAITED, "TIME"),
        word("--prompt", "Tokens of a prompt.", kinds.TOKENS, "TOKENS"),
        word("--output-tokens", "Tokens of an answer; with --requests-per-s.", kinds.TOKENS, "TOKENS"),
        word(
            "--requests-per-s",
            "Requests served, by replicas at work for SHARE of the time.  [default: @0.7]",
            metavar="N[@SHARE]",
        ),
        word("--tokens", "Of the whole training: 1T.", kinds.TRAINED, "N", rare=True),
        word("--days", "Most that the training may take.", kinds.TRAINING, "N", rare=True),
        word(
            "--prices", "CSV with the columns instance, region, kind, dollars per hour, date.", FILE, "FILE"
        ),
        word(
            "--by",
            "What comes first.  [default: dollars with --prices, else throughput of a device]",
            ("time", "throughput", "dollars"),
        ),
        word(
            "--chart",
            "Draw time against cost: what is on the Pareto front.",
            FILE,
            "FILE.svg",
            name="drawing",
            rare=True,
        ),
        word(
            "--allow-no-evidence",
            "Let an option come first of whose class nothing is published.",
            bool,
            rare=True,
        ),
    ),
    base=CORE,
    old=(
        *(OldSpelling(f"--{part}", f"--type {part}={{}}", "type") for part in TYPES),
        *(
            OldSpelling(f"--{field.replace('_', '-')}", f"--path {part}={{}}", "path")
            for part, field in SOFTWARE.items()
        ),
        OldSpelling("--batch", "--batches {}", "batches"),
        OldSpelling("--output", "--output-tokens {}", "output-tokens"),
    ),
)

ON_RANKS = " ".join(each.key for each in (*JOB, *LAYOUT))
"""What is done with a model, and how it lies on ranks: for `job_from` and `layout_from`."""
