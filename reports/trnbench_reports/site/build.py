"""The files of a site: run pages, index by question, history by commit, the page of a case, embeds, feed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import trnbench
from trnbench import Run, Site, UsageError, grouped
from trnbench_reports.formats import parts
from trnbench_reports.page import LISTS, STYLES, joined_script
from trnbench_reports.payload import script
from trnbench_reports.site import run_page
from trnbench_reports.template import HERE, SITE_POLICY, asset, fill

HISTORY = "data/history.js"
CASE_SCRIPT = ("numbers.js", "columns.js", "data.js", "elements.js", "table.js", "case.js")
VIEWS = (
    ("headline", "How close does it come to its documents?"),
    ("scoreboard", "Which kernel is slowest against its bound?"),
    ("losses", "What takes the time?"),
    ("links", "What limits collectives?"),
    ("generations", "Which generation is best per device?"),
    ("fidelity", "How far off may the model be?"),
    ("documents", "Which documents contradict each other?"),
    ("cases", "Which numbers are measured?"),
    ("method", "How is it repeated?"),
)
"""Sections of a run's page, by the question that each answers."""
EMBEDS = ("headline", "scoreboard", "losses", "links", "generations")


def write(asked: Site) -> Iterator[tuple[str, bytes | None]]:
    """Every file of the site, by its name. One that is there and has not changed comes without its bytes."""
    made_by = _made_by(asked)
    known = asked.memory.get("runs") if asked.memory.get("made_by") == made_by else None
    entries: dict[str, dict[str, Any]] = {}
    names: dict[str, None] = {}
    written: set[str] = set()
    picture = None
    for id, mark in asked.runs.items():
        entry = known.get(id) if isinstance(known, dict) else None
        files: Mapping[str, bytes | None]
        if isinstance(entry, dict) and entry.get("mark") == mark and entry["before"] not in written:
            files = dict.fromkeys(entry["files"])
            picture = None
        else:
            entry, files = run_page.write(id, asked, entries)
            entry["mark"] = mark
            written.add(id)
            picture = files.get(entry["picture"])
        entries[id] = entry
        yield from ((name, data) for name, data in files.items() if name not in names)
        names |= dict.fromkeys(files)
    if not written and list(entries) == list(known or ()):
        yield from ((name, None) for name in (*asked.memory["files"], "site.json") if name not in names)
        return
    for name, data in _shared(asked, entries, asked.load(next(reversed(entries))), picture):
        names[name] = None
        yield name, data
    memory = {"made_by": made_by, "runs": entries, "files": sorted(names)}
    yield "site.json", json.dumps(memory, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"


def _made_by(asked: Site) -> str:
    """The version, the sections and all that pages are made with: another one makes every page anew."""
    whole = hashlib.sha256(
        "".join((trnbench.__version__, *(each.render for each in asked.sections))).encode()
    )
    for path in sorted(HERE.rglob("*")):
        if path.suffix in (".py", ".j2", ".js", ".css", ".toml"):
            whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def _shared(
    asked: Site, entries: Mapping[str, Mapping[str, Any]], newest: Run, headline: bytes | None
) -> Iterator[tuple[str, bytes]]:
    """What all runs have together."""
    histories = asked.histories()
    changes = run_page.moved(histories)
    yield "assets/page.css", "".join(map(asset, (*STYLES, "history.css", "site.css"))).encode()
    yield "assets/page.js", joined_script().encode()
    yield "assets/case.js", joined_script(CASE_SCRIPT).encode()
    yield ("assets/table.js", joined_script(LISTS).encode())
    yield HISTORY, script(HISTORY, run_page.data(histories, entries))
    yield (
        "index.html",
        _page(
            "site_index", "Results", groups=_groups(entries), changes=changes, views=VIEWS, history=run_page
        ),
    )
    yield (
        "history.html",
        _page(
            "site_history",
            "What changed",
            entries=entries,
            changes=changes,
            history=run_page,
            address=run_page.address,
        ),
    )
    yield "case.html", _page("site_case", "A case over the runs", scripts=("case.js",), source=HISTORY)
    yield "feed.xml", run_page.feed(entries, changes)
    for part in EMBEDS:
        try:
            drawn = headline if part == "headline" else None
            drawing = drawn or getattr(parts, f"{part}_svg")([newest])
        except UsageError:  # the newest run has nothing of it
            continue
        yield f"embed/{part}.svg", drawing
        page = entries[newest.id]["page"]
        yield f"embed/{part}.html", _page("site_embed", part, root="../", part=part, page=page)


def _groups(
    entries: Mapping[str, Mapping[str, Any]],
) -> list[tuple[str, list[tuple[str, Mapping[str, Any]]]]]:
    """Runs by the question that they answer, the newest of each first."""
    newest_first = reversed(list(entries.items()))
    return list(grouped(newest_first, lambda pair: str(pair[1]["question"])).items())


def _page(
    template: str, title: str, *, root: str = "", scripts: Sequence[str] = ("table.js",), **more: Any
) -> bytes:
    body = fill(template, root=root, **more)
    text = fill(
        "site", title=title, body=body, root=root, scripts=scripts, policy=SITE_POLICY, bare=root != ""
    )
    return text.encode("utf-8", "replace")
