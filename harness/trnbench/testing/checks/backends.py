"""Backends: detect() answers, soon and without raising; the environment says nothing of the host."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from trnbench.backend import Detection
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.registry.loader import described
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject

SOON_S = 1.0
_KEY = re.compile(r"[a-z][a-z0-9_]*")


def backends(subject: Subject) -> Iterator[Finding | str]:
    """Each backend on this machine, whatever it is."""
    for backend in subject.of_kind("backend"):
        about = f"backend {backend.name}"
        yield about
        started = time.perf_counter()
        try:
            with aside():
                seen = backend.detect()
        except BaseException as error:
            if from_outside(error):
                raise
            yield Finding(
                about, f"detect() raises {described(error)}", "return Detection(available=False, why=…)"
            )
            continue
        took = time.perf_counter() - started
        if took > SOON_S:
            yield Finding(
                about, f"detect() took {took:.1f} s", "look for files and commands, import nothing big"
            )
        if not isinstance(seen, Detection):
            yield Finding(about, f"detect() returns {type(seen).__name__}", "return a trnbench.Detection")
        elif not seen.available and not (seen.why and seen.try_):
            yield Finding(about, "is not available and does not say why", "fill in Detection.why and try_")
        for key, value in backend.environment().items():
            if not _KEY.fullmatch(key):
                yield Finding(about, f"environment has {key!r}", "use lower_snake names")
            if not isinstance(value, str | int | float | bool | None):
                yield Finding(
                    about, f"environment {key} is {type(value).__name__}", "keep it flat: no lists, no tables"
                )
