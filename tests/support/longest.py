"""The order in which workers take modules of tests."""

from __future__ import annotations

LONGEST = (
    "benchmarks/test_full_run.py",
    "fabric/test_auto.py",
    "measure/test_pytest_plugin.py",
    "neuron/test_neuron_backend.py",
    "measure/test_rounds.py",
    "neuron/test_neuron_every_kernel.py",
    "run/test_ray.py",
    "run/test_ranks.py",
    "test_readme.py",
    "fabric/test_one_answer.py",
    "benchmarks/test_report.py",
    "plugins/conformance/test_conformance.py",
    "fidelity/test_validate_command.py",
    "faults/test_fuzz.py",
    "faults/test_kills.py",
    "fabric/test_fabric_calibration.py",
    "report/test_report_browser.py",
    "compare/test_power.py",
    "workloads/test_workloads_page.py",
    "plugins/test_new_project.py",
)
"""Modules that take longest, of tests/, so that none of them is left to one worker at the end. The first
makes what others wait for; those of them that do come late."""
