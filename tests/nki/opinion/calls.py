"""Calls and kernels that two interpreters carry out, with seeded inputs, and what became of each."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
import textwrap
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import msgspec
import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import Machine, load_kernel, record
from trnbench_emulator.nki.tensor import NkiTensor

HERE = Path(__file__).parent
SHAPE = (64, 96)
ROUNDING = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2e-5}
HEADS = {
    "beta2": "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n",
    "beta1": "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n",
}
FRAMES = {
    "beta2": """
def kernel(a, b, out):
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
    t = nl.ndarray(out.shape, dtype=out.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    nisa.dma_copy(dst=y, src=b)
{body}
    nisa.dma_copy(dst=out, src=t)
""",
    "beta1": """
def kernel(a, b, out):
    x = nl.load(a[0:64, 0:96])
    y = nl.load(b[0:64, 0:96])
{body}
{store}
""",
}


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls of one form."""

    name: str
    body: str
    over: dict[str, list[str]] = {}
    numbers: str = "normal"
    shape: tuple[int, int] = SHAPE
    out: str = ""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel; without `outputs` it returns what it makes."""

    at: str
    args: str
    outputs: int = 0
    grid: tuple[int, ...] = ()


class Examples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kernels: list[Example]
    home: str = ""


class Asked(NamedTuple):
    """A kernel with its inputs; it writes the last `outputs` arguments, or returns what it makes."""

    id: str
    dialect: str
    file: Path
    function: str
    arguments: tuple[Any, ...]
    outputs: int
    grid: tuple[int, ...] = ()


Answer = list[Any] | str
"""Values of the outputs, or the words of a refusal."""


def dtype_of(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def inputs(seed: str, numbers: str, dtype: str, shape: Sequence[int] = SHAPE) -> Any:
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    if numbers == "large":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    values = rng.standard_normal(shape) * 2
    if numbers == "positive":
        values = abs(values) + 0.25
    if numbers == "halves":
        values = np.rint(values * 40) / 2
    if dtype_of(dtype).kind in "iu":
        values = np.rint(abs(values) * 8)
    return values.astype(dtype_of(dtype))


def calls(folder: Path) -> Iterator[Asked]:
    """Every combination of every group, its kernel written into the folder."""
    listed = tomllib.loads((HERE / "calls.toml").read_text(encoding="utf-8"))
    for dialect, groups in listed.items():
        for group in msgspec.convert(groups, list[Group]):
            for number, chosen in enumerate(itertools.product(*group.over.values())):
                names = dict(zip(group.over, chosen, strict=True))
                told = " ".join(f"{key}={value.strip(', ')}" for key, value in names.items())
                file = folder / f"{dialect}_{group.name.replace(' ', '_').replace('.', '_')}_{number}.py"
                file.write_text(HEADS[dialect] + _kernel(dialect, group, names), encoding="utf-8")
                dtype = names.get("dtype", "float32")
                given = [inputs(f"{group.name} {at}", group.numbers, dtype) for at in "xy"]
                out = np.zeros(group.shape, dtype_of(names.get("out", group.out) or dtype))
                whole = f"{dialect} {group.name}: {told}".removesuffix(": ")
                yield Asked(whole, dialect, file, "kernel", (*given, out), 1)


def _kernel(dialect: str, group: Group, names: dict[str, str]) -> str:
    body = textwrap.indent(group.body.strip().format(**names), "    ")
    rows, columns = group.shape
    store = "" if "nl.store(" in body else f"    nl.store(out[0:{rows}, 0:{columns}], t)"
    return FRAMES[dialect].format(body=body, store=store)


def examples(folder: Path, seed: int) -> Iterator[Asked]:
    """The kernels of checkouts in the folder and of this tree, with numbers of this seed."""
    listed = tomllib.loads((HERE / "kernels.toml").read_text(encoding="utf-8"))
    for dialect, homes in listed.items():
        for each in msgspec.convert(homes, list[Examples]):
            home = folder / each.home if each.home else HERE.parents[2]
            for example in each.kernels:
                path, _, function = example.at.partition("::")
                name = f"{dialect} {example.at}: {example.args}"
                rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
                names = {
                    "made": lambda *shape, rng=rng: rng.standard_normal(shape).astype(np.float32),
                    "zeros": lambda *shape: np.zeros(shape, np.float32),
                }
                arguments = eval(f"({example.args},)", names)
                yield Asked(name, dialect, home / path, function, arguments, example.outputs, example.grid)


def ours(asked: Asked, machine: Machine) -> Answer:
    """What the emulator gives. What a kernel writes into its arguments is returned for it."""
    try:
        kernel, _, _ = load_kernel(f"{asked.file}::{asked.function}", nki="trnbench")
        plain = getattr(kernel, "function", kernel)

        def carried_out(*arguments: Any) -> Any:
            returned = plain(*arguments)
            tensors = [each for each in arguments if isinstance(each, NkiTensor)]
            return tensors[-asked.outputs :] if asked.outputs else returned

        launched = kernel[asked.grid] if asked.grid and not asked.outputs else carried_out
        return list(record(launched, asked.arguments, machine=machine, functional=True).outputs)
    except KernelError as error:
        return f"{error.what} ({error.cause})"


def theirs(all_asked: Sequence[Asked], checkout: Path) -> list[Answer]:
    jobs = [(each.dialect, str(each.file), each.function, each.arguments, each.grid) for each in all_asked]
    done = subprocess.run(
        [sys.executable, str(HERE / "interpreter.py"), str(checkout)],
        input=pickle.dumps(jobs),
        stdout=subprocess.PIPE,
        check=True,
    )
    answers: list[Answer] = pickle.loads(done.stdout)
    return [
        answer if isinstance(answer, str) else _outputs(each, answer)
        for each, answer in zip(all_asked, answers, strict=True)
    ]


def _outputs(asked: Asked, answer: list[Any]) -> list[Any]:
    count = len(asked.arguments)
    if not asked.outputs:
        return answer[count:]
    return [each for each in answer[:count] if isinstance(each, np.ndarray)][-asked.outputs :]


def difference(ours: Answer, theirs: Answer) -> str:
    """Nothing where both refuse or give the same values up to the rounding of their type."""
    if isinstance(ours, str) or isinstance(theirs, str):
        if isinstance(ours, str) and isinstance(theirs, str):
            return ""
        return f"ours refuses: {ours}" if isinstance(ours, str) else f"theirs refuses: {theirs}"
    if len(ours) != len(theirs):
        return f"outputs: {len(ours)} and {len(theirs)}"
    for mine, other in zip(ours, theirs, strict=True):
        first, second = (np.asarray(each, np.float64) for each in (mine, other))
        rounding = ROUNDING.get(mine.dtype.name, 0.0)
        if first.shape != second.shape:
            return f"shapes: {first.shape} and {second.shape}"
        off = ~np.isclose(first, second, rtol=rounding, atol=rounding / 10, equal_nan=True)
        if off.any():
            at = tuple(int(each) for each in np.argwhere(off)[0])
            return f"values: {off.sum()} of {off.size}, at {at} ours {first[at]:g}, theirs {second[at]:g}"
    return ""
