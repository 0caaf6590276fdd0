"""Mutants of legal kernels: one copy deleted, slice shifted, barrier dropped or buffer swapped at a time.

    python -m tests.nki.mutants --count 300 --seed 1

Each is carried out with values and a shadow. One that changes no output is set aside, unless a barrier was
dropped, which changes what two cores do and not what programs in turn compute. The others are caught by an
error or a finding, or by their values: those of the legal kernel, within the tolerance of `nki check`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from trnbench.errors import KernelError
from trnbench.registry import load_registry
from trnbench_emulator import nki_sources
from trnbench_emulator.nki import Machine, Trace, agreement, load_kernel, provide, record
from trnbench_emulator.nki.dtype import dtype_of, random_values
from trnbench_emulator.nki.source import Sources

HERE = Path(__file__).parent
LIMIT = 20_000
SYSTEMS = {"trn1": "trn1.2xlarge", "trn2": "trn2-16.48xlarge", "trn3": "trn3-gen1-ultraserver"}
BENCHMARKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gemm", "trn2", {"size": 256}),
    ("gemm_naive", "trn2", {"size": 256}),
    ("gemm_blocked", "trn2", {"size": 256}),
    ("gemm_ragged", "trn2", {"m": 130, "n": 514, "k": 200}),
    ("softmax", "trn1", {"rows": 300, "columns": 512}),
    ("layer_norm", "trn2", {"rows": 300, "columns": 600}),
    ("rms_norm", "trn2", {"rows": 300, "columns": 512}),
    ("attention", "trn2", {"seq": 512, "heads": 1, "head_dim": 64}),
    ("selective_scan", "trn2", {"channels": 128, "tokens": 24, "states": 3}),
    ("transpose", "trn2", {"size": 256}),
    ("moe_experts", "trn2", {"experts": 2, "tokens": 16, "hidden": 256, "columns": 600}),
    ("hbm_copy", "trn1", {"size": 1 << 20}),
    ("hbm_triad", "trn2", {"size": 1 << 20}),
    ("gemm_beta1", "trn1", {"size": 512}),
    ("fp32_passes", "trn1", {"products": 8}),
    ("core_exchange", "trn2", {"exchanges": 4}),
    ("dma_accumulate", "trn3", {"size": 1 << 20}),
)
"""Benchmark, generation, and the values of axes that are not their first."""
FILES: tuple[tuple[str, str, tuple[tuple[int, ...], ...], int], ...] = (
    (f"{HERE}/user_kernels/halves.py", "halves_swapped", ((256, 64),), 2),
    (f"{HERE}/user_kernels/rows.py", "softmax_rows", ((200, 96),), 0),
    (f"{HERE}/user_kernels/rows.py", "transpose", ((256, 256),), 0),
    (f"{HERE.parents[1]}/docs/examples/kernel.py", "matmul", ((256, 256), (256, 512)), 0),
)
"""File, function, shapes of fp32, programs."""
_COPIES = ("dma_copy", "tensor_copy", "dma_transpose", "memset", "store")
_OPERANDS = ("dst", "src", "data", "data0", "data1", "data2", "stationary", "moving")


class Legal(NamedTuple):
    """A kernel that keeps the rules, and its arguments."""

    name: str
    file: str
    function: str
    machine: Machine
    arguments: Sequence[Any]
    programs: int

    def trace(self, file: str, *, keep: bool = False) -> Trace:
        """What `file` does in its place."""
        kernel, _, _ = load_kernel(f"{file}::{self.function}", nki="trnbench")
        launch = kernel[self.programs] if self.programs else kernel
        with provide("trnbench"), np.errstate(all="ignore"):
            return record(
                launch,
                self.arguments,
                machine=self.machine,
                functional=True,
                shadow=True,
                limit=LIMIT,
                keep=keep,
            )


class Mutant(NamedTuple):
    legal: Legal
    kind: str
    line: int
    text: str


class Outcome(NamedTuple):
    """`how`: refused, finding, value, missed, or "" where no output changed. `why`: what was said."""

    mutant: Mutant
    how: str
    why: str


@cache
def legal_kernels() -> tuple[Legal, ...]:
    registry, sources = load_registry(), Sources()
    kernels = []
    for name, generation, point in BENCHMARKS:
        kernel = registry.kernels[name]
        whole = {axis.name: axis.values[0] for axis in kernel.axes} | point
        source = sources.taking(nki_sources(kernel), whole)
        assert source is not None, name
        generator = np.random.default_rng(len(kernels))
        arguments = [
            random_values(dtype_of(entry[1]), tuple(entry[0]), generator, 8)
            if isinstance(entry, tuple)
            else entry
            for entry in source.inputs
        ]
        machine = Machine.of(registry.system(SYSTEMS[generation]))
        home = str(source.module.__file__)
        programs = 2 if name == "core_exchange" else 0
        kernels.append(Legal(name, home, source.ref.rpartition(":")[2], machine, arguments, programs))
    machine = Machine.of(registry.system(SYSTEMS["trn2"]))
    for home, function, shapes, programs in FILES:
        generator = np.random.default_rng(len(kernels))
        arguments = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
        name = f"{Path(home).stem}.{function}"  # a benchmark may be called like a file's function
        kernels.append(Legal(name, home, function, machine, arguments, programs))
    return tuple(kernels)


@cache
def expected(name: str) -> Trace:
    """What the legal kernel of this name does."""
    legal = next(kernel for kernel in legal_kernels() if kernel.name == name)
    return legal.trace(legal.file, keep=True)


def mutants(legal: Legal) -> Iterator[Mutant]:
    """All of one kernel: of the calls that it carries out."""
    tree = ast.parse(Path(legal.file).read_text(encoding="utf-8"))
    lines = {each.line for each in expected(legal.name).instructions if each.file == legal.file}
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and lines & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    ]
    for node in calls:
        for kind, edit in _edits(node):
            changed = copy.deepcopy(tree)
            twin = next(
                other
                for other in ast.walk(changed)
                if isinstance(other, ast.Expr)
                and (other.lineno, other.col_offset) == (node.lineno, node.col_offset)
            )
            edit(twin)
            yield Mutant(legal, kind, node.lineno, ast.unparse(ast.fix_missing_locations(changed)))


def _edits(node: ast.Expr) -> Iterator[tuple[str, Any]]:
    assert isinstance(node.value, ast.Call)
    assert isinstance(node.value.func, ast.Attribute)
    name = node.value.func.attr
    if name in _COPIES:
        yield "copy deleted", _deleted
    if name == "core_barrier":
        yield "barrier dropped", _deleted
        return
    slices = [part for part in ast.walk(node) if isinstance(part, ast.Slice) and (part.lower or part.upper)]
    for position in range(len(slices)):
        yield "slice shifted", lambda twin, position=position: _shifted(twin, position)
    operands = [key for key in node.value.keywords if key.arg in _OPERANDS]
    for first in range(len(operands)):
        for second in range(first + 1, len(operands)):
            yield "buffers swapped", lambda twin, pair=(first, second): _swapped(twin, *pair)


def _deleted(node: ast.Expr) -> None:
    node.value = ast.Constant(None)


def _shifted(node: ast.Expr, position: int) -> None:
    """One place to the left, except where it begins at 0; to the right where it always does."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Slice) and (part.lower or part.upper)]
    part = parts[position]
    lower = ast.unparse(part.lower) if part.lower is not None else "0"
    upper = ast.unparse(part.upper) if part.upper is not None else ""
    if lower == "0":
        texts = ("1", f"({upper}) + 1")
    else:
        texts = (f"max(({lower}) - 1, 0)", f"({upper}) - min({lower}, 1)")
    part.lower = ast.parse(texts[0], mode="eval").body
    if upper:
        part.upper = ast.parse(texts[1], mode="eval").body


def _swapped(node: ast.Expr, first: int, second: int) -> None:
    assert isinstance(node.value, ast.Call)
    operands = [key for key in node.value.keywords if key.arg in _OPERANDS]
    one, two = operands[first], operands[second]
    one.value, two.value = two.value, one.value


def tried(mutant: Mutant, folder: Path) -> Outcome:
    legal, wanted = mutant.legal, expected(mutant.legal.name)
    file = folder / Path(legal.file).name
    file.write_text(mutant.text, encoding="utf-8")
    try:
        trace = legal.trace(str(file))
    except KernelError as error:
        return Outcome(mutant, "refused", error.what)
    same = len(trace.outputs) == len(wanted.outputs) and all(
        one.shape == two.shape and one.tobytes() == two.tobytes()
        for one, two in zip(trace.outputs, wanted.outputs, strict=True)
    )
    if trace.findings and not (same and mutant.kind != "barrier dropped"):
        return Outcome(mutant, "finding", "; ".join(map(str, trace.findings)))
    if same:
        return Outcome(mutant, "missed" if mutant.kind == "barrier dropped" else "", "")
    types = [str(getattr(value, "dtype", "")) for value in legal.arguments]
    dtypes = [spec.dtype for spec in trace.output_specs]
    try:
        wrong = agreement.compare(
            trace.outputs, dtypes, [np.asarray(a, np.float64) for a in wanted.outputs], types
        )
    except KernelError as error:
        return Outcome(mutant, "value", error.what)
    if all(each.ok for each in wrong):
        return Outcome(mutant, "missed", f"the error is {max(each.error for each in wrong):.3g}")
    return Outcome(mutant, "value", f"{sum(each.wrong for each in wrong):,} elements")


def drawn(count: int, seed: int, kernels: Sequence[Legal] = ()) -> list[Mutant]:
    """So many of all, by a seed; of barriers all, since there are few."""
    pool = [mutant for legal in kernels or legal_kernels() for mutant in mutants(legal)]
    barriers = [mutant for mutant in pool if mutant.kind == "barrier dropped"]
    others = [mutant for mutant in pool if mutant.kind != "barrier dropped"]
    return barriers + Random(seed).sample(others, min(count, len(others)))


def outcomes(chosen: Sequence[Mutant]) -> list[Outcome]:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        return [tried(mutant, Path(folder)) for mutant in chosen]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.nki.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    results = outcomes(drawn(options.count, options.seed))
    for outcome in results:
        mutant = outcome.mutant
        if outcome.how == "missed":
            where = f"{Path(mutant.legal.file).name}:{mutant.line}"
            print(f"missed: {mutant.legal.name}, {where}, {mutant.kind} {outcome.why}")
    table = Counter((outcome.mutant.kind, outcome.how or "aside") for outcome in results)
    for (kind, how), count in sorted(table.items()):
        print(f"{kind:16} {how:8} {count:5}")
    total = Counter(outcome.how or "aside" for outcome in results)
    counted = len(results) - total["aside"]
    print(
        f"{counted} change an output: {total['refused'] + total['finding']} caught by a rule or a finding, "
        f"{total['value']} by the value, {total['missed']} missed "
        f"({(counted - total['missed']) / max(counted, 1):.1%} caught); {total['aside']} aside"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
