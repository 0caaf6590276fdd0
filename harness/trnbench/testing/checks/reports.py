"""Report sections and formats: safe HTML or bytes, for no run at all and for a real one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from trnbench.errors import NothingSelected, UsageError
from trnbench.lazy import resolve
from trnbench.registry.loader import described
from trnbench.results.run import Run
from trnbench.run.api import usual_backend
from trnbench.run.execute import execute
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject

_REQUEST = re.compile(
    r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//|@import|url\(\s*["']?https?:""", re.I
)
_SCRIPT = re.compile(r"<script|\son\w+\s*=|javascript:", re.I)


def reports(subject: Subject) -> Iterator[Finding | str]:
    """Each section and format is asked for nothing, for a run, and once more for the same run."""
    own = [*subject.of_kind("section"), *subject.of_kind("format")]
    if not own:
        return
    run = _small_run(subject)
    for section in subject.of_kind("section"):
        yield f"section {section.name}"
        yield from _asked(f"section {section.name}", resolve(section.render), run, html=True)
    for each in subject.of_kind("format"):
        yield f"format {each.name}"
        write = resolve(each.write)
        if each.page:  # a page is made of sections, here of all there are
            write = partial(write, sections=subject.registry.sections)
        yield from _asked(f"format {each.name}", write, run, html=False)


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
        except Exception as error:
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
