"""The conformance kit: does a plugin keep the contract? For `trnbench plugin check` and for tests.

In a plugin's own tests: `pytest_plugins = ["trnbench.testing.fixtures"]` in conftest.py, then
`def test_contract(conformance): conformance("my-plugin")`.
"""

from __future__ import annotations

from trnbench.testing.conformance import CHECKS, check_plugin
from trnbench.testing.finding import Finding, Report
from trnbench.testing.subject import Subject

__all__ = ["CHECKS", "Finding", "Report", "Subject", "check_plugin"]
