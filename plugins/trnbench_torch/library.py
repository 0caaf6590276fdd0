"""Whether torch is there, which one, and what to install where it is not."""

from __future__ import annotations

from importlib import util

from trnbench.backend import Detection

INSTALL = "pip install 'trnbench[torch]'"
SIZE = "0.8 GB for processors alone, several GB with CUDA"


def missing() -> Detection | None:
    """None where torch is installed; importing it would take a second, so it is only looked for."""
    if util.find_spec("torch") is not None:
        return None
    return Detection(available=False, why="torch is not installed", try_=f"{INSTALL}  ({SIZE})")


def version(distribution: str = "torch") -> str:
    """As pip knows it, its build behind a plus: "2.13.0+cpu"; "none" where it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "none"
