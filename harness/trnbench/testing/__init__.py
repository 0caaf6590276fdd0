"""The conformance kit: does a plugin keep the contract? For `trnbench plugin check` and for tests.

In a plugin's own tests: `pytest_plugins = ["trnbench.testing.fixtures"]` in conftest.py, then
`def test_contract(conformance): conformance("my-plugin")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.testing.conformance import check_names, check_plugin
from trnbench.testing.subject import Finding, Report, Subject

if TYPE_CHECKING:
    CHECKS: tuple[str, ...]

__all__ = ["CHECKS", "Finding", "Report", "Subject", "check_plugin"]


def __getattr__(name: str) -> tuple[str, ...]:
    # Names of checks are known when the installed plugins are.
    if name == "CHECKS":
        return check_names()
    raise AttributeError(f"module 'trnbench.testing' has no attribute {name!r}")
