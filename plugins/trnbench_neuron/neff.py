"""A NEFF: compiled by the real `nki`, executed and timed by nrtpy on each core at once, and profiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.measure.sampling import PrecisionReached, Rule, SampleLimit, TimeLimit, first_reason
from trnbench.record import Record
from trnbench.results.statistics import median
from trnbench_neuron.conversation import Conversation
from trnbench_neuron.settings import child_environment
from trnbench_neuron.tool import NoEvidence, json_of, number, run
from trnbench_neuron.toolbox import Toolbox

if TYPE_CHECKING:
    from trnbench_emulator.nki.problem import Array, Source


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


class Timed(Record, kw_only=True):
    """Seconds per execution; of several cores the slowest of each round."""

    samples: tuple[float, ...]
    stop_reason: str
    outputs: tuple[tuple[dict[str, Any], ...], ...]  # by core
    wall_s: float
    host_s: float  # of one execution by the host's clock
    executions: int


def time_neff(
    neff: str,
    arrays: Sequence[Array],
    folder: Path,
    *,
    python: str,
    cores: Sequence[int],
    tag: str,
    rules: Sequence[Rule],
) -> Timed:
    """Executes and times on every one of `cores` at once. Raises `ToolError`, `NoEvidence`."""
    env = child_environment(NEURON_LOGICAL_NC_CONFIG="1", NEURON_PROCESS_TAG=tag)
    inputs = [msgspec.to_builtins(array) for array in arrays]
    with ExitStack() as open_:
        workers = [
            open_.enter_context(Conversation(python, "time_neff", env=env, name=f"nrtpy on core {core}"))
            for core in cores
        ]
        for worker, core in zip(workers, cores, strict=True):
            worker.send(do="load", neff=neff, inputs=inputs, core=core)
        for worker in workers:
            worker.answer(LOAD_S)
        outputs = []
        for worker, core in zip(workers, cores, strict=True):
            core_folder = folder / f"core{core}"
            core_folder.mkdir(exist_ok=True)
            outputs.append(tuple(worker.ask(LOAD_S, do="execute", folder=str(core_folder))["outputs"]))
        samples, why, wall_s, executions = _sample(workers, rules)
        host = workers[0].ask(TIME_S, do="time", iterations=5, warmups=1, mode="host")
    return Timed(
        samples=tuple(samples),
        stop_reason=why,
        outputs=tuple(outputs),
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
        samples += [
            max(durations) for durations in zip(*(answer["durations_s"] for answer in rounds), strict=False)
        ]
        wall_s += max(map(_spent, rounds))
        executions += (BATCH + warm) * len(workers)
        why = first_reason(rules, samples, wall_s)
        if why:
            return samples, why, wall_s, executions


def _spent(answer: dict[str, Any]) -> float:
    """Seconds of a round by the host's clock."""
    return float(answer["ended"]) - float(answer["began"])


def _check_rounds(rounds: Sequence[dict[str, Any]]) -> None:
    for answer in rounds:
        durations = answer["durations_s"]
        if not durations or not all(duration > 0.0 for duration in durations):
            raise NoEvidence("nrtpy gave no device time: no execution was seen on the NeuronCore")
        spent = _spent(answer)
        if spent < SLACK * sum(durations):
            raise NoEvidence(
                f"the device claims {sum(durations):.3g} s of execution within {spent:.3g} s by the host's "
                "clock: the executions were not awaited, or the times are not theirs"
            )
    if len(rounds) > 1:
        together = min(float(each["ended"]) for each in rounds) - max(float(each["began"]) for each in rounds)
        longest = max(map(_spent, rounds))
        if together < TOGETHER * longest:
            raise NoEvidence(
                f"the cores worked together for {max(together, 0.0) / longest:.0%} of the time only: "
                "what they share was not shared"
            )


def slower_by_host(timed: Timed) -> None:
    """Raises `NoEvidence` unless an execution takes no less by the host's clock than by the device's."""
    device_s = median(timed.samples)
    if timed.host_s < SLACK * device_s:
        raise NoEvidence(
            f"one execution takes {timed.host_s:.3g} s by the host's clock and {device_s:.3g} s by the "
            "device's: the host did not wait for the device"
        )


COMPILE_S = 1200.0


class Compiled(Record, kw_only=True):
    """The path of the NEFF, names of its arguments, seconds it took."""

    neff: str
    arguments: tuple[str, ...]
    seconds: float


def target_of(core: str) -> str:
    """NEURON_PLATFORM_TARGET_OVERRIDE: "neuroncore-v3" is gen3."""
    return f"gen{''.join(char for char in core.rpartition('-')[2] if char.isdigit())}"


def compile_kernel(
    source: Source, arrays: Sequence[Array], folder: Path, *, python: str, target: str
) -> Compiled:
    """kernel.neff for `source`. Raises `NoEvidence` when the real compiler left none, `ToolError`."""
    artifacts = folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    env = child_environment(
        NKI_ARTIFACTS_DIR=str(artifacts), NEURON_PLATFORM_TARGET_OVERRIDE=target, NEURON_LOGICAL_NC_CONFIG="1"
    )
    with Conversation(python, "compile_nki", env=env, name="nki") as compiler:
        answer = compiler.ask(
            COMPILE_S,
            do="compile",
            module=source.module,
            file=source.file,
            function=source.function,
            lnc=1,
            inputs=[msgspec.to_builtins(array) for array in arrays],
            plain=list(source.plain),
            folder=str(folder),
        )
    neffs = [str(each) for each in answer.get("neffs", ())]
    if len(neffs) != 1:
        problem = "left no NEFF" if not neffs else f"left {len(neffs)} NEFFs, one was expected"
        raise NoEvidence(
            f"nki compiled nothing for the device: it {problem} in NKI_ARTIFACTS_DIR",
            cause=str(answer.get("problem") or "the kernel may have run on the CPU simulator"),
            try_="unset NKI_SIMULATOR; see the compiler's log",
        )
    return Compiled(
        neff=neffs[0],
        arguments=tuple(map(str, answer.get("arguments", ()))),
        seconds=float(answer.get("seconds", 0.0)),
    )


EXPLORER = "neuron-explorer"
LIMIT_S = 120.0

FIELDS = (
    "total_time",
    "neuroncore_cycle_count",
    "model_flops",
    "hardware_flops",
    "transpose_flops",
    "hbm_read_bytes",
    "hbm_write_bytes",
    "sbuf_read_bytes",
    "sbuf_write_bytes",
    "psum_read_bytes",
    "psum_write_bytes",
    "spill_save_bytes",
    "spill_reload_bytes",
    "dma_transfer_count",
    "dma_transfer_total_bytes",
    "tensor_engine_active_time_percent",
    "vector_engine_active_time_percent",
    "scalar_engine_active_time_percent",
    "gpsimd_engine_active_time_percent",
    "mfu_estimated_percent",
    "mbu_estimated_percent",
)
"""Taken where they are numbers; the key in `Observation.counters` is the same with profile_ before."""


def profile(tools: Toolbox, neff: Path, *, env: Mapping[str, str], folder: Path) -> dict[str, float]:
    """Counters of one profiled execution of `neff`. Raises `ToolError`.

    The program is executed again, under the profiler: times from here are never the result.
    """
    explorer, trace = tools.need(EXPLORER), folder / "profile.ntff"
    capture = ["capture", "-n", str(neff), "-s", str(trace), "--profile-nth-exec=2"]
    run([explorer, *capture], LIMIT_S, env=env, folder=folder)
    # --profile-nth-exec puts the number of the execution into the file's name.
    written = sorted(folder.glob("profile*.ntff")) or [trace]
    view = ["view", "-n", str(neff), "-s", str(written[-1]), "--output-format", "summary-json"]
    return read_summary(run([explorer, *view], LIMIT_S, env=env, folder=folder).stdout)


def read_summary(text: str) -> dict[str, float]:
    """Known fields that are numbers. Raises `ToolError` (unreadable) for no JSON object at all."""
    fields: dict[str, float] = {}
    summary = _innermost(json_of(EXPLORER, text, dict))
    for field in FIELDS:
        value = number(summary.get(field))
        if value is not None:
            fields[f"profile_{field}"] = value
    return fields


ENGINES = ("tensor", "vector", "scalar", "gpsimd")


def engines(counters: Mapping[str, float]) -> dict[str, float]:
    """Engine → seconds it was active in the profiled execution, of the counters of `profile`.

    The fields are called percentages; the reference's own example has 0.99 for all of the time. What is above
    one is taken for per cent.
    """
    total = counters.get("profile_total_time", 0.0)
    shares = {}
    for engine in ENGINES:
        active = counters.get(f"profile_{engine}_engine_active_time_percent")
        if active is not None and total > 0.0:
            shares[engine] = total * (active / 100.0 if active > 1.0 else active)
    return shares


def _innermost(document: Any, depth: int = 4) -> Mapping[str, Any]:
    """The object that has fields of a summary: the document, or one inside it, by core or in a list."""
    if isinstance(document, dict):
        if any(field in document for field in FIELDS):
            return document
        inside = list(document.values())
    elif isinstance(document, list):
        inside = document
    else:
        return {}
    if depth:
        for inner in inside:
            if found := _innermost(inner, depth - 1):
                return found
    return {}
