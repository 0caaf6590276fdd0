"""A kernel is loaded, not its package; what its host side lacks is stood in for and told where it is used."""

from __future__ import annotations

import logging
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from trnbench.errors import KernelError, UnknownName
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
COPY = """
@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""
OLD = COPY.replace("nisa.dma_copy(dst=out, src=x)", "nl.store(out, nl.load(x))")
OLD_HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
ROWS = TensorSpec((128, 512), "float32")


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def count(path: Path, v3: Machine, name: str = "copied") -> int:
    kernel, _, _ = load_kernel(f"{path}::{name}", nki="trnbench")
    return record(kernel, (ROWS,), machine=v3).count


def test_the_file_of_a_package_runs_without_its_package(tmp_path: Path, v3: Machine) -> None:
    home = tmp_path / "library"
    write(
        home,
        ops__kernels__copies=HEAD + "from .sizes import ROWS\nfrom ..names import *\n" + COPY,
        ops__kernels__sizes="ROWS = 128\n",
        ops__names="NAME = 'a'\n",
    )
    (home / "ops" / "__init__.py").write_text("raise RuntimeError('no Neuron device')\n")
    (home / "ops" / "kernels" / "__init__.py").write_text("import sys\nsys.exit(3)\n")
    before = set(sys.modules)
    assert count(home / "ops" / "kernels" / "copies.py", v3) == 1
    assert not {name for name in set(sys.modules) - before if name.startswith("ops")}


def test_a_name_with_dots_is_no_package(tmp_path: Path, v3: Machine) -> None:
    file = tmp_path / "copies_90.92mfu.py"
    file.write_text(HEAD + COPY)
    assert count(file, v3) == 1


def test_what_a_package_defines_is_there_for_those_who_ask(tmp_path: Path, v3: Machine) -> None:
    write(tmp_path, ops__copies=HEAD + "from . import SIZE, TWICE\nassert (SIZE, TWICE) == (4, 8)\n" + COPY)
    (tmp_path / "ops" / "__init__.py").write_text("SIZE = 4\nimport torch\ntorch.ops.load()\nTWICE = 8\n")
    kernel, module, by = load_kernel(f"{tmp_path / 'ops' / 'copies.py'}::copied", nki="trnbench")
    assert (module.SIZE, module.TWICE) == (4, 8)
    assert by.absent == ("torch",)
    assert by.faults == ()
    assert record(kernel, (ROWS,), machine=v3).count == 1


def test_host_code_that_fails_leaves_kernels_before_and_after_it(tmp_path: Path, v3: Machine) -> None:
    text = f"""{HEAD}
from __future__ import annotations
import torch
{COPY}
device = torch.device("xla") + 1
model = [][3]
if not None:
    {{}}["weights"]
    {COPY.replace("copied", "again").replace(chr(10), chr(10) + "    ")}
@nki.jit
def uses(x):
    return copied(x) if device else model
"""
    path = tmp_path / "mixed.py"
    path.write_text(text.replace(HEAD, "").replace("import torch", HEAD + "import torch"))
    assert count(path, v3) == count(path, v3, "again") == 1
    kernel, _, by = load_kernel(f"{path}::uses", nki="trnbench")
    assert [fault.partition(":")[2].partition(": ")[2] for fault in by.faults] == [
        "torch.device is used, which is not installed (mixed.py:14)",
        "IndexError: list index out of range",
        "KeyError: 'weights'",
    ]
    with pytest.raises(KernelError, match=r"^device is used, which mixed.py:14 could not get"):
        record(kernel, (ROWS,), machine=v3)


USES = [
    ("torch.zeros(3)", "torch.zeros is used, which is not installed (host.py:{line})"),
    ("model.eval()", "model.eval is used, which host.py:6 did not define (host.py:{line})"),
    ("LIMIT + 1", "LIMIT is used, which host.py:7 did not define (host.py:{line})"),
    ("attention(x)", "neuronxcc.nki.kernels.attention.attention is used, which trnbench does not emulate"),
]


@pytest.mark.parametrize(("use", "message"), USES)
def test_what_is_missing_is_told_where_it_is_used(
    use: str, message: str, tmp_path: Path, v2: Machine
) -> None:
    head = OLD_HEAD + (
        "import torch\nfrom torch.nn import Module\nfrom neuronxcc.nki.kernels.attention import attention\n"
        "model = [][0]\nLIMIT = {}['limit']\n"
    )
    path = tmp_path / "host.py"
    path.write_text(f"{head}{OLD}\n@nki.jit\ndef uses(x):\n    return {use}\n")
    line = head.count("\n") + OLD.count("\n") + 4
    assert count(path, v2) == 2
    kernel, _, _ = load_kernel(f"{path}::uses", nki="trnbench")
    with pytest.raises(KernelError) as caught:
        record(kernel, (ROWS,), machine=v2)
    assert caught.value.what.startswith(message.format(line=line))
    if "emulate" in message:
        assert caught.value.cause.startswith("host.py:5 imports neuronxcc.nki.kernels.attention")


def test_stand_ins_may_be_named_compared_subscripted_and_called(tmp_path: Path, v3: Machine) -> None:
    text = """
    import torch, jaxtyping
    from torch import nn
    KINDS = {torch.float32: 4, torch.bfloat16: 2}
    assert KINDS[torch.float32] == 4 and torch.float32 == torch.float32 != torch.bfloat16
    assert not torch.cuda.is_available()

    class Model(nn.Module):
        def forward(self, x: jaxtyping.Float[torch.Tensor, "rows columns"] | None, kind=torch.float32):
            return x

    @torch.no_grad()
    @torch.jit.script
    def host(x):
        return x
    assert host(3) == 3
    """
    path = tmp_path / "named.py"
    path.write_text(HEAD + textwrap.dedent(text) + COPY)
    _, _, by = load_kernel(f"{path}::copied", nki="trnbench")
    assert by.absent == ("torch", "jaxtyping")
    assert by.faults == ()


def test_a_file_that_says_what_to_do_without_is_left_to_it(tmp_path: Path, v3: Machine) -> None:
    guard = """
    try:
        import torch
    except (ImportError, OSError):
        torch = None
    assert torch is None
    try:
        import neuronxcc.nki as found
        HAS_NKI = True
    except ImportError:
        HAS_NKI = False
    if HAS_NKI:
    """
    path = tmp_path / "guarded.py"
    body = COPY.replace("\n", "\n    ")
    path.write_text(HEAD + textwrap.dedent(guard).rstrip() + body + "\n")
    assert count(path, v3) == 1
    _, _, by = load_kernel(f"{path}::copied", nki="trnbench")
    assert (by.absent, by.faults) == ((), ())


def test_a_kernel_behind_an_import_that_failed_is_told_with_its_line(tmp_path: Path) -> None:
    body = textwrap.indent(textwrap.dedent(COPY), "    ")
    path = tmp_path / "guarded.py"
    path.write_text(f"{HEAD}try:\n    import absent\n{body}\nexcept ImportError:\n    other = print\n")
    with pytest.raises(UnknownName) as caught:
        load_kernel(f"{path}::copied", nki="trnbench")
    line = next(at for at, row in enumerate(path.read_text().splitlines(), 1) if "def copied" in row)
    assert caught.value.cause == f"line {line} defines it, in a `try` that an error ended before"


def test_a_package_of_the_repository_is_found_from_anywhere_in_it(tmp_path: Path, v3: Machine) -> None:
    write(tmp_path, examples__run=HEAD + "from mine.tiles import ROWS\nROWS + 1\n" + COPY)
    write(tmp_path, src__mine__tiles="ROWS = 128\n")
    (tmp_path / "src" / "mine" / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    _, _, by = load_kernel(f"{tmp_path / 'examples' / 'run.py'}::copied", nki="trnbench")
    assert (by.absent, by.faults) == ((), ())


def test_a_module_inside_a_package_is_no_package_of_that_name(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(
        tmp_path,
        kernels__copies=HEAD + "import transformers\nMODEL = transformers.AutoModel\n" + COPY,
        served__models__transformers="SIZE = 4\n",
    )
    for package in ("served", "served/models"):
        (tmp_path / package / "__init__.py").write_text("")
    _, _, by = load_kernel(f"{tmp_path / 'kernels' / 'copies.py'}::copied", nki="trnbench")
    assert (by.absent, by.faults) == (("transformers",), ())


def test_the_level_that_the_compiler_adds_to_logging(tmp_path: Path, v2: Machine) -> None:
    path = tmp_path / "quiet.py"
    path.write_text(OLD_HEAD + "import logging\nlogging.disable(logging.OFF)\n" + OLD)
    _, _, by = load_kernel(f"{path}::copied", nki="trnbench")
    assert by.faults == ()
    assert not hasattr(logging, "OFF")
    assert logging.root.manager.disable == 0


@pytest.mark.parametrize("head", ["def copied(x:", "import torch_x\ntorch_x.go()[0] + 1"])
def test_the_kernel_itself_must_be_there(head: str, tmp_path: Path) -> None:
    path = tmp_path / "lost.py"
    path.write_text(head + "\n@torch_x.jit(1)[2]\ndef copied(x):\n    return x\n" * ("torch" in head))
    with pytest.raises(KernelError) as caught:
        load_kernel(f"{path}::copied", nki="trnbench")
    assert "lost.py:" in str(caught.value)


def test_dataclasses_of_a_file_find_their_module(tmp_path: Path, v3: Machine) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n" + HEAD
    path = tmp_path / "typed.py"
    path.write_text(text + "@dataclass\nclass Sizes:\n    rows: int = 4\n" + COPY)
    kernel: Any = load_kernel(f"{path}::copied", nki="trnbench")[0]
    assert record(kernel, (ROWS,), machine=v3).count == 1
