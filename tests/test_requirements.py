"""What `.ci/run` installs first: pinned, with hashes, from no address, and what pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILES = ("requirements.txt", "requirements-release.txt")


@pytest.fixture
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def pinned(path: Path) -> Iterator[tuple[Requirement, list[str]]]:
    """Each requirement of a file with its hashes."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        told, *hashes = line.split("--hash=sha256:")
        yield Requirement(told), [each.strip() for each in hashes]


@pytest.mark.parametrize("name", FILES)
def test_each_is_one_version_with_hashes_and_without_an_address(root: Path, name: str) -> None:
    path = root / ".ci" / name
    assert "://" not in path.read_text(encoding="utf-8")
    found = list(pinned(path))
    assert len(found) > 10
    for requirement, hashes in found:
        assert [each.operator for each in requirement.specifier] == ["=="], requirement
        assert hashes, requirement
        assert all(re.fullmatch("[0-9a-f]{64}", each) for each in hashes), requirement


def wanted(project: dict[str, Any], name: str) -> list[str]:
    if name == "requirements-release.txt":
        return list(project["dependency-groups"]["release"])
    return [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["test"]]


@pytest.mark.parametrize("name", FILES)
def test_they_are_what_the_project_asks_for(root: Path, project: dict[str, Any], name: str) -> None:
    versions: dict[str, list[str]] = {}
    for requirement, _ in pinned(root / ".ci" / name):
        (one,) = requirement.specifier
        versions.setdefault(canonicalize_name(requirement.name), []).append(one.version)
    for each in map(Requirement, wanted(project, name)):
        found = versions.get(canonicalize_name(each.name), [])
        assert found, f"{each.name}: renew .ci/{name} as CONTRIBUTING.md says"
        assert all(each.specifier.contains(version) for version in found), f"{each} against {found}"


def test_every_dependency_ends_before_its_next_major_version(project: dict[str, Any]) -> None:
    """Another major version is taken up by a change of ours, not by an installation's date."""
    asked = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for more in project["project"]["optional-dependencies"].values():
        asked += more
    for each in map(Requirement, asked):
        assert "<" in {bound.operator for bound in each.specifier}, each
