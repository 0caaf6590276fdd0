"""What a result depends on, and nothing that says whose machine it was."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from trnbench.installed import versions
from trnbench.run.commit import describe_commit
from trnbench.run.identity import is_kept, scrub

_PACKAGES = ("trnbench", "msgspec", "numpy", "ml_dtypes", "pluggy", "click", "jinja2")
_IDENTITY = re.compile(
    r"(^|_)(host_?name|hosts?|node_?name|fqdn|domain|users?|username|login|home|email|ip|ipv4|ipv6|addr"
    r"|address(es)?|mac|serial|uuid|instance_id|account(_id)?|zone|region|ami|token|key|secret)$"
)


def describe(extra: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The machine, the software and the commit of the working folder, flat and lower_snake; `extra` is what
    the backend adds.

    No host name, user name, address or path of the user's: those that `extra` brings are dropped
    (by their key) or replaced (inside values).
    """
    described: dict[str, Any] = {
        "python_version": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpu_count": os.cpu_count() or 0,
        "memory_bytes": _memory_bytes(),
        "byte_order": sys.byteorder,
        **describe_commit(),
    }
    if is_kept():
        described["host_name"] = platform.node()
    described.update({f"package_{name.replace('-', '_')}": version for name, version in _versions().items()})
    for key, value in extra.items():
        name = re.sub(r"\W+", "_", str(key)).strip("_").lower()
        if name and (is_kept() or not _IDENTITY.search(name)):
            described[name] = value if isinstance(value, (bool, int, float)) else scrub(str(value))
    return {key: scrub(value) if isinstance(value, str) else value for key, value in described.items()}


@cache
def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "Processor"):
                return value.strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


@cache
def _versions() -> dict[str, str]:
    return versions(_PACKAGES)
