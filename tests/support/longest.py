"""The order in which workers take modules of tests."""

from __future__ import annotations

LONGEST = ("benchmarks/test_full_run.py",)
"""Modules that take longest, of tests/. The first makes what others wait for."""
