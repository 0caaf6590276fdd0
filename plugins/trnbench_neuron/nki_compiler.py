"""The real `nki`, in a process of its own: from a kernel's source to a NEFF.

Formats: nrtpy tutorial "validate and benchmark" and troubleshooting (SDK 2.32, neuron-runtime/nrtpy).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from trnbench_emulator.nki.operands import Array
from trnbench_emulator.nki.problem import Source
from trnbench_neuron.conversation import Conversation
from trnbench_neuron.failure import NoEvidence
from trnbench_neuron.settings import child_environment

COMPILE_S = 1200.0


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """The path of the NEFF, names of its arguments, the version of nki, seconds it took."""

    neff: str
    arguments: tuple[str, ...]
    nki: str
    seconds: float


def target_of(core: str) -> str:
    """NEURON_PLATFORM_TARGET_OVERRIDE: "neuroncore-v3" is gen3."""
    return f"gen{''.join(each for each in core.rpartition('-')[2] if each.isdigit())}"


def compile_kernel(
    source: Source, arrays: Sequence[Array], folder: Path, *, python: str, target: str
) -> Compiled:
    """kernel.neff for `source`. Raises `NoEvidence` when the real compiler left none, `ToolError`."""
    artifacts = folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    env = child_environment(
        NKI_ARTIFACTS_DIR=str(artifacts),
        NEURON_PLATFORM_TARGET_OVERRIDE=target,
        NEURON_LOGICAL_NC_CONFIG="1",
    )
    with Conversation(python, "compile_nki", env=env, name="nki") as compiler:
        answer = compiler.ask(
            COMPILE_S,
            do="compile",
            module=source.module,
            file=source.file,
            function=source.function,
            lnc=1,
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
