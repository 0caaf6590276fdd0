"""Whether backends, sections, formats and importers of a plugin answer when they are asked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from trnbench.backend import Detection
from trnbench.errors import NothingSelected, PluginError, TrnbenchError, UsageError
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.reference import resolve
from trnbench.registry.loader import described
from trnbench.results.run import Run
from trnbench.run.api import usual_backend
from trnbench.run.execute import execute
from trnbench.run.importing import read_runs
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench.testing.subject import Finding, Subject

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


_REQUEST = re.compile(
    r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//|@import|url\(\s*["']?https?:""", re.I
)
_SCRIPT = re.compile(r"<script|\son\w+\s*=|javascript:", re.I)


def reports(subject: Subject) -> Iterator[Finding | str]:
    """Each section and format is asked for nothing, for a run, and once more for the same run."""
    sections, formats = subject.of_kind("section"), subject.of_kind("format")
    if not sections and not formats:
        return
    run = _small_run(subject)
    for section in sections:
        yield f"section {section.name}"
        yield from _asked(f"section {section.name}", resolve(section.render), run, html=True)
    for format_ in formats:
        yield f"format {format_.name}"
        write = resolve(format_.write)
        if format_.page:  # a page is made of sections, here of all there are
            write = partial(write, sections=subject.registry.sections)
        yield from _asked(f"format {format_.name}", write, run, html=False)


def _small_run(subject: Subject) -> Run | None:
    backend = usual_backend(subject.registry)
    names = [system.name for system in subject.systems] or subject.registry.instance_names()
    if backend is None or not names or "gemm" not in subject.registry.kernels:
        return None
    selection = Selection(kernels=("gemm",), instances=tuple(names[:1]))
    return execute(plan(subject.registry, selection), backend, subject.registry)


def _asked(about: str, render: Callable[..., Any], run: Run | None, *, html: bool) -> Iterator[Finding]:
    for words, runs in (("no run", ()), ("a run", (run,))):
        if runs == (None,):
            continue
        try:
            first, second = render(runs), render(runs)
        except (UsageError, NothingSelected):  # it needs something that is not here, and says so in words
            continue
        except (Exception, SystemExit) as error:
            yield Finding(
                about, f"raises for {words}: {described(error)}", 'return "" where there is nothing to show'
            )
            continue
        if first != second:
            yield Finding(
                about, f"is different the second time for {words}", "use nothing but the runs: no clock"
            )
        if not html:
            if not isinstance(first, bytes):
                yield Finding(about, f"returns {type(first).__name__}", "return bytes")
            continue
        if not isinstance(first, str):
            yield Finding(
                about, f"returns {type(first).__name__}", "return markupsafe.Markup, or an empty string"
            )
        elif first and not hasattr(first, "__html__"):
            yield Finding(
                about, "returns a plain string", "return markupsafe.Markup: a template that escapes"
            )
        elif _REQUEST.search(first) or _SCRIPT.search(first):
            yield Finding(
                about, "loads or runs something", "the page fetches nothing and has one script, its own"
            )


_NO_RESULTS = {
    "an empty file": b"",
    "bytes that are no text": b"\x00\xff\xfe\x80" * 64,
    "a line of prose": b"this is no result file\n",
    "an empty JSON object": b"{}\n",
}


def importers(subject: Subject) -> Iterator[Finding | str]:
    """What is no result file of that kind may be refused with a `TrnbenchError`, and with nothing else."""
    for importer in subject.of_kind("importer"):
        about = f"importer {importer.name}"
        yield about
        for words, data in _NO_RESULTS.items():
            try:
                read_runs(importer, data, words)
            except PluginError as error:
                yield Finding(
                    about,
                    error.what,
                    "raise trnbench.TrnbenchError for what cannot be read; return a Run for what can",
                )
                break
            except TrnbenchError:
                continue
            else:
                yield Finding(about, f"makes a run of {words}", "raise trnbench.TrnbenchError for it")
