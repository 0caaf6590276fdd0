"""An NKI kernel, compiled by the real `nki` in one process and timed by nrtpy in others, one per core.

Formats: nrtpy model API, tutorial "validate and benchmark" and troubleshooting (SDK 2.32,
neuron-runtime/nrtpy). Times are the device's own (mode="device": device-side tracing).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.measure.neuron import problem
from trnbench.measure.neuron.conversation import Conversation
from trnbench.measure.neuron.failure import NoEvidence, WrongResult
from trnbench.measure.neuron.problem import Array, Source
from trnbench.measure.neuron.settings import child_environment
from trnbench.measure.stopping import PrecisionReached, Rule, SampleLimit, TimeLimit, first_reason
from trnbench.results.statistics import median

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.kernels.case import Case
    from trnbench.measure.neuron.interpreters import Interpreters

COMPILE_S = 1200.0
LOAD_S = 180.0
TIME_S = 300.0
WARM_UPS = 10
BATCH = 20
TOGETHER = 0.8
"""Cores that are to share the machine have to be busy at the same time for this share of it."""

RULES: tuple[Rule, ...] = (PrecisionReached(), TimeLimit(seconds=10.0), SampleLimit(samples=500))
FEW: tuple[Rule, ...] = (SampleLimit(samples=BATCH),)

SLACK = 0.98
"""Clocks of host and device agree this well: the host's time may not be less than the device's."""


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    neff: str
    arguments: tuple[str, ...]
    nki: str
    seconds: float


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds per execution; of several cores the slowest of each round."""

    samples: tuple[float, ...]
    stop_reason: str
    outputs: tuple[tuple[dict[str, Any], ...], ...]  # by core
    nrtpy: str
    wall_s: float
    host_s: float  # of one execution by the host's clock
    executions: int


def target_of(core: str) -> str:
    """NEURON_PLATFORM_TARGET_OVERRIDE: "neuroncore-v3" is gen3."""
    return f"gen{''.join(each for each in core.rpartition('-')[2] if each.isdigit())}"


def compile_kernel(
    source: Source, arrays: Sequence[Array], folder: Path, *, python: str, target: str, lnc: int = 1
) -> Compiled:
    """kernel.neff for `source`. Raises `NoEvidence` when the real compiler left none, `ToolError`."""
    artifacts = folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    env = child_environment(
        NKI_ARTIFACTS_DIR=str(artifacts),
        NEURON_PLATFORM_TARGET_OVERRIDE=target,
        NEURON_LOGICAL_NC_CONFIG=str(lnc),
    )
    with Conversation(python, "compile_nki", env=env, name="nki") as compiler:
        answer = compiler.ask(
            COMPILE_S,
            do="compile",
            module=source.module,
            file=source.file,
            function=source.function,
            lnc=lnc,
            inputs=[msgspec.to_builtins(each) for each in arrays],
            plain=list(source.plain),
            folder=str(folder),
        )
    neffs = [str(each) for each in answer.get("neffs", ())]
    if len(neffs) != 1:
        what = "left no NEFF" if not neffs else f"left {len(neffs)} NEFFs, one was expected"
        raise NoEvidence(
            f"nki compiled nothing for the device: it {what} in NKI_ARTIFACTS_DIR",
            cause=str(answer.get("problem") or "the kernel may have run on the CPU simulator"),
            try_="unset NKI_SIMULATOR; see the compiler's log",
        )
    return Compiled(
        neff=neffs[0],
        arguments=tuple(map(str, answer.get("arguments", ()))),
        nki=str(answer.get("nki", "")),
        seconds=float(answer.get("seconds", 0.0)),
    )


def time_neff(
    neff: str,
    arrays: Sequence[Array],
    folder: Path,
    *,
    python: str,
    cores: Sequence[int],
    tag: str,
    lnc: int = 1,
    rules: Sequence[Rule] = RULES,
) -> Timed:
    """Executes and times on every one of `cores` at once. Raises `ToolError`, `NoEvidence`."""
    env = child_environment(NEURON_LOGICAL_NC_CONFIG=str(lnc), NEURON_PROCESS_TAG=tag)
    inputs = [msgspec.to_builtins(each) for each in arrays]
    with ExitStack() as open_:
        workers = [
            open_.enter_context(Conversation(python, "time_neff", env=env, name=f"nrtpy on core {core}"))
            for core in cores
        ]
        for worker, core in zip(workers, cores, strict=True):
            worker.send(do="load", neff=neff, inputs=inputs, core=core)
        loaded = [worker.answer(LOAD_S) for worker in workers]
        outputs = []
        for worker, core in zip(workers, cores, strict=True):
            place = folder / f"core{core}"
            place.mkdir(exist_ok=True)
            outputs.append(tuple(worker.ask(LOAD_S, do="execute", folder=str(place))["outputs"]))
        samples, why, wall_s, executions = _sample(workers, rules)
        host = workers[0].ask(TIME_S, do="time", iterations=5, warmups=1, mode="host")
    return Timed(
        samples=tuple(samples),
        stop_reason=why,
        outputs=tuple(outputs),
        nrtpy=str(loaded[0].get("nrtpy", "")),
        wall_s=wall_s,
        host_s=float(host["mean_s"]),
        executions=executions,
    )


def _sample(workers: Sequence[Conversation], rules: Sequence[Rule]) -> tuple[list[float], str, float, int]:
    samples: list[float] = []
    wall_s, executions = 0.0, 0
    while True:
        warm = WARM_UPS if not samples else 1
        for worker in workers:
            worker.send(do="time", iterations=BATCH, warmups=warm, mode="device")
        rounds = [worker.answer(TIME_S) for worker in workers]
        _check_rounds(rounds)
        samples += [max(each) for each in zip(*(found["durations_s"] for found in rounds), strict=False)]
        wall_s += max(float(found["ended"]) - float(found["began"]) for found in rounds)
        executions += (BATCH + warm) * len(workers)
        why = first_reason(rules, samples, wall_s)
        if why:
            return samples, why, wall_s, executions


def _check_rounds(rounds: Sequence[dict[str, Any]]) -> None:
    for found in rounds:
        durations = found["durations_s"]
        if not durations or not all(each > 0.0 for each in durations):
            raise NoEvidence("nrtpy gave no device time: no execution was seen on the NeuronCore")
        spent = float(found["ended"]) - float(found["began"])
        if spent < SLACK * sum(durations):
            raise NoEvidence(
                f"the device claims {sum(durations):.3g} s of execution within {spent:.3g} s by the host's "
                "clock: the executions were not awaited, or the times are not theirs"
            )
    if len(rounds) > 1:
        together = min(float(each["ended"]) for each in rounds) - max(float(each["began"]) for each in rounds)
        longest = max(float(each["ended"]) - float(each["began"]) for each in rounds)
        if together < TOGETHER * longest:
            raise NoEvidence(
                f"the cores worked together for {max(together, 0.0) / longest:.0%} of the time only: "
                "what they share was not shared"
            )


class Result(msgspec.Struct, frozen=True, kw_only=True):
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
    values = problem.fill(source, seed)
    arrays = problem.write(source, values, folder)
    target = target_of(system.instance.core)
    compiled = compile_kernel(source, arrays, folder, python=found.nki.path, target=target)
    arrays = problem.write(source, values, folder, compiled.arguments)
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
        _slower_by_host(timed)
    return Result(timed=timed, compiled=compiled, checked=checked)


def _slower_by_host(timed: Timed) -> None:
    device_s = median(timed.samples)
    if timed.host_s < SLACK * device_s:
        raise NoEvidence(
            f"one execution takes {timed.host_s:.3g} s by the host's clock and {device_s:.3g} s by the "
            "device's: the host did not wait for the device"
        )


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
            arrays = [problem.read(each, dtype) for each, (_, dtype) in zip(outputs, kinds, strict=True)]
        except ValueError as error:
            raise WrongResult(f"the device's result is not of the type the kernel returns: {error}") from None
        wrong, how = problem.wrong(source, case, system, values, arrays)
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
        ref="trnbench.measure.neuron.kernels.idle:idle",
        module="trnbench.measure.neuron.kernels.idle",
        file=str(Path(__file__).parent / "kernels" / "idle.py"),
        function="idle",
        inputs=(((1, 1), "float32"),),
    )
    folder.mkdir(exist_ok=True)
    try:
        values = problem.fill(source, 0)
        arrays = problem.write(source, values, folder)
        target = target_of(system.instance.core)
        compiled = compile_kernel(source, arrays, folder, python=found.nki.path, target=target)
        arrays = problem.write(source, values, folder, compiled.arguments)
        timed = time_neff(
            compiled.neff, arrays, folder, python=found.nrtpy.path, cores=[core], tag=tag, rules=FEW
        )
    except TrnbenchError:
        return 0.0
    return median(timed.samples)
