"""How long steps of models take to put together, in starts of bare Python, by processor time.

Run with `pytest tests/benchmarks --benchmark-enable`. Budgets: a decoding step of a 70B model on 64 ranks 50
starts at first, 10 from what is kept of it; a training step on 1,024 ranks 150; a thousand layouts 1,000.
Each is taken in turns with bare Python, because the machine may be busy with others. Reading facts and
importing are in the first and the third.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import trnbench
from trnbench_steps.division import divide
from trnbench_steps.step_constants import NONE

DECODE = (
    "import trnbench; trnbench.step({model!r}, trnbench.Layout(tp={tp}), "
    "trnbench.Job(task=trnbench.Task.DECODE, batch=16, kv=4096), "
    "trnbench.load_registry().system({system!r}))"
)
TRAIN = (
    "import trnbench; "
    "trnbench.step({model!r}, trnbench.Layout(tp={tp}, dp={dp}, zero=1, sequence_parallel=True), "
    "trnbench.Job(task=trnbench.Task.TRAIN, batch={batch}, sequence={sequence}), "
    "trnbench.load_registry().system({system!r}))"
)


def processor_s(*command: str) -> float:
    """Of a child, its own time and the system's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_starts(benchmark: Any, script: str, rounds: int) -> None:
    """Median over pairs of the script and bare Python."""
    pairs = []

    def pair() -> None:
        pairs.append(processor_s("-c", script) / processor_s("-c", "pass"))

    benchmark.pedantic(pair, rounds=rounds if benchmark.enabled else 1, iterations=1)
    benchmark.extra_info["starts_of_bare_python"] = sorted(pairs)[len(pairs) // 2]


def test_a_decoding_step_at_first(benchmark: Any) -> None:
    whole = benchmark.enabled
    model, tp = ("llama-3-70b", 64) if whole else ("llama-3.2-1b", 8)
    in_starts(benchmark, DECODE.format(model=model, tp=tp, system="trn2-16.48xlarge"), 7)


def test_a_training_step_on_a_thousand_ranks(benchmark: Any) -> None:
    whole = benchmark.enabled
    script = TRAIN.format(
        model="llama-3.1-8b" if whole else "llama-3.2-1b",
        tp=32 if whole else 8,
        dp=32 if whole else 4,
        batch=1024 if whole else 8,
        sequence=8192 if whole else 512,
        system="trn1-ultracluster:32" if whole else "trn1.32xlarge",
    )
    in_starts(benchmark, script, 5)


def test_a_decoding_step_from_the_cache(benchmark: Any, tmp_path: Path) -> None:
    """The whole command, from its start to the run in the store."""
    asked = "llama-3-70b -i trn2-16.48xlarge --tp 64 --batch 16 --kv 4096"
    if not benchmark.enabled:
        asked = "pythia-70m -i trn1.2xlarge --tp 2 --batch 1 --kv 512"
    command = ("-m", "trnbench", "--store", str(tmp_path / "results.db"), "workload", "run", "-q")
    command += (*asked.split(), "--task", "decode")
    if benchmark.enabled:
        processor_s(*command)
    pairs = []

    def pair() -> None:
        pairs.append(processor_s(*command) / processor_s("-c", "pass"))

    benchmark.pedantic(pair, rounds=9 if benchmark.enabled else 1, iterations=1)
    benchmark.extra_info["starts_of_bare_python"] = sorted(pairs)[len(pairs) // 2]


def test_a_step_that_is_known(benchmark: Any) -> None:
    """Again in the same process: what `StepModel` keeps."""
    model, on = trnbench.StepModel(), trnbench.load_registry().system("trn1.32xlarge")
    job = trnbench.Job(task=trnbench.Task.DECODE, batch=1, kv=512)
    division = divide(trnbench.load_model("llama-3.2-1b"), trnbench.Layout(tp=8), job)
    first = model.time(division, on, NONE)
    assert benchmark(model.time, division, on, NONE) == first


def test_a_thousand_layouts(benchmark: Any) -> None:
    """Of one model on one system: tensor ranks × batches × lengths, most of shapes of their own."""
    whole = benchmark.enabled
    degrees = (8, 16, 32, 64) if whole else (8,)
    batches = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if whole else (1, 2)
    lengths = tuple(range(512, 512 + 25 * 512, 512)) if whole else (512,)
    described = trnbench.load_model("llama-3-70b" if whole else "llama-3.2-1b")
    on = trnbench.load_registry().system("trn2-16.48xlarge")
    tried = list(product(degrees, batches, lengths))

    def all_of_them() -> None:
        model = trnbench.StepModel()
        for tp, batch, kv in tried:
            job = trnbench.Job(task=trnbench.Task.DECODE, batch=batch, kv=kv)
            model.time(divide(described, trnbench.Layout(tp=tp), job), on, NONE)

    before = time.process_time()
    benchmark.pedantic(all_of_them, rounds=1, iterations=1)
    spent = time.process_time() - before
    assert len(tried) == (1000 if whole else 2)
    benchmark.extra_info["starts_of_bare_python"] = spent / processor_s("-c", "pass")
