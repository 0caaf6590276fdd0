"""A machine to check kernels against, and a way to run a snippet as a kernel file."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from beta1_kernel import Run, source
from nki_machine import EVERY_INSTRUCTION, V3

from trnbench_emulator.nki import Machine, TensorSpec, Trace, load_kernel, record
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.jit import Kernel

V4 = msgspec.structs.replace(
    EVERY_INSTRUCTION, moving_free=4096, moving_free_bf16=8192, sbuf_partition_bytes=256 << 10
)
V2 = msgspec.structs.replace(V3, generation="trn1", core="neuroncore-v2", nc_version=2)


class Snippets:
    """Writes a kernel file and records its only function."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, body: str, *, head: str = "") -> str:
        lines = [
            "import nki",
            "import nki.isa as nisa",
            "import nki.language as nl",
            *filter(None, [head]),
            "@nki.jit",
            "def kernel(*args):",
            textwrap.indent(textwrap.dedent(body).strip(), "    "),
        ]
        path = self.folder / "snippet.py"
        path.write_text("\n".join(lines) + "\n")
        return f"{path}::kernel"

    def run(
        self, body: str, *args: Any, head: str = "", machine: Machine = V3, programs: int = 0, **options: Any
    ) -> Trace:
        kernel, _, _ = load_kernel(self.write(body, head=head), nki="trnbench")
        launch = Kernel(kernel.function, programs) if programs else kernel
        return record(launch, args, machine=machine, **options)


@pytest.fixture
def snippets(tmp_path: Path) -> Snippets:
    return Snippets(tmp_path)


@pytest.fixture
def v3() -> Machine:
    return V3


@pytest.fixture
def v4() -> Machine:
    return V4


@pytest.fixture
def v2() -> Machine:
    return V2


@pytest.fixture
def user_kernels() -> Path:
    return Path(__file__).parent / "user_kernels"


@pytest.fixture
def beta1(tmp_path: Path, v2: Any) -> Run:
    """Records a kernel of Beta 1 given as text, with values unless told otherwise."""

    def recorded(body: str, *args: Any, grid: Any = None, machine: Any = v2, **options: Any) -> Trace:
        file = tmp_path / "old.py"
        file.write_text(source(body))
        kernel, _, provided = load_kernel(f"{file}::kernel", nki="trnbench")
        assert str(provided).startswith("trnbench ")
        assert str(provided).endswith(" (Beta 1)")
        if grid is not None:
            kernel = kernel[grid]
        return record(kernel, args, machine=machine, **{"functional": True, "keep": True, **options})

    return recorded


@pytest.fixture
def beta1_shapes(beta1: Run) -> Run:
    """The same with shapes only."""
    return partial(beta1, functional=False)


@pytest.fixture
def run_piece(snippets: Snippets) -> Callable[..., Trace]:
    """Records a piece of a kernel that makes `t`, on a core that has every instruction; see `nki_values`."""
    tail = "\nout = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)\nnl.store(out, t)\nreturn out"

    def carry_out(body: str, args: tuple[Any, ...], functional: bool) -> Trace:
        given = args if functional else [TensorSpec(a.shape, dtype_of(a.dtype).name) for a in args]
        return snippets.run(body + tail, *given, machine=EVERY_INSTRUCTION, functional=functional)

    return carry_out
