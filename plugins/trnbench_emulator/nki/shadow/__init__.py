"""What a device would punish: who wrote each byte that a kernel reads, and what that leads to."""

from __future__ import annotations

from trnbench_emulator.nki.shadow.finding import RULES, Finding, Rule
from trnbench_emulator.nki.shadow.loop import Independent
from trnbench_emulator.nki.shadow.shadow import Shadow

__all__ = ["RULES", "Finding", "Independent", "Rule", "Shadow"]
