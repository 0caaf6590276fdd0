"""The commit of the working folder: as git itself tells it, and nothing where there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from trnbench.run.environment import describe_commit

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


def test_a_branch_a_folder_below_and_packed_references(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    below = repository / "deep" / "er"
    below.mkdir(parents=True)
    assert describe_commit(repository) == {"git_commit": commit, "git_dirty": False}
    assert describe_commit(below) == {"git_commit": commit, "git_dirty": False}
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


def test_no_path_and_no_name_is_told(repository: Path) -> None:
    assert set(describe_commit(repository)) <= {"git_commit", "git_dirty"}


def test_git_is_led_nowhere_else(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert describe_commit(repository) == {"git_commit": commit, "git_dirty": False}
