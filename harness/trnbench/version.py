"""The version of trnbench and that of its plugin contract, known without reading package metadata: that costs
three starts of Python."""

from __future__ import annotations

import sys

VERSION = "0.1.0"
"""The only place where it stands: what builds the package reads this line."""

CONTRACT_VERSION = 4
# History: 1 first version; 2 kernels name the statements they test, plugins add variants to the kernels of
# others, and what a plugin imports is `trnbench` and `trnbench.topology` alone; 3 plugins bring models and
# kernels of their operators; 4 plugins bring evidence, executors, traces, checks, templates of kernels, and
# names under `trnbench.`. What was written for 1 to 3 loads as it is, what it does not say taken by default.


def line() -> str:
    """What `trnbench --version` prints."""
    python = sys.version.split()[0]
    return f"trnbench {VERSION} (Python {python}, plugin contract {CONTRACT_VERSION})"
