"""The fast reader of entry points finds what importlib.metadata finds."""

from __future__ import annotations

import re
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from trnbench.distribution import EntryPoint, entry_points, normalised, own_packages, versions

GROUPS = ("trnbench", "trnbench.commands", "console_scripts", "pytest11", "hypothesis")


def by_metadata(groups: tuple[str, ...]) -> set[tuple[str, str, str, str, str]]:
    return {
        (each.group, each.name, each.value.partition("[")[0].strip(), each.dist.name, each.dist.version)
        for group in groups
        for each in metadata.entry_points(group=group)
        if each.dist
    }


def test_same_as_the_standard_library_finds_here() -> None:
    found = entry_points(GROUPS)
    assert {tuple(each) for each in found} == by_metadata(GROUPS)
    assert len(found) == len(set(found)) > 20


def test_the_packages_released_with_it_are_those_of_its_entry_points() -> None:
    values = {each.value for each in metadata.entry_points(group="trnbench") if each.dist.name == "trnbench"}
    assert own_packages() == {"trnbench", *(re.split(r"[.:]", value)[0] for value in values)}
    assert "trnbench_trn2" in own_packages()


def test_versions_are_those_of_the_standard_library() -> None:
    names = ("ruff", "no-such-thing", "ml_dtypes", "trnbench", "Import_Linter")
    assert versions(names) == {name: metadata.version(name) for name in names if "such" not in name}


def write(folder: Path, name: str, text: str, *, metadata_name: str = "METADATA", extra: str = "") -> None:
    info = folder / name
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    if metadata_name:
        head = (
            f"Metadata-Version: 2.1\nName: {name.partition('-')[0].replace('_', '-')}\nVersion: 1.5{extra}\n"
        )
        (info / metadata_name).write_text(f"{head}Summary: s\n\nName: not-this\n", encoding="utf-8")


def test_odd_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path / "a",
        "acme_trn-1.5.dist-info",
        "[console_scripts]\nx = y:z\n\n[trnbench]\n# one = two\n; three = four\n"
        "spaced   =   acme.plugin : thing\nplain=acme.plugin:thing.inner\n"
        "with-extra = acme:x [fast]\n\nbroken\n",
    )
    write(tmp_path / "a", "Old_Style-1.5.egg-info", "[trnbench]\nold = old\n", metadata_name="PKG-INFO")
    write(tmp_path / "b", "Acme.Trn-9.dist-info", "[trnbench]\nshadowed = never\n")
    write(tmp_path / "b", "nameless-2.0.dist-info", "[trnbench]\nless = less\n", metadata_name="")
    write(tmp_path / "b", "other-1.0.dist-info", "[somebody.else]\nx = y\n")
    (tmp_path / "b" / "file-1.dist-info").write_text("a file, no folder")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "none"), str(tmp_path / "b")])
    assert entry_points(["trnbench"]) == [
        EntryPoint("trnbench", "old", "old", "Old-Style", "1.5"),
        EntryPoint("trnbench", "spaced", "acme.plugin:thing", "acme-trn", "1.5"),
        EntryPoint("trnbench", "plain", "acme.plugin:thing.inner", "acme-trn", "1.5"),
        EntryPoint("trnbench", "with-extra", "acme:x", "acme-trn", "1.5"),
        EntryPoint("trnbench", "less", "less", "nameless", "2.0"),
    ]


def test_distribution_in_a_zip_is_left_to_the_standard_library(tmp_path: Path, monkeypatch: Any) -> None:
    archive = tmp_path / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr(
            "zipped-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: zipped\nVersion: 1.0\n"
        )
        bundle.writestr("zipped-1.0.dist-info/entry_points.txt", "[trnbench]\nzip = zipped\n")
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert entry_points(["trnbench"]) == [EntryPoint("trnbench", "zip", "zipped", "zipped", "1.0")]


def test_loading_follows_attributes() -> None:
    assert EntryPoint("g", "n", "os:path.join", "d", "1").load() is __import__("os").path.join
    assert EntryPoint("g", "n", "json", "d", "1").load() is __import__("json")
    with pytest.raises(AttributeError):
        EntryPoint("g", "n", "json:nothing", "d", "1").load()


def test_names_of_distributions_compare_loosely() -> None:
    assert normalised("Acme__Trn.9") == "acme-trn-9"
