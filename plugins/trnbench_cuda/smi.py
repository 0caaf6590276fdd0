"""nvidia-smi, and nothing else of NVIDIA's tools: what GPUs there are, and what they say while they work.

Columns and cells as `nvidia-smi --help-query-gpu` and the NVML reference (R550, group ClocksEventReasons)
document them: comma-separated, a cell that does not apply in brackets ("[N/A]", "[Not Supported]").
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING

from trnbench import Record, TrnbenchError, Witness, show

if TYPE_CHECKING:
    import subprocess

NAME = "nvidia-smi"
LIMIT_S = 20.0
FIRST_S = 5.0
FORMAT = "--format=csv,noheader,nounits"

LISTED = ("index", "uuid", "name", "memory.total", "mig.mode.current", "driver_version")
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""The second is what drivers before R535 call it."""

SAMPLED = (
    "index",
    "clocks.sm",
    "temperature.gpu",
    "power.draw",
    "enforced.power.limit",
    "power.default_limit",
)

IDLE, SETTING, POWER_CAP = 0x1, 0x2, 0x4
SLOWED = {
    0x8: "the hardware slows it down",
    0x20: "software slows it down: too hot",
    0x40: "the hardware slows it down: too hot",
    0x80: "the hardware slows it down: the power supply brakes",
}
"""Bits of the NVML reference that make a number another machine's."""


class Gpu(Record, kw_only=True):
    index: int
    uuid: str
    name: str
    memory_bytes: float = 0.0
    sliced: bool = False  # MIG is on: what programs see is a part of it
    driver: str = ""


class Sample(Record, kw_only=True):
    """One line of the sampler; None where the cell does not apply."""

    index: int
    clock_hz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    limit_w: float | None = None
    usual_limit_w: float | None = None
    reasons: int | None = None


def present() -> bool:
    from shutil import which

    return which(NAME) is not None


def gpus() -> tuple[Gpu, ...]:
    """Every GPU that the driver knows. Raises `TrnbenchError` for whatever else than a list comes back."""
    lines = _run([f"--query-gpu={','.join(LISTED)}", FORMAT])
    listed = []
    for line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(LISTED) or not cells[0].isdigit():
            raise _unreadable(line)
        memory = _number(cells[3])
        listed.append(
            Gpu(
                index=int(cells[0]),
                uuid=cells[1],
                name=cells[2],
                memory_bytes=(memory or 0.0) * 2**20,  # printed in MiB
                sliced=cells[4] == "Enabled",
                driver=cells[5],
            )
        )
    return tuple(listed)


def read_samples(text: str) -> tuple[Sample, ...]:
    """Lines of the sampler. The last one may be cut off; lines that are none of it are left out."""
    samples = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(SAMPLED) + 1 or not cells[0].isdigit():
            continue
        clock, temperature, power, limit, usual = (_number(cell) for cell in cells[1:6])
        samples.append(
            Sample(
                index=int(cells[0]),
                clock_hz=clock * 1e6 if clock is not None else None,
                temperature_c=temperature,
                power_w=power,
                limit_w=limit,
                usual_limit_w=usual,
                reasons=_mask(cells[6]),
            )
        )
    return tuple(samples)


class Sampler:
    """nvidia-smi in the background, a line for each GPU every tenth of a second."""

    def __init__(self, indices: Sequence[int]) -> None:
        import subprocess
        from tempfile import TemporaryFile

        self._out: IO[str] = TemporaryFile("w+")  # noqa: SIM115 - closed by `stop`
        self._process: subprocess.Popen[str] | None = None
        chosen = ",".join(map(str, indices))
        column = reasons_column()
        if not column:
            return
        command = [NAME, f"--id={chosen}", f"--query-gpu={','.join((*SAMPLED, column))}", FORMAT]
        self._process = subprocess.Popen(
            [*command, "-lms=100"], stdout=self._out, stderr=subprocess.DEVNULL, text=True
        )
        self._begin()

    def _begin(self) -> None:
        """Waits for its first line: the tool takes longer to start than some cases take to be measured."""
        until = time.monotonic() + FIRST_S
        while time.monotonic() < until and self._process is not None and self._process.poll() is None:
            if os.fstat(self._out.fileno()).st_size:
                return
            time.sleep(0.01)

    def stop(self) -> tuple[Sample, ...]:
        """Everything it said. May be called again."""
        from subprocess import TimeoutExpired

        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(5.0)
            except TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._out.closed:
            return ()
        self._out.seek(0)
        samples = read_samples(self._out.read())
        self._out.close()
        return samples


def reasons_column() -> str:
    """What this driver calls the reasons for a lowered clock; "" where it answers to neither name."""
    for column in REASONS:
        try:
            _run([f"--query-gpu={column}", FORMAT])
        except TrnbenchError:
            continue
        return column
    return ""


def _run(arguments: list[str]) -> list[str]:
    import subprocess

    try:
        done = subprocess.run(
            [NAME, *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False, errors="replace"
        )
    except FileNotFoundError:
        raise TrnbenchError(
            f"{NAME} is not on the PATH", cause="NVIDIA's driver brings it", try_="install the driver"
        ) from None
    except subprocess.TimeoutExpired:
        raise TrnbenchError(
            f"{NAME} gave no answer within {LIMIT_S:g} s",
            cause="a GPU that fell off the bus, or a driver that hangs",
            try_="dmesg | grep -i -e xid -e nvrm",
        ) from None
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise TrnbenchError(
            f"{NAME} ended with exit code {done.returncode}",
            cause=lines[0] if lines else "it says nothing",
            try_=NAME,
        )
    return [line for line in done.stdout.splitlines() if line.strip()]


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _mask(cell: str) -> int | None:
    try:
        return int(cell, 16)
    except ValueError:
        return None


def _unreadable(line: str) -> TrnbenchError:
    return TrnbenchError(
        f"{NAME} answers what was not asked: {line[:80]!r}",
        cause="another version, or a message between the lines",
        try_=f"{NAME} --query-gpu={','.join(LISTED)} {FORMAT}",
    )


CAPPED_SHARE = 0.05
"""Of the samples under load from which on a cap of the power is worth a word."""


def witness(samples: Iterable[Sample]) -> Witness:
    """Slowed down by heat or by its supply: suspect. Held down by power or by a setting: said."""
    sampled = tuple(samples)
    busy = [sample for sample in sampled if sample.reasons is None or not sample.reasons & IDLE]
    if not busy:
        return Witness(
            notes=("clocks and power were not seen: nvidia-smi gave no sample while the GPU was at work",)
        )
    counters = _counters(busy)
    reasons = [sample.reasons for sample in busy if sample.reasons is not None]
    doubts = tuple(
        f"{_share(reasons, bit)} while it was measured: {words} (nvidia-smi, clocks event reasons)"
        for bit, words in SLOWED.items()
        if any(mask & bit for mask in reasons)
    )
    notes = []
    if reasons and sum(bool(mask & POWER_CAP) for mask in reasons) > CAPPED_SHARE * len(reasons):
        clock = counters.get("sm_clock_hz")
        at = f", at a clock of {show(clock, 'Hz')}" if clock else ""
        notes.append(f"held down by its power limit in {_share(reasons, POWER_CAP)}{at}")
    if any(mask & SETTING for mask in reasons):
        notes.append("its clock is limited by a setting (nvidia-smi -q -d CLOCK)")
    limits = {
        (sample.limit_w, sample.usual_limit_w) for sample in busy if sample.limit_w and sample.usual_limit_w
    }
    notes += [
        f"its power limit is {limit:g} W, {usual:g} W as it was delivered"
        for limit, usual in sorted(limits)
        if limit is not None and usual is not None and limit < usual
    ]
    return Witness(
        counters=counters,
        notes=tuple(notes),
        doubts=doubts,
        detail={"gpu_samples": len(sampled), "gpu_samples_under_load": len(busy)},
    )


def _counters(busy: list[Sample]) -> dict[str, float]:
    from statistics import median  # brings fractions and random, for a GPU that measured

    columns = {
        "sm_clock_hz": [sample.clock_hz for sample in busy],
        "temperature_c": [sample.temperature_c for sample in busy],
        "power_w": [sample.power_w for sample in busy],
        "power_limit_w": [sample.limit_w for sample in busy],
    }
    return {
        name: median(values)
        for name, cells in columns.items()
        if (values := [sample for sample in cells if sample is not None])
    }


def _share(masks: list[int], bit: int) -> str:
    count = sum(bool(mask & bit) for mask in masks)
    return f"{count} of {len(masks)} samples"
