"""What the README tells people to type works as printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from trnbench import Run

KERNEL = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul(a, b):
    """aᵀ · b for one tile of the contraction."""
    k, m = a.shape
    n = b.shape[1]
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    for row in nl.affine_range(m // 128):
        sums = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.psum)
        for part in nl.affine_range(k // 128):
            left = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
            right = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=left, src=a[part * 128 : part * 128 + 128, row * 128 : row * 128 + 128])
            nisa.dma_copy(dst=right, src=b[part * 128 : part * 128 + 128, 0:n])
            nisa.nc_matmul(dst=sums, stationary=left, moving=right)
        tile = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=tile, src=sums)
        nisa.dma_copy(dst=out[row * 128 : row * 128 + 128, 0:n], src=tile)
    return out
'''


def commands(text: str) -> list[str]:
    """Every `trnbench …` of the tour, comments taken off, `;` taken apart."""
    block = re.search(r"## A tour\n\n```sh\n(.*?)```", text, re.S)
    assert block is not None
    lines = [line.split(" #")[0].strip() for line in block[1].splitlines()]
    return [each.strip() for line in lines for each in line.split(";")]


def test_the_tour(root: Path, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    told = commands((root / "README.md").read_text(encoding="utf-8"))
    assert len(told) > 10
    for command in told:
        program, *arguments = shlex.split(command)
        assert program == "trnbench"
        done = subprocess.run(
            [sys.executable, "-m", "trnbench", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.stdout.strip(), command


def test_links_lead_somewhere(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert "docs/plugins.md" in targets
    missing = [target for target in targets if "://" not in target and not (root / target).exists()]
    assert not missing


@pytest.mark.parametrize("ending", ["trnbench run", "pytest -n auto --dist loadfile"])
def test_each_of_the_two_commands_is_one_line(root: Path, ending: str) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert sum(line.endswith(ending) for line in lines) == 1


def test_the_excerpt_is_the_headline_of_a_run_now(root: Path, headline_run: Run) -> None:
    """After a change of the model: `.ci/renew_headline`."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    loader = SourceFileLoader("renew_headline", str(root / ".ci" / "renew_headline"))
    spec = spec_from_loader("renew_headline", loader)
    assert spec is not None
    script = module_from_spec(spec)
    loader.exec_module(script)
    text = (root / "README.md").read_text(encoding="utf-8")
    quoted = text.partition(script.BEGIN)[2].partition(script.END)[0]
    assert quoted.strip() == script.excerpt(headline_run).strip()
