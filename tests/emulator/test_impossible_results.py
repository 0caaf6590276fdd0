"""Numbers that cannot be: kernels of users, cases of theirs, and steps beyond clocks and documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import typed

from trnbench import PeakPolicy, Status
from trnbench.kernels.work import Work
from trnbench.run.judge import Judge
from trnbench_emulator.backend import EmulatedBackend
from trnbench_emulator.kernel_run.assertions import assert_faster
from trnbench_emulator.nki import TensorSpec

NORM = (Path(__file__).parent / "kernels" / "norm.txt").read_text()
"""Sums of bf16: two elements per lane and cycle by one document, one by another."""
TRN1 = "trn1.2xlarge"
SAID = "vector at 197.9 % of what the clocks allow (128 elements per cycle × 1.12 GHz)"


@pytest.fixture
def norm(tmp_path: Path) -> str:
    (tmp_path / "norm.py").write_text(NORM)
    return f"{tmp_path / 'norm.py'}::norm"


def test_a_users_kernel_beyond_the_clocks_is_suspect(norm: str) -> None:
    words = ("nki", "run", norm, "-i", TRN1, "--arg", "x=512x8192:bf16")
    done = typed(*words, "--format", "json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["status"]) == (1, "suspect")
    assert told["reason"].startswith(SAID)
    assert f"suspect: {SAID}" in " ".join(typed(*words).stdout.split())
    with pytest.raises(AssertionError, match=r"norm on trn1\.2xlarge is suspect: vector at 197\.9 %"):
        assert_faster(norm, norm, {"x": TensorSpec((512, 8192), "bfloat16")}, instance=TRN1)


def test_so_is_a_case_of_it_whatever_it_is_judged_by(
    norm: str, make_case: Any, backend: EmulatedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(norm.partition("::")[0]).parent))
    case, system = make_case("hbm_read", TRN1, "core", size=1 << 20)
    kernel = msgspec.structs.replace(
        case.kernel,
        name="norm",
        implementations={"nki": "norm:norm"},
        work=lambda *_: Work(bytes={"hbm": 2.0 * 512 * 8192 * 2}),
    )
    own = msgspec.structs.replace(case, kernel=kernel)
    found = Judge(PeakPolicy.SEED).judge(own, backend.observe(own, system), system)
    assert found.status is Status.SUSPECT
    assert found.reason_text.startswith(SAID)
    assert found.judgement.fraction < 0.1  # of the memory, which it is judged by
