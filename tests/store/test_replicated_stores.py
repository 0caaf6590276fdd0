"""A store in which no case says how it is divided: joined with today's replicated cases, and no others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from archive import unpack
from click.testing import Result
from command import typed

pytestmark = pytest.mark.parts

ARCHIVE = Path(__file__).parent / "corpus" / "replicated" / "store3-schema4.tar.xz"
CASE = "trn1.2xlarge::gemm[dtype=bf16,size=1024]@device"
RUN = "run gemm -i trn1.2xlarge --dtype bf16 --scope device -a size=1K,2K --no-report -q --jobs 1"


def invoke(words: str, *, code: int = 0) -> Result:
    done = typed("--store", "results.db", *words.split())
    assert done.exit_code == code, (words, done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the old run, tagged `first`, and of three of today: both divisions, and one each."""
    folder = tmp_path_factory.mktemp("replicated")
    unpack(ARCHIVE, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for division in ("sharded", "replicated"):
            invoke(f"{RUN} --division {division} --label {division}")
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in folder.iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("asked", [CASE, f"{CASE}:replicated", "gemm[dtype=bf16,size=1024]@device"])
def test_history_has_them_in_one_row(asked: str) -> None:
    rows = json.loads(invoke(f"history {asked} --format json").stdout)
    (only,) = {row["case"] for row in rows}
    assert only == f"{CASE}:replicated"
    assert len(rows[0].get("points", rows)) == 2


def test_compare_joins_replicated_and_refuses_sharded() -> None:
    done = json.loads(invoke("compare first replicated --format json").stdout)
    assert [each["case"] for each in done["changes"]] == [
        f"gemm[dtype=bf16,size={size}]@device:replicated" for size in (1024, 2048)
    ]
    told = invoke("compare first sharded", code=2).stderr
    assert "other division: replicated and sharded; run it with --division replicated" in told


def test_a_gate_of_before_asks_for_replicated() -> None:
    assert "gate passed" in invoke("gate check replicated --against first").output
    assert "run it with --division replicated" in invoke("gate check sharded --against first", code=2).stderr


def test_an_old_run_is_read_and_its_case_found_by_either_name() -> None:
    assert invoke("store check").stderr == "results.db: nothing is wrong\n"
    shown = json.loads(invoke("runs show first --format json").stdout)
    rows = shown if isinstance(shown, list) else shown["cases"]
    assert [row["case"] for row in rows] == [f"gemm[dtype=bf16,size={size}]@device" for size in (1024, 2048)]
    invoke(f"runs trace first {CASE}:replicated -o trace.json")
    invoke(f"runs trace replicated {CASE} -o today.json")
