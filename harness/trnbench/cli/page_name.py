"""What the page of a run is called: by what was asked for, so that a selection has its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.results.run import Run
    from trnbench.run.selection import Selection

STEM = "trnbench-report"
REPORT = f"{STEM}.html"
"""Of a run of everything."""

LONGEST = 60
"""Characters of the words in a name."""

_EMULATED = "emulated"


def page_name(backend: str, selection: Selection) -> Path:
    """`trnbench-report-gemm-trn2-16.48xlarge.html`: the backend where it measures, kernels, systems.

    A digest stands for what else was asked for, and for what would make it too long: the same selection
    always has the same name.
    """
    from msgspec.structs import replace

    measures = (backend,) if backend not in ("", _EMULATED) else ()
    words = list(dict.fromkeys((*measures, *selection.kernels, *selection.instances)))
    others = replace(selection, kernels=(), instances=()).asked()
    if not words and not others:
        return Path(REPORT)
    name = "-".join(filter(_plain, words))[:LONGEST]
    if others or name != "-".join(words):
        name = "-".join(filter(None, (name, _digest([*words, others]))))
    return Path(f"{STEM}-{name}.html")


def page_name_of(runs: Sequence[Run], registry: Registry) -> Path:
    """Of stored runs: one has the name that it was written under, others have one by their ids."""
    import msgspec

    from trnbench.errors import NothingSelected
    from trnbench.run.selection import Selection

    ids = [run.id for run in runs]
    if len(runs) == 1:
        try:
            return page_name(runs[0].backend, Selection.stored(runs[0].settings["selection"], registry))
        except (KeyError, msgspec.ValidationError, NothingSelected):  # imported, or of another version
            pass
    name = "-".join(ids)
    if len(name) > LONGEST or not _plain(name):
        name = f"{len(ids)}-runs-{_digest(ids)}"
    return Path(f"{STEM}-{name}.html")


def _plain(word: str) -> bool:
    """Whether it can stand in the name of a file as it is."""
    return re.fullmatch(r"[A-Za-z0-9._-]+", word) is not None


def _digest(words: Sequence[str]) -> str:
    from hashlib import sha256

    return sha256("\n".join(words).encode()).hexdigest()[:6]
