"""C of our own, compiled by the system's compiler where there is one."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path

from trnbench import TrnbenchError

SOURCE = Path(__file__).with_name("chase.c")
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


def compiler() -> str:
    """The path of a C compiler, "" where there is none."""
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), "")


def lacking() -> str:
    """Empty, or why nothing can be compiled here."""
    return "" if compiler() else "needs a C compiler (cc, gcc or clang), and none is on the PATH"


@cache
def library() -> ctypes.CDLL:
    """chase.c, compiled for this machine, once for each process. Raises `TrnbenchError`."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="trnbench-") as folder:
        target = Path(folder) / "chase.so"
        done = subprocess.run(
            [compiler() or "cc", *FLAGS, str(SOURCE), "-o", str(target)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise TrnbenchError(
                f"{Path(compiler()).name} does not compile {SOURCE.name}",
                cause=(done.stderr.strip().splitlines() or ["it says nothing"])[0],
                try_="cc --version",
            )
        found = ctypes.CDLL(str(target))
    found.chase.restype = ctypes.c_uint64
    found.chase.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
    found.triad.restype = None
    found.triad.argtypes = (*(ctypes.c_void_p,) * 3, ctypes.c_double, ctypes.c_size_t)
    return found
