"""The order in which workers take modules of tests."""

from __future__ import annotations

LONGEST = (
    "run/test_ray.py",
    "run/test_ranks.py",
    "neuron/test_neuron_backend.py",
    "emulator/commands/test_nki_ends.py",
    "report/test_report_browser.py",
    "measure/test_pytest_plugin.py",
    "plugins/testing/test_conformance.py",
    "faults/test_hostile_plugins.py",
    "cli/test_every_table_fits.py",
    "measure/test_measured_run.py",
    "report/test_axe.py",
    "test_readme.py",
)
"""Modules that take longest, of tests/: none of them is left to one worker at the end."""
