"""One collective asked of a fabric in one call, and the systems it is asked on."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.systems import Fabric

SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1-ultraserver", "trn3-gen2-ultraserver")
MIB, GIB = 2.0**20, 2.0**30


def run(fabric: Fabric, collective: str, size: float, **more: Any) -> Answer:
    return ask(fabric.question(collective, size, **more))
