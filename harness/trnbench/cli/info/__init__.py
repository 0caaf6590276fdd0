"""`trnbench info`: one kernel or one instance, in full."""

from __future__ import annotations

from trnbench.cli.info.command import info

__all__ = ["info"]
