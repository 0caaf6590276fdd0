"""`trnbench site`: files, permalinks, what is written again, and its pages in a browser."""

from __future__ import annotations

import base64
import gzip
import importlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from command import refusal, typed
from comparison import comparison
from page_visit import Visit
from run_history import case_id, measurement
from run_history import run as run_of
from unpacked_columns import restored

import trnbench
from trnbench import Fidelity, Grade, Run
from trnbench.store.history import histories
from trnbench.store.store import Store
from trnbench_reports.charts.lines import sparkline
from trnbench_reports.site import run_page

ATOM = "{http://www.w3.org/2005/Atom}"


def moved(run: Run, factor: float, day: int) -> Run:
    """The same run a day later, every time and value of its first ten cases times `factor`."""
    cases = list(run.measurements)
    for at, case in enumerate(cases[:10]):
        metrics = {
            name: msgspec.structs.replace(metric, value=metric.value * factor)
            for name, metric in case.metrics.items()
        }
        time_s = case.time_s * factor if case.time_s is not None else None
        cases[at] = msgspec.structs.replace(case, metrics=metrics, time_s=time_s)
    return msgspec.structs.replace(
        run,
        id=f"2026010{day}-000000-abcd",
        created=f"2026-01-0{day}T00:00:00Z",
        finished=f"2026-01-0{day}T01:00:00Z",
        measurements=tuple(cases),
        environment={**run.environment, "git_commit": f"{day:040x}", "git_dirty": False},
        digest="",
    )


@pytest.fixture(scope="module")
def runs(small: Run) -> list[Run]:
    return [moved(small, 1.0, 1), moved(small, 1.5, 2), moved(small, 1.5, 3)]


@pytest.fixture(scope="module")
def store(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "results.db"
    with Store(path) as opened:
        opened.save(*runs)
    return path


@pytest.fixture(scope="module")
def site(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "results"
    done = typed("--store", str(store), "site", str(folder))
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{folder / 'index.html'}\n"
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_site_has_the_files_that_it_lists_and_names_no_other_place(site: Path) -> None:
    written = files(site)
    assert set(written) == {*json.loads(written["site.json"])["files"], "site.json"}
    for name, data in written.items():
        if name.endswith((".html", ".css", ".xml")):
            text = data.decode()
            links = re.findall(r"(?:href|src)=[\"']?([^\"'\s>]+)", text)
            here = [link for link in links if not link.startswith(("#", "data:"))]
            for link in here:
                target = (site / name).parent / link.partition("#")[0]
                assert target.is_file(), f"{name} leads to {link}"
            assert not re.search(r"url\((?!#)", text)


def of_page(site: Path, run: Run) -> tuple[list[str], Any]:
    """Addresses of the data of a run's page, and the run that they are put together to."""
    page = (site / f"runs/{run.id}.html").read_text()
    found = re.search(r'id="?data-json"? data-src="([^"]*)"', page)
    names = [each.removeprefix("../") for each in found[1].split()]
    apart = {}
    for name in names:
        text = (site / name).read_text()
        apart[name] = gzip.decompress(base64.b64decode(text.partition('] = "')[2].rpartition('"')[0]))
    (whole,) = restored(apart[names[0]], apart)
    return names, json.loads(whole)


def test_a_run_is_whole_though_the_site_keeps_what_differs_alone(site: Path, runs: list[Run]) -> None:
    bytes_of = {}
    for run in runs:
        names, found = of_page(site, run)
        assert found == json.loads(trnbench.dumps(trnbench.shortened(run)))
        bytes_of[run.id] = {name: (site / name).stat().st_size for name in names}
    first, second, third = (bytes_of[run.id] for run in runs)
    assert 0 < sum(size for name, size in second.items() if name not in first) < sum(first.values()) / 3
    assert len(third.keys() - second.keys()) == 1  # its head: every case is that of the run before


@pytest.mark.parts
@pytest.mark.parametrize("render", sorted(run_page.SEEN))
def test_a_section_that_is_not_drawn_again_looks_at_nothing_else(render: str, runs: list[Run]) -> None:
    points = (comparison("a", 0.1), comparison("b", -0.5))
    first = msgspec.structs.replace(runs[0], fidelity=Fidelity(by="model", version="3", points=points))
    result = next(each for each in first.measurements if each.time_s)
    fields = ("time_s", "metrics", "detail", "samples", "parts", "work")
    cases = [
        msgspec.structs.replace(
            each,
            **{name: getattr(result, name) for name in fields},
            judgement=each.judgement and msgspec.structs.replace(each.judgement, fraction=0.123, comment="?"),
        )
        for each in first.measurements
    ]
    run = msgspec.structs.replace(
        moved(first, 3.0, 4), measurements=tuple(cases), environment={}, argv=("other",), inputs={}
    )
    assert run_page.SEEN[render](run) == run_page.SEEN[render](first)
    module, _, name = render.partition(":")
    drawn = getattr(importlib.import_module(module), name)
    assert str(drawn([run])) == str(drawn([first])) != ""


def test_the_feed_has_an_entry_for_each_run_the_newest_first(site: Path, runs: list[Run]) -> None:
    feed = ElementTree.fromstring((site / "feed.xml").read_bytes())
    titles = [str(entry.findtext(f"{ATOM}title")) for entry in feed.findall(f"{ATOM}entry")]
    assert [title.rpartition(" ")[2] for title in titles] == [run.id for run in reversed(runs)]
    assert titles[0].startswith("no change: ")
    assert titles[1].startswith("8 better: ")
    assert titles[2].startswith("nothing to compare it with: ")
    assert feed.findtext(f"{ATOM}updated") == runs[2].created


def test_a_run_added_leaves_the_pages_of_others_and_gives_what_all_at_once_give(
    store: Path, runs: list[Run], site: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    for count in (2, 3):
        named = [run.id for run in runs[:count]]
        done = typed("--store", str(store), "site", str(folder), *named)
        assert done.exit_code == 0, done.output
        if count == 2:
            early = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*")}
    assert {path: path.stat().st_mtime_ns for path in early} == early
    assert files(folder) == files(site)
    again = typed("--store", str(store), "site", str(folder))
    assert again.stderr.startswith("0 of ")
    fewer = typed("--store", str(store), "site", str(folder), runs[2].id)
    assert re.search(r"[1-9]\d* removed: 1 run$", fewer.stderr.strip())
    assert [path.name for path in folder.glob("runs/*.html")] == [f"{runs[2].id}.html"]


def test_a_folder_with_other_files_is_not_written_to(store: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = typed("--store", str(store), "site", str(tmp_path))
    assert refusal(done).startswith(f"error: {tmp_path} has files and is no site of trnbench")
    assert files(tmp_path) == {"mine.txt": b"mine"}


def test_files_that_a_memory_names_outside_of_the_folder_stay(store: Path, tmp_path: Path) -> None:
    folder, mine = tmp_path / "results", tmp_path / "mine.txt"
    mine.write_text("mine")
    folder.mkdir()
    (folder / "site.json").write_text(json.dumps({"files": ["../mine.txt", "gone", 3]}))
    assert typed("--store", str(store), "site", str(folder)).exit_code == 0
    assert mine.read_text() == "mine"


def test_a_run_whose_id_is_no_name_of_a_file_goes_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with Store(path) as opened:
        opened.save(run_of(1, [measurement(1.0)], id="../../<evil>"))
    done = typed("--store", str(path), "site", str(tmp_path / "site"))
    assert done.exit_code == 0, done.output
    (page,) = (tmp_path / "site" / "runs").glob("*.html")
    assert re.fullmatch(r"[0-9a-f]{16}\.html", page.name)
    for name, data in files(tmp_path / "site").items():
        assert name == "site.json" or b"<evil>" not in data, name


@pytest.mark.parts
def test_the_workflow_that_publishes_a_site_does_what_it_says(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml = pytest.importorskip("yaml")
    (text,) = re.findall(r"```yaml\n(permissions:.*?)```", (root / "docs/report.md").read_text(), re.DOTALL)
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    given = {step["uses"].partition("@")[0]: step.get("with") for step in job["steps"] if "uses" in step}
    assert workflow["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    monkeypatch.chdir(tmp_path)
    for command in (shlex.split(step["run"]) for step in job["steps"] if "run" in step):
        if command[0] == "trnbench":
            some = ("hbm_copy", "-i", "trn1.2xlarge") if "run" in command else ()
            done = typed(*command[1:], *some)
            assert done.exit_code == 0, done.output
        elif command != ["pip", "install", "trnbench"]:
            subprocess.run(command, check=True)
    assert (tmp_path / given["actions/upload-pages-artifact"]["path"] / "index.html").is_file()
    assert (tmp_path / given["actions/cache"]["path"] / "runs.db").is_file()
    assert "actions/deploy-pages" in given


def test_an_empty_store_has_nothing_to_show(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with Store(path) as opened:
        opened.save(run_of(1, [measurement(1.0, grade=Grade.EMULATED)]))
        opened.save(msgspec.structs.replace(run_of(2, [measurement(1.0)]), measurements=()))
    done = typed("--store", str(path), "site", str(tmp_path / "site"), "day-0002")
    assert refusal(done).startswith("error: no run here has a case that a site could show")


@pytest.fixture
def visit(browser: Any, site: Path) -> Iterator[Any]:
    visits: list[Visit] = []

    def open_(page: str, fragment: str = "") -> Visit:
        visits.append(Visit(browser, site / page, fragment))
        return visits[-1]

    yield open_
    for each in visits:
        assert each.complaints == []
        assert all(url.startswith((f"{site.as_uri()}/", "data:")) for url in each.requests)
        each.close()


@pytest.mark.browser
def test_a_site_works_over_plain_http(browser: Any, site: Path, runs: list[Run]) -> None:
    """As `python -m http.server` serves it: every page, no complaint, and nothing asked of anyone else."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}/"
        for path in sorted(site.rglob("*.html")):
            visit = Visit(browser, home + str(path.relative_to(site)))
            if path.parent.name == "runs":
                visit.until("document.querySelectorAll('#scoreboard table tbody tr').length > 0")
                visit.page.click("#headline a.figure >> nth=0")
                assert "How it follows" in visit.explained()
            visit.page.wait_for_load_state("networkidle")
            assert visit.complaints == [], path.name
            assert all(url.startswith((home, "data:")) for url in visit.requests), path.name
            visit.close()
        case = Visit(browser, home + "case.html", f"#case={runs[0].measurements[0].id}")
        case.until("document.querySelectorAll('#case tbody tr').length >= 3")
        assert case.complaints == []
        case.close()
        server.shutdown()


@pytest.mark.browser
def test_a_page_of_a_run_unpacks_its_views_and_explains_a_figure(visit: Any, runs: list[Run]) -> None:
    page = visit(f"runs/{runs[1].id}.html")
    page.until("document.querySelectorAll('#scoreboard table tbody tr').length > 0")
    page.page.click("#headline a.figure >> nth=0")
    assert "How it follows" in page.explained()
    assert "run " + runs[0].id in page.page.inner_text("#since")


@pytest.mark.browser
def test_a_permalink_finds_its_case_whatever_the_order_of_its_axes(visit: Any, runs: list[Run]) -> None:
    case = next(each for each in runs[0].measurements if len(each.case.point) > 1 and each.time_s)
    axes = re.search(r"\[(.*)\]", case.id)
    turned = case.id.replace(axes[1], ",".join(reversed(axes[1].split(","))))
    page = visit("case.html", f"#case={turned}")
    page.until("document.querySelectorAll('#case tbody tr').length >= 3")
    assert case.id in page.page.inner_text("#case")
    page.page.click("#case tbody a >> nth=0")
    assert "How it follows" in page.explained()


@pytest.mark.browser
def test_changes_of_a_run_are_listed_and_found(visit: Any, runs: list[Run]) -> None:
    page = visit("history.html")
    page.page.click(".changed a >> nth=0")
    page.until("document.querySelectorAll('#case tbody tr').length > 0")
    page = visit("case.html", f"#step={runs[1].id}")
    page.until("document.querySelectorAll('#cases tbody tr').length > 0")
    assert "8 of 8 series" in page.page.inner_text("#find-case output")
    page.page.fill("#find-case input", "no such case")
    page.until("document.querySelectorAll('#cases tbody tr').length === 0")


@pytest.mark.browser
def test_the_line_of_a_case_is_the_one_that_the_history_has(visit: Any, store: Path) -> None:
    """The page's script and the package draw the same marks, line, end and words."""
    page = visit("case.html")
    page.until("document.querySelectorAll('#cases tbody tr').length > 0")
    drawn = page.page.eval_on_selector_all(
        "#cases tbody tr", "(rows) => rows.map((row) => [row.cells[0].innerText, row.cells[3].innerHTML])"
    )
    with Store(store) as opened:
        wanted = {found.case: str(sparkline(found)) for found in histories(opened)}
    assert len(drawn) > 20
    assert any('class="better"' in svg for _, svg in drawn)
    for case, svg in drawn:
        parts = [
            re.findall(r'(?:class|d|cx|cy|aria-label)="([^"]*)"', each)
            for each in (svg.replace("&nbsp;", "\xa0"), wanted[case])
        ]
        assert sorted(parts[0]) == sorted(parts[1]), case


@pytest.mark.browser
def test_an_embed_shows_the_part_alone_and_leads_to_its_page(visit: Any) -> None:
    page = visit("embed/headline.html")
    page.until("document.querySelector('img').naturalWidth === 1180")
    assert page.page.get_attribute(".drawn a", "target") == "_top"
    assert case_id() not in page.page.content()
