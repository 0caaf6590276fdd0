"""The words of commands about steps of models, beside the core's: fields of `Layout`, `Job` and `Goal`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trnbench.bounded import kinds
from trnbench.cli.option import FILE, Table, word
from trnbench.cli.vocabulary import WORDS as CORE
from trnbench_steps.job import PATHS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_models(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Models that are shipped, and files; no plugin is asked."""
    from click.shell_completion import CompletionItem

    from trnbench_steps.shipped import shipped_names

    names = [CompletionItem(name) for name in shipped_names() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


LAYOUT = (
    word("--tp", "Tensor parallelism: ranks that share each matrix.", kinds.DEGREE, "N"),
    word("--pp", "Pipeline stages.", kinds.DEGREE, "N"),
    word("--dp", "Data parallelism.", kinds.DEGREE, "N"),
    word("--cp", "Context parallelism: ranks that share each sequence.", kinds.DEGREE, "N"),
    word("--ep", "Expert parallelism: groups that experts lie over.", kinds.DEGREE, "N"),
    word("--expert-tp", "Ranks that share each expert.  [default: as --tp]", kinds.DEGREE, "N"),
    word("--chunks", "Runs of layers of a stage; more than one interleaves the pipeline.", kinds.DEGREE, "N"),
    word("--zero", "1 cuts the optimiser's state over the data-parallel ranks.", kinds.OPTIONAL, "N"),
    word("--lnc", "Physical cores of a rank.  [default: the system's]", kinds.DEGREE, "N"),
    word("--sequence-parallel", "Cut what lies between the cut parts along the sequence.", bool),
    word(
        "--placement", "Which core each rank is: 0,2,1,3.  [default: its number]", metavar="CORES", default=""
    ),
)
"""Fields of `trnbench_steps.layout.Layout`."""

TYPES = (
    word("--weights", "Type of the weights.", metavar="TYPE", shown="bf16"),
    word("--activations", "Type of what is between layers.", metavar="TYPE", shown="bf16"),
    word("--cache", "Type of the KV cache.", metavar="TYPE", shown="bf16"),
    word("--gradients", "Type of the gradients.", metavar="TYPE", shown="bf16"),
    word("--moments", "Type of the optimiser's two moments.", metavar="TYPE", shown="fp32"),
    word(
        "--master",
        "Type of the optimiser's copy of the weights; none for none.",
        metavar="TYPE",
        shown="fp32",
    ),
)
"""Fields of `trnbench_steps.job.Job`."""

SOFTWARE = (
    word("--attention-path", "Whether a kernel fuses a prompt's.  [default: both]", PATHS["attention_path"]),
    word("--products", "What makes matrix products.  [default: compiled]", PATHS["products"]),
    word("--widening", "What becomes of 8-bit weights.  [default: widened]", PATHS["widening"]),
    word("--experts", "How tokens meet them.  [default: the library's]", PATHS["experts"]),
)
"""Paths of the software: fields of `trnbench_steps.job.Job`."""

JOB = (
    word("--task", "What is done with the model.", ("train", "prefill", "decode")),
    word("--batch", "Sequences of a step, on all ranks together.", kinds.SEQUENCES, "N", shown="1"),
    word("--micro-batch", "Sequences of a rank at once, in training.", kinds.SEQUENCES, "N", shown="1"),
    word("--sequence", "Tokens of a sequence that is trained on, or of a prompt.", kinds.TOKENS, "TOKENS"),
    word("--kv", "Tokens in the cache of each sequence, the new one among them.", kinds.TOKENS, "TOKENS"),
    word(
        "--recompute", "What the backward pass works out again.", ("none", "selective", "full"), shown="none"
    ),
    *TYPES,
    *SOFTWARE,
)
"""Fields of `trnbench_steps.job.Job`."""

WORDS = Table(
    word("model", offers=complete_models),
    *LAYOUT,
    *JOB,
    word(
        "--operator",
        "Your NKI kernel in the step, beside ours: attention=kernel.py::flash.",
        metavar="NAME=KERNEL",
        many=True,
        name="operators",
    ),
    word("--trace", "One layer and one step of the first case, for ui.perfetto.dev.", FILE, "FILE"),
    # What a plan is for: fields of `trnbench_steps.plan.goal.Goal`.
    word(
        "--batch",
        "Sequences of a replica, or of a training step.  [default: 1 to 64; 1024]",
        metavar="N[,N…]",
        key="batches",
        name="batches",
        default="",
    ),
    word("--tpot", "Most that a token may take.", kinds.AWAITED, "TIME"),
    word("--ttft", "Most until the first token; with --prompt.", kinds.AWAITED, "TIME"),
    word("--prompt", "Tokens of a prompt.", kinds.TOKENS, "TOKENS"),
    word("--tokens", "Of the whole training: 1T.", kinds.TRAINED, "N"),
    word("--days", "Most that the training may take.", kinds.DAYS, "N"),
    word("--prices", "CSV with the columns instance, region, kind, dollars per hour, date.", FILE, "FILE"),
    word(
        "--by",
        "What comes first.  [default: dollars with --prices, else throughput of a device]",
        ("time", "throughput", "dollars"),
        key="rank-by",
    ),
    word("--top", "Rows shown.", kinds.SHOWN, key="rows", shown="10"),
    word("--chart", "Draw time against cost: what is on the Pareto front.", FILE, "FILE.svg", name="drawing"),
    word("--allow-no-evidence", "Let an option come first of whose class nothing is published.", bool),
    base=CORE,
)

ON_RANKS = " ".join(each.key for each in (*JOB, *LAYOUT))
"""What is done with a model, and how it lies on ranks: for `job_from` and `layout_from`."""
