"""Public kernels, unchanged, from a folder that TRNBENCH_TEST_PUBLIC_KERNELS names: in both modes, against
NumPy. The folder holds checkouts called as their repositories are: docs/research/public-kernels.md."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trnbench.registry.registry import load_registry

FOLDER = os.environ.get("TRNBENCH_TEST_PUBLIC_KERNELS", "")
PUBLIC = Path(__file__).parent / "public"
STOPPED = tomllib.loads((PUBLIC / "stopped.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def public() -> Iterator[None]:
    """The modules of the catalogue, which lie beside the kernels they are about."""
    sys.path.insert(0, str(PUBLIC))
    yield
    sys.path.remove(str(PUBLIC))


def entries() -> list[Any]:
    sys.path.insert(0, str(PUBLIC))
    try:
        from catalogue import ENTRIES
    finally:
        sys.path.remove(str(PUBLIC))
    return list(ENTRIES)


@pytest.mark.skipif(not FOLDER, reason="TRNBENCH_TEST_PUBLIC_KERNELS names no folder of public sources")
@pytest.mark.parametrize("entry", entries(), ids=lambda each: each.id)
def test_a_public_kernel(entry: Any) -> None:
    from trying import find, tried

    path = find(Path(FOLDER), entry)
    if path is None:
        pytest.skip(f"{entry.kernel.partition('::')[0]} is not in a checkout of {entry.folder}")
    found = tried(entry, path, Path(FOLDER), load_registry())
    if entry.id in STOPPED:
        assert not found.ran
        assert STOPPED[entry.id] in found.why
        assert re.search(r"\.py:\d+\)", found.why), "the line of the kernel"
    else:
        assert found.matched, found.why


def test_files_and_names_are_whole() -> None:
    for each in entries():
        path, double, function = each.kernel.partition("::")
        assert double
        assert path.endswith(".py")
        assert function.isidentifier()
    assert set(STOPPED) <= {each.id for each in entries()}


def test_the_page_counts_them(root: Path) -> None:
    """The SDK's examples have their own test."""
    page = (root / "docs" / "research" / "public-kernels.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([\w.-]+)/([\w.-]+) (\w{8}) [^|]*\| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE
    )
    counted: dict[str, tuple[int, int]] = {}
    for owner, name, commit, *numbers in rows:
        tried, ran, matched = (int(each) for each in numbers)
        assert ran == matched
        commit = f"-{commit[:7]}" if (name, commit) == ("nki-samples", "c8327e03") else ""
        counted[f"{owner}__{name}{commit}"] = (tried, ran)
    wanted: dict[str, list[int]] = {}
    for each in entries():
        numbers = wanted.setdefault(each.folder, [0, 0])
        numbers[0] += 1
        numbers[1] += each.id not in STOPPED
    for folder, numbers in wanted.items():
        (found,) = [each for name, each in counted.items() if folder in (name, name.partition("__")[2])]
        assert found == tuple(numbers), folder
    tried, ran, matched = (
        int(each) for each in re.findall(r"^\| all \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)[0]
    )
    assert tried == sum(each for each, _ in counted.values())
    assert ran == matched == sum(each for _, each in counted.values())
