"""Carries kernels out with the NumPy interpreters of a triton-viz checkout, in a process of its own.

    python interpreter.py CHECKOUT < jobs > results

Both are pickled: a job is (dialect, file, function, arguments, grid); a result is the arguments and what the
kernel returns, or what refused it, in words. `nki` is a stand-in that has tokens and no behaviour.
"""

from __future__ import annotations

import enum
import importlib.abc
import importlib.machinery
import itertools
import os
import pickle
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

Job = tuple[str, str, str, tuple[Any, ...], tuple[int, ...]]
Result = list[Any] | str
SIZES = SimpleNamespace(pmax=128, psum_fmax=512, gemm_stationary_fmax=128, gemm_moving_fmax=512)
DTYPES = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32")


def module(name: str, **content: Any) -> ModuleType:
    made = ModuleType(name)
    made.__path__ = []
    vars(made).update(content)
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)
    return made


class Anything:
    """Stands for what a file imports and its kernel does not use: a package, a decorator, a class."""

    __path__: tuple[str, ...] = ()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def __or__(self, other: Any) -> Any:
        return self  # a type of an argument

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, given: Any = None, *_: Any, **__: Any) -> Any:
        return given if callable(given) else self


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: frameworks that are not installed."""

    ROOTS = ("torch", "torch_xla", "torch_neuronx", "neuronx_distributed", "nkilib", "nki", "neuronxcc")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        functions = name.endswith((".language", ".isa"))  # a call of these needs a meaning
        if functions or name.partition(".")[0] not in self.ROOTS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return Anything()

    def exec_module(self, module: Any) -> None:
        pass


def tokens(name: str, *members: str) -> Any:
    return enum.Enum(name, members)  # type: ignore[misc]


def stand_in() -> None:
    """What the interpreters and kernels import of NKI: names of memories, engines, modes and types."""
    same = {name: Anything() for name in ("jit", "trace", "baremetal", "benchmark", "profile", "compiler")}
    engine = tokens("engine", "unknown", "tensor", "vector", "scalar", "gpsimd", "dma", "sync")
    module("nki", **same)
    module(
        "nki.isa",
        engine=engine,
        **{f"{name}_engine": engine[name] for name in ("tensor", "vector", "scalar", "gpsimd")},
        matmul_perf_mode=tokens("matmul_perf_mode", "none", "double_row"),
        reduce_cmd=tokens("reduce_cmd", "idle", "reset", "reduce", "reset_reduce", "load_reduce"),
        oob_mode=tokens("oob_mode", "error", "skip"),
        dge_mode=tokens("dge_mode", "none", "unknown", "swdge", "hwdge"),
        nc_version=SimpleNamespace(gen2=2, gen3=3, gen4=4),
    )
    types = {name: name for name in (*DTYPES, "bfloat16", "float8_e4m3", "float8_e5m2")}
    module("nki.language", **types, shared_hbm=SimpleNamespace(name="hbm"), sequential_range=range)
    module("neuronxcc")
    module("neuronxcc.nki", **same)
    module("neuronxcc.nki.isa")
    types = {name: np.dtype(name) for name in DTYPES} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
    memories = {name: name for name in ("sbuf", "psum", "hbm", "shared_hbm")}
    language = module("neuronxcc.nki.language", **types, **memories, tile_size=SIZES)
    language.par_dim = lambda size: size
    language.broadcast_to = lambda tile, shape: tile.broadcast_to(shape)
    language.sequential_range = language.static_range = range


def interpreters(checkout: Path) -> tuple[Any, Any]:
    """Of Beta 1 and Beta 2. The packages above them want PyTorch and Triton, which neither uses."""
    for name in ("triton_viz", "triton_viz.core", "triton_viz.core.frontend"):
        module(name).__path__ = [str(checkout / name.replace(".", "/"))]
    module("triton_viz.clients", Tracer=None)
    module("triton_viz.core.trace", launches=None)
    found = [importlib.import_module(f"triton_viz.core.simulation.{name}") for name in ("nki", "nki_beta2")]
    for each in found:
        each.nki_patch_lang()
    return found[0], found[1]


class Silent:
    """What Beta 1 tells of a run, which nobody asks for here."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: True


def beta1(interpreter: Any, kernel: Any, arguments: tuple[Any, ...], grid: tuple[int, ...]) -> list[Any]:
    interpreter.NKIInterpretedFunction(kernel).run(*arguments, grid=grid or (1,), client_manager=Silent())
    shared = interpreter.nki_builder.shared_hbm_arrays.values()
    return [*arguments, *(each.data for each in shared)]


def beta2(interpreter: Any, kernel: Any, arguments: tuple[Any, ...], grid: tuple[int, ...]) -> list[Any]:
    given = [
        interpreter.NDArray(value=each, buffer="hbm") if isinstance(each, np.ndarray) else each
        for each in arguments
    ]
    kernel.__globals__.update(sbuf=interpreter.sbuf, hbm=interpreter.hbm, psum=interpreter.psum)
    builder, outputs = interpreter.nki_builder, []
    builder.grid_dims, builder.nc_version = grid or (1,), 4
    for place in itertools.product(*map(range, builder.grid_dims)):
        builder.grid_idx = list(place)
        returned = kernel(*given)
        outputs = list(returned if isinstance(returned, tuple) else [returned])
    return [*arguments, *(each.data for each in outputs if each is not None)]


def main() -> None:
    stand_in()
    first, second = interpreters(Path(sys.argv[1]))
    sys.meta_path.append(Missing())
    results: list[Result] = []
    output, sys.stdout = sys.stdout, sys.stderr  # kernels print
    for dialect, file, function, arguments, grid in pickle.load(sys.stdin.buffer):
        try:
            sys.path[0] = str(Path(file).parent)
            kernel = runpy.run_path(file)[function]
            run, interpreter = (beta1, first) if dialect == "beta1" else (beta2, second)
            results.append(run(interpreter, kernel, arguments, grid))
        except (Exception, SystemExit) as error:
            results.append(f"{type(error).__name__}: {error}")
    output.buffer.write(pickle.dumps(results))
    output.flush()
    os._exit(0)  # some of what kernels import does not survive being taken down


if __name__ == "__main__":
    main()
