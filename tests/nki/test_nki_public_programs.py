"""Public kernels written for two cores (LNC=2), launched as two programs: their values and their time.

The folder of TRNBENCH_TEST_PUBLIC_KERNELS has aws-neuron/nki-library at the commit of
docs/research/public-kernels.md.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from trnbench.registry import load_registry
from trnbench_emulator.core.recording import Launch, rendezvous_of
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record

FOLDER = os.environ.get("TRNBENCH_TEST_PUBLIC_KERNELS", "")
SOURCES = Path(FOLDER) / "nki-library" / "src" / "nkilib_src"
pytestmark = pytest.mark.skipif(
    not FOLDER or not SOURCES.is_dir(), reason="TRNBENCH_TEST_PUBLIC_KERNELS names no nki-library"
)

LAUNCHED = """
import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.qkv.qkv_cte import qkv_cte
from nkilib.core.subkernels.rmsnorm_tkg import rmsnorm_tkg


@nki.jit
def projected(x, w):
    return qkv_cte(x, w)


@nki.jit
def normed(x, gamma):
    rows, hidden = x.shape[0] * x.shape[1], x.shape[2]
    tile = nl.ndarray((128, rows, hidden // 128), dtype=x.dtype, buffer=nl.sbuf)
    rmsnorm_tkg(x, gamma, tile)
    out = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def _normed(x: Any, gamma: Any, programs: int) -> Any:
    """The hidden dimension is dealt to the programs, then to 128 partitions."""
    rows = x.reshape(-1, x.shape[-1])
    grown = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-6) * gamma
    parts = np.split(grown, programs, axis=1)
    shape = (len(rows), 128, -1)
    return np.concatenate([each.reshape(shape).transpose(1, 0, 2) for each in parts], axis=2)


CASES: dict[str, tuple[tuple[tuple[int, ...], ...], Any, str]] = {
    "projected": (((1, 512, 2048), (2048, 1024)), lambda x, w, _: x @ w, "core_barrier"),
    "normed": (((4, 32, 4096), (1, 4096)), _normed, "sendrecv"),
}


@pytest.mark.parametrize("name", CASES)
def test_two_programs_match_and_take_less_time(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    shapes, reference, meeting = CASES[name]
    file = tmp_path / "launched.py"
    file.write_text(LAUNCHED)
    monkeypatch.syspath_prepend(str(SOURCES))
    kernel, _, _ = load_kernel(f"{file}::{name}", nki="trnbench")
    system = load_registry().system("trn2-16.48xlarge")
    stream = np.random.default_rng(3)
    given = [stream.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]
    wide = [each.astype(np.float32) for each in given]
    for programs in (1, 2):
        launch = kernel[programs]
        (found,) = record(launch, given, machine=Machine.of(system), functional=True).outputs
        wanted = reference(*wide, programs)
        apart = np.abs(found.astype(np.float32) - wanted.reshape(found.shape)).max()
        assert apart <= 0.03 * np.abs(wanted).max()
    specs = [TensorSpec(shape, "bf16") for shape in shapes]
    alone = KernelModel().time(kernel[1], specs, system)
    both = KernelModel().time(kernel[2], specs, system, Launch(programs=2))
    assert alone.latency_s / 2 < both.latency_s < alone.latency_s
    for schedule in both.scheduled.schedules:
        program = schedule.program
        assert {program.ops[program.op[at]].opcode for at in rendezvous_of(program)} == {meeting}
    assert all(each.waited_s > 0 for each in both.programs)
