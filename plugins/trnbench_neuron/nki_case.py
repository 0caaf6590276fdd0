"""An NKI kernel as a case: compiled by the real `nki`, executed and timed by nrtpy, its result checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.measure.stopping import Rule
from trnbench.results.statistics import median
from trnbench_emulator.nki import operands, problem
from trnbench_emulator.nki.problem import Source
from trnbench_neuron import verification
from trnbench_neuron.failure import NoEvidence, WrongResult
from trnbench_neuron.nki_compiler import Compiled, compile_kernel, target_of
from trnbench_neuron.nki_timing import FEW, RULES, Timed, slower_by_host, time_neff

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.kernels.case import Case
    from trnbench_neuron.interpreters import Interpreters


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A case that was timed; `checked` says how its result was found right, "" where nobody looked."""

    timed: Timed
    compiled: Compiled
    checked: str


def run_case(
    case: Case,
    system: System,
    source: Source,
    folder: Path,
    *,
    found: Interpreters,
    cores: Sequence[int],
    tag: str,
    seed: int,
    rules: Sequence[Rule] = RULES,
    check: bool = True,
) -> Result:
    """Compiled, executed, checked and timed. Raises `TrnbenchError` of the kind that went wrong."""
    folder.mkdir(exist_ok=True)
    values = operands.fill(source, seed)
    arrays = operands.write(source, values, folder)
    target = target_of(system.instance.core)
    compiled = compile_kernel(source, arrays, folder, python=found.nki.path, target=target)
    arrays = operands.write(source, values, folder, compiled.arguments)
    timed = time_neff(
        compiled.neff,
        arrays,
        folder,
        python=found.nrtpy.path,
        cores=cores,
        tag=tag,
        rules=rules,
    )
    checked = _checked(case, system, source, values, timed) if check else ""
    if check:
        slower_by_host(timed)
    return Result(timed=timed, compiled=compiled, checked=checked)


def _checked(case: Case, system: System, source: Source, values: list[Any], timed: Timed) -> str:
    kinds = problem.outputs_of(source, system)
    first: list[bytes] = []
    how = ""
    for position, outputs in enumerate(timed.outputs):
        if len(outputs) != len(kinds):
            raise WrongResult(f"the kernel returns {len(kinds)} results, the device gave {len(outputs)}")
        data = [Path(str(each["file"])).read_bytes() for each in outputs]
        if position and data == first:
            continue  # the same bytes as the core before, which were right
        try:
            arrays = [operands.read(each, dtype) for each, (_, dtype) in zip(outputs, kinds, strict=True)]
        except ValueError as error:
            raise WrongResult(f"the device's result is not of the type the kernel returns: {error}") from None
        wrong, how = verification.wrong(source, case, system, values, arrays)
        if wrong:
            raise WrongResult(f"the device computed something else: {wrong}")
        if not how:
            raise NoEvidence(
                "nothing checks this kernel's result, so a wrong one would pass",
                cause=f"it is too large to be computed here, and has no {source.function}_wrong",
                try_=f"def {source.function}_wrong(inputs, outputs): return '' or what is wrong",
            )
        first = data
    return how


def idle_time(folder: Path, *, found: Interpreters, system: System, core: int, tag: str) -> float:
    """Seconds of the smallest kernel there is; 0 where it does not run, which is no evidence lost."""
    source = Source(
        ref="trnbench_neuron.kernels.idle:idle",
        module="trnbench_neuron.kernels.idle",
        file=str(Path(__file__).parent / "kernels" / "idle.py"),
        function="idle",
        inputs=(((1, 1), "float32"),),
    )
    folder.mkdir(exist_ok=True)
    try:
        values = operands.fill(source, 0)
        arrays = operands.write(source, values, folder)
        target = target_of(system.instance.core)
        compiled = compile_kernel(source, arrays, folder, python=found.nki.path, target=target)
        arrays = operands.write(source, values, folder, compiled.arguments)
        timed = time_neff(
            compiled.neff, arrays, folder, python=found.nrtpy.path, cores=[core], tag=tag, rules=FEW
        )
    except TrnbenchError:
        return 0.0
    return median(timed.samples)
