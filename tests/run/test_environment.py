"""What is recorded of the machine and of the working folder's commit, and what never is."""

from __future__ import annotations

import getpass
import os
import platform
import re
import subprocess
from pathlib import Path

import pytest
from messages import pairs

from trnbench.run import identity
from trnbench.run.environment import describe, describe_commit
from trnbench.run.identity import scrub, scrub_all, scrub_argv


@pytest.fixture(autouse=True)
def _somebody(monkeypatch: pytest.MonkeyPatch) -> object:
    """A machine with telling names, whatever this one is called."""
    monkeypatch.setattr(platform, "node", lambda: "wombat-7.example.internal")
    monkeypatch.setattr(getpass, "getuser", lambda: "marlowe")
    monkeypatch.setenv("HOME", "/home/marlowe")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    monkeypatch.setenv("SHORT_TOKEN", "true")
    monkeypatch.setenv("PWD", "/folder/of/a/shell")
    identity.forget()
    yield None
    identity.forget()


def test_it_is_flat_and_lower_snake() -> None:
    found = describe({"Neuron Driver-Version": "2.19.64.0", "lnc": 2})
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", key) for key in found)
    assert all(isinstance(value, (str, int, float, bool)) for value in found.values())
    assert found["neuron_driver_version"] == "2.19.64.0"
    assert found["lnc"] == 2
    assert found["python_version"] == platform.python_version()
    assert found["package_msgspec"]


@pytest.mark.parametrize(
    "key",
    ["hostname", "host_name", "Node-Name", "user", "ip", "ip_address", "instance_id", "account_id", "zone",
     "mac", "home", "fqdn", "availability_zone", "api_token"],
)  # fmt: skip
def test_keys_that_identify_are_dropped(key: str) -> None:
    assert "told" not in [str(value) for value in describe({key: "told"}).values()]


@pytest.mark.parametrize(("text", "left"), pairs(Path(__file__).parent / "identifying.txt"))
def test_values_lose_what_identifies(text: str, left: str) -> None:
    assert scrub(text) == left


def test_scrubbing_reaches_everything() -> None:
    value = {"marlowe": ["/home/marlowe/a", {"deep": ("wombat-7", 3, None, 1.5, True)}]}
    assert scrub_all(value) == {"<user>": ["~/a", {"deep": ["<host>", 3, None, 1.5, True]}]}


def test_a_name_of_three_letters_is_one_and_of_two_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, left in (("ann", "of <user>"), ("al", "of al")):
        monkeypatch.setattr(getpass, "getuser", lambda name=name: name)
        identity.forget()
        assert scrub(f"of {name}") == left


def test_a_command_line_can_be_shown() -> None:
    argv = [
        "/home/marlowe/venv/bin/trnbench",
        "run",
        "-o",
        "/home/marlowe/r.html",
        "--to",
        "10.0.3.17",
        "\udcff",
    ]
    assert scrub_argv(argv) == ("trnbench", "run", "-o", "~/r.html", "--to", "<address>", "\\udcff")
    assert scrub_argv(["/x/trnbench/__main__.py", "run"]) == ("trnbench", "run")
    assert scrub_argv([]) == ()


def test_ordinary_words_are_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    monkeypatch.setattr(platform, "node", lambda: "localhost")
    monkeypatch.setenv("HOME", "/")
    identity.forget()
    assert scrub("the root of /work on localhost") == "the root of /work on localhost"


def test_an_account_without_a_name_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nobody)
    identity.forget()
    assert scrub("wombat-7") == "<host>"


# The commit of the working folder: as git itself tells it, and nothing where there is none.


GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    git(place, "init", "-q")
    (place / "kernel.py").write_text("a = 1\n")
    git(place, "add", "kernel.py")
    git(place, "commit", "-q", "-m", "one")
    return place


def git(place: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_branch_a_folder_below_and_packed_references(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    below = repository / "deep" / "er"
    below.mkdir(parents=True)
    assert describe_commit(repository) == {"git_commit": commit, "git_dirty": False}
    assert describe_commit(below) == {"git_commit": commit, "git_dirty": False}
    monkeypatch.chdir(below)
    assert describe({})["git_commit"] == commit
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git" / "refs" / "heads" / "main").exists()
    assert describe_commit(repository)["git_commit"] == commit


def test_a_detached_head_and_a_worktree(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "side")
    (tmp_path / "other" / "kernel.py").write_text("a = 2\n")
    git(tmp_path / "other", "commit", "-q", "-a", "-m", "two")
    second = git(tmp_path / "other", "rev-parse", "HEAD")
    assert describe_commit(tmp_path / "other")["git_commit"] == second != first
    git(repository, "checkout", "-q", "--detach", second)
    assert describe_commit(repository)["git_commit"] == second


def test_a_changed_file_is_dirty_and_a_new_one_is_not(repository: Path) -> None:
    (repository / "notes.txt").write_text("not tracked\n")
    assert describe_commit(repository)["git_dirty"] is False
    (repository / "kernel.py").write_text("a = 22\n")
    assert describe_commit(repository)["git_dirty"] is True
    git(repository, "add", "kernel.py")
    assert describe_commit(repository)["git_dirty"] is True


def test_without_git_the_commit_alone_is_known(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(repository))
    assert describe_commit(repository) == {"git_commit": commit}


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none", "ref: ../../secret", "x" * 5000, "ref: HEAD"])
def test_what_is_no_commit_is_none(repository: Path, head: str) -> None:
    (repository / ".git" / "HEAD").write_text(head)
    assert describe_commit(repository) == {}


def test_outside_a_repository_and_before_the_first_commit(tmp_path: Path) -> None:
    assert describe_commit(tmp_path) == {}
    git(tmp_path, "init", "-q")
    assert describe_commit(tmp_path) == {}


def test_git_is_led_nowhere_else(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert describe_commit(repository) == {"git_commit": commit, "git_dirty": False}
