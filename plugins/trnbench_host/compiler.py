"""C of our own, compiled by the system's compiler where there is one."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path

from trnbench import TrnbenchError

CHASE, FMA = (Path(__file__).with_name(name) for name in ("chase.c", "fma.c"))
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")


def compiler() -> str:
    """The path of a C compiler, "" where there is none."""
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), "")


def lacking() -> str:
    """Empty, or why nothing can be compiled here."""
    return "" if compiler() else "needs a C compiler (cc, gcc or clang), and none is on the PATH"


@cache
def library() -> ctypes.CDLL:
    """chase.c, compiled for this machine, once for each process. Raises `TrnbenchError`."""
    path = _compiled(CHASE)
    path.chase.restype = ctypes.c_uint64
    path.chase.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
    path.triad.restype = None
    path.triad.argtypes = (*(ctypes.c_void_p,) * 3, ctypes.c_double, ctypes.c_size_t)
    return path


@cache
def multiply_adds() -> ctypes.CDLL:
    """fma.c, likewise."""
    path = _compiled(FMA)
    for name in ("fma_fp32", "fma_fp64"):
        getattr(path, name).restype = ctypes.c_double
        getattr(path, name).argtypes = (ctypes.c_long, ctypes.c_double, ctypes.c_double)
        getattr(path, f"{name}_per_round").restype = ctypes.c_long
    return path


def _compiled(source: Path) -> ctypes.CDLL:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="trnbench-") as folder:
        target = Path(folder) / f"{source.stem}.so"
        done = subprocess.run(
            [compiler() or "cc", *FLAGS, str(source), "-o", str(target)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise TrnbenchError(
                f"{Path(compiler()).name} does not compile {source.name}",
                cause=(done.stderr.strip().splitlines() or ["it says nothing"])[0],
                try_="cc --version",
            )
        return ctypes.CDLL(str(target))
