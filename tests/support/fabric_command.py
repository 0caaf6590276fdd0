"""`trnbench fabric` called in this process, and what it printed."""

from __future__ import annotations

import json
from typing import Any

from click.testing import Result
from command import typed

TRN2, TRN1 = "trn2-16.48xlarge", "trn1.32xlarge"


def invoke(*args: str) -> Result:
    return typed("fabric", *args)


def out(*args: str) -> str:
    """As the table of nccl-tests where it is a collective's, unless a format is named."""
    explained = ("--explain",) if args[0] == "run" and "--format" not in args else ()
    found = invoke(*args, *explained)
    assert found.exit_code == 0, found.stderr
    return found.stdout


def rows(*args: str) -> list[dict[str, Any]]:
    made = json.loads(out(*args, "--format", "json"))
    return made["rows"] if isinstance(made, dict) else made


def parsed(text: str) -> tuple[list[list[str]], float]:
    """As scripts around nccl-tests read it: lines without # are data, the average from its own line."""
    data = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    (average,) = [line.split(":")[1] for line in text.splitlines() if line.startswith("# Avg bus bandwidth")]
    return data, float(average)
