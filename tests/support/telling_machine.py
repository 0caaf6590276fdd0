"""A measured stack that tells everything it knows about whose machine it is, wherever it can."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import measured_machine as machine
import msgspec
import tiny_machine as tiny

import trnbench
from trnbench.registry import Registry

platform.node = lambda: "MARKERhost-7.MARKERdomain.example"  # here and in every process of a case
TOLD = ("HOME", "USER", "HOSTNAME", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "DATABASE_PASSWORD")


def everything() -> str:
    """Home folder and a path below it, user, host and secrets, in one line."""
    said = " ".join(f"{name}={os.environ[name]}" for name in TOLD)
    return f"{said} {os.environ['HOME']}/MARKERpath/MARKERdeeper/kernel.py:7 on {platform.node()}"


class Backend(machine.Backend):
    """Cases that end tell it in notes and detail, cases that fail in their error."""

    def environment(self) -> dict[str, Any]:
        return {"driver_path": f"{os.environ['HOME']}/MARKERpath/MARKERdeeper/lib.so", "build": everything()}

    def observe(self, case: trnbench.Case, system: trnbench.System) -> trnbench.Observation:
        if str(case.key.point["mode"]).startswith("wrong"):
            raise RuntimeError(everything())
        seen = super().observe(case, system)
        return msgspec.structs.replace(
            seen,
            notes=(*seen.notes, everything()),
            detail={**seen.detail, "where": {everything(): [everything()]}},
            implementation=f"nki: {os.environ['HOME']}/MARKERpath/MARKERdeeper/kernel.py",
        )


def main() -> None:
    """The installed program with this backend, the reports and nothing else, on a host called MARKERhost."""
    import trnbench_reports as reports

    measured = tiny.Machine((tiny.kernel(modes=("well0", "wrong1")),), Backend(Path.cwd()))
    tiny.program(Registry.of(measured=measured, reports=reports))


if __name__ == "__main__":
    main()
