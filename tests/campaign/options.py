"""Options of every command, and files that commands read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.campaign.files import FACTS, MODEL, NCCL_TESTS, PYTEST_BENCHMARK, RUN
from tests.campaign.surface import USUAL, Surface, option, reading

_RUN = "run --dry-run gemm -i trn1.2xlarge -a size=1K"
TRN1 = "-i trn1.32xlarge"


def _listed() -> Iterator[Surface]:
    """Those of `options.txt`, which says how its lines are read."""
    lines = (Path(__file__).parent / "options.txt").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        given, _, examples = line.partition(" => ")
        codes = USUAL | {3} if given.startswith("[3] ") else USUAL
        yield option(given.removeprefix("[3] "), *examples.split(" | "), codes=codes)


OPTIONS = (
    *_listed(),
    reading("--store fuzzed.db import given.json", "given.json", RUN),
    reading(
        "--store fuzzed.db import given.txt --from nccl-tests --grade measured -i trn2-16.48xlarge",
        "given.txt",
        NCCL_TESTS,
    ),
    reading(
        f"--store fuzzed.db import given.txt --from nccom-test --grade published {TRN1} --kernel all_reduce",
        "given.txt",
        "size(B) count(elems) type time(us) algbw(GB/s) busbw(GB/s)\n1024 256 fp32 58 0.02 0.02\n",
    ),
    reading(
        "--store fuzzed.db import given.json --from pytest-benchmark --grade measured",
        "given.json",
        PYTEST_BENCHMARK,
    ),
    reading(f"{_RUN} --facts given.toml", "given.toml", FACTS),
    reading(
        "nki run given.py::scaled -i trn1.2xlarge --arg x=128x512:bf16",
        "given.py",
        "import nki\n",
        codes=USUAL | {3},
    ),
    reading("workload info config.json", "config.json", MODEL),
    reading(f"workload info config.json {TRN1} --task decode --kv 8 --tp 2", "config.json", MODEL),
    reading("config show", "trnbench.toml", 'kernels = ["gemm"]\njobs = 2\n'),
)
