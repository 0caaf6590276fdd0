"""Plugins and cases that do what none should."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from campaigns import sweep
from forks import Answer, Forks
from hostile_cases import GROUPS
from hostile_plugins import COMMAND, DEEP, HOOK, IMPORT, READ, RENDER, WRITE

from trnbench.store.store import Store

HARMLESS = {
    *("prints", "leaves a thread", "returns none", "has a name of a megabyte", "raises in its formula"),
    *("prints in a hook", "returns what breaks the page", "changes what it is given", "starts a process"),
}
"""What costs nobody anything before it is used, or is undone: there is nothing to name."""

FEW = (
    *("exits without a word", "interrupts", "closes descriptors", "changes the folder", "traces"),
    *("raises half way", "takes a name", "yields an object that answers nothing"),
    *("raises", "returns what breaks the page", "allows no files", "starts a process"),
    *("exits in C in a hook", "starts a process and raises", "exits when it is imported"),
)
"""What stands for the rest in every run."""


def installed(folder: Path, text: str, group: str = "trnbench", target: str = "bad") -> str:
    """A distribution `bad` with the plugin or command `bad`; the folder it is found in."""
    site = folder / "site"
    info = site / "bad-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "bad.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nbad = {target}\n")
    return str(site)


def check(answer: Answer) -> None:
    assert not answer.late, answer.stderr
    assert "Traceback" not in answer.stderr
    assert "internal error" not in answer.stderr
    assert answer.left == 0


def hurry(name: str) -> list[list[str]]:
    """Only where something hangs: what is ours has its usual time on a machine that is busy."""
    return [["hostile_plugins", "hurry"]] if "hangs" in name else []


@pytest.mark.parametrize("name", sweep([*IMPORT, *HOOK], FEW.__contains__))
def test_it_is_named_and_the_others_are_there(forks: Forks, tmp_path: Path, name: str) -> None:
    path = [installed(tmp_path, IMPORT.get(name) or HOOK[name])]
    found = forks(tmp_path, "plugin", "list", "--format", "json", path=path, before=hurry(name))
    check(found)
    assert found.code == 0, found.stderr
    rows = {row["plugin"]: row for row in json.loads(found.stdout)}
    assert len(rows) > 5
    assert {row["state"] for plugin, row in rows.items() if plugin != "bad"} <= {"ok", "slow"}
    if name not in HARMLESS:
        assert rows["bad"]["state"] == "problem"
        assert "'bad' of bad 1.0" in rows["bad"]["problems"][0]
    listed = forks(tmp_path, "list", "kernels", "--format", "json", path=path, before=hurry(name))
    check(listed)
    assert listed.code == 0, listed.stderr
    assert "gemm" in [row["kernel"] for row in json.loads(listed.stdout)]
    if name in IMPORT:
        helped = forks(tmp_path, "--help", path=path, before=hurry(name))
        assert (helped.code, helped.stderr) == (0, "")


@pytest.fixture(scope="module")
def stored(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small run."""
    folder = tmp_path_factory.mktemp("stored")
    assert forks(folder, "run", "--no-report", modes=["half", "low"]).code == 0
    return folder


@pytest.mark.parametrize("name", sweep(RENDER, FEW.__contains__))
def test_a_section_costs_itself_alone(forks: Forks, tmp_path: Path, stored: Path, name: str) -> None:
    path = [installed(tmp_path, RENDER[name])]
    folder = tmp_path / "work"
    shutil.copytree(stored, folder)
    answer = forks(folder, "report", path=path, before=hurry(name))
    check(answer)
    assert (answer.code, answer.stdout) == (0, "trnbench-report.html\n"), answer.stderr
    page = (folder / "trnbench-report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "tiny.2" in page  # what the other sections were given
    assert len(answer.stderr) < 2_000_000
    if name not in (*HARMLESS, "floods"):
        assert "Bad" in page


@pytest.mark.parametrize("name", sweep(READ, FEW.__contains__))
def test_an_importer_is_named_and_nothing_is_stored(forks: Forks, tmp_path: Path, name: str) -> None:
    path = [installed(tmp_path, READ[name])]
    (tmp_path / "results").write_text("time 1 s")
    answer = forks(tmp_path, "import", "results", "--from", "bad", path=path, before=hurry(name))
    check(answer)
    assert (answer.code, answer.stdout) == (3, ""), answer.stderr
    assert "bad" in answer.stderr.splitlines()[-3]
    runs = forks(tmp_path, "runs", "list", "--format", "json", path=path)
    assert (runs.code, json.loads(runs.stdout)) == (0, [])


@pytest.mark.parametrize("name", sweep(WRITE, FEW.__contains__))
def test_a_format_is_named_and_nothing_is_written(
    forks: Forks, tmp_path: Path, stored: Path, name: str
) -> None:
    path = [installed(tmp_path, WRITE[name])]
    folder = tmp_path / "work"
    shutil.copytree(stored, folder)
    answer = forks(folder, "export", "--as", "bad", "-o", "runs.bad", path=path, before=hurry(name))
    check(answer)
    assert (answer.code, answer.stdout) == (3, ""), answer.stderr
    assert "bad" in answer.stderr
    assert not (folder / "runs.bad").exists()


@pytest.mark.parametrize("name", sweep(COMMAND, FEW.__contains__))
def test_a_command_of_a_plugin_is_named(forks: Forks, tmp_path: Path, name: str) -> None:
    path = [installed(tmp_path, COMMAND[name], "trnbench.commands", "bad:bad")]
    answer = forks(tmp_path, "bad", path=path, before=hurry(name))
    assert (answer.code, answer.stdout, answer.left) == (3, "", 0), answer.stderr
    assert "bad" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert forks(tmp_path, "list", "kernels", path=path).code == 0


@pytest.mark.parametrize("name", sweep(DEEP, lambda name: "starts" in name))
def test_what_works_in_the_command_ends_it_by_name(forks: Forks, tmp_path: Path, name: str) -> None:
    words, text = DEEP[name]
    answer = forks(tmp_path, *words, path=[installed(tmp_path, text)], before=hurry(name))
    check(answer)
    assert (answer.code, answer.stdout) == (3, ""), answer.stderr
    assert "plugin 'bad' of bad 1.0 ended the command: its process " in answer.stderr


def test_a_run_goes_on_with_its_own_systems(forks: Forks, tmp_path: Path) -> None:
    path = [installed(tmp_path, RENDER["changes what it is given"])]
    words = ("run", "rms_norm", "-i", "trn1.2xlarge", "-a", "rows=128", "-a", "columns=512")
    answer = forks(tmp_path, *words, path=path)
    check(answer)
    assert answer.code == 0, answer.stderr
    assert "trn1.2xlarge" in answer.stdout


def test_a_trusted_plugin_is_loaded_by_the_command_itself(forks: Forks, tmp_path: Path) -> None:
    path = [installed(tmp_path, IMPORT["exits in C"])]
    kept = forks(tmp_path, "list", "kernels", path=path)
    assert (kept.code, "plugin 'bad' of bad 1.0 ends the process" in kept.stderr) == (0, True)
    for trusted in ("bad", "all"):
        (tmp_path / "trnbench.toml").write_text(f'trusted = ["{trusted}"]\n')
        let_in = forks(tmp_path, "list", "kernels", path=path)
        assert (let_in.code, let_in.stdout, let_in.stderr) == (0, "", "")  # and so the command ends


# Whatever a case does, the others come to what they would have come to, and the command ends well.


WELL = {
    *("exits_at_the_end", "thread", "grandchild", "print", "descriptor", "close_stdout", "close_descriptors"),
    *("folder", "umask", "environment", "signals", "clock", "shallow"),
}
"""Modes whose case comes to a result all the same; of the others some do not."""

FAILED = {
    *("sys_exit", "exit_0", "kill", "segfault", "abort", "keyboard_interrupt", "unheard", "raise_strange"),
    *("recursion", "memory", "hang", "deaf", "stubborn", "escapes", "none", "strange", "generator"),
    *("negative", "time_of_text", "detail_of_strange", "detail_of_itself"),
}


def test_there_are_enough() -> None:
    assert sum(map(len, (IMPORT, HOOK, RENDER, READ, WRITE, COMMAND))) >= 110
    modes = [mode for group in GROUPS.values() for mode in group]
    assert len(modes) == len(set(modes)) >= 35
    assert set(modes) >= WELL | FAILED


@pytest.mark.parametrize("group", GROUPS)
def test_it_costs_its_own_case_at_most(forks: Forks, tmp_path: Path, group: str) -> None:
    modes = GROUPS[group]
    endless = group == "does not end"
    words = ("run", "--no-report", "--format", "json", *(("--timeout", "1") if endless else ()))
    answer = forks(tmp_path, *words, machine="hostile_cases", modes=["half", *modes, "low"])
    assert not answer.late
    assert answer.code in (0, 3, 124), answer.stderr
    assert "internal error" not in answer.stderr
    assert answer.left == 0  # nothing that they started is there any more
    assert json.loads(answer.stdout)["cases"] == len(modes) + 2  # and nothing else was written there
    with Store(tmp_path / "r.db") as store:
        run = store.load()
    assert run.finished
    assert not run.interrupted
    found = {str(each.case.point["mode"]): each for each in run.measurements}
    assert found["half"].status == "ok"
    assert found["low"].status == "document-low"
    failures = [each for each in run.measurements if each.status == "failed"]
    assert answer.code == (124 if endless else 3 if failures else 0), answer.stderr
    for mode in modes:
        failed = found[mode].status == "failed"
        assert failed or mode not in FAILED, mode
        assert not failed or mode not in WELL, found[mode].reason_text
        assert not failed or found[mode].reason_text.strip(), mode
    assert forks(tmp_path, "store", "check").code == 0
