"""The list of public kernels, suites and scripts is whole: `public/reach.py` carries it out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PUBLIC = Path(__file__).parent / "public"


@pytest.fixture(scope="module")
def reach() -> Iterator[Any]:
    sys.path.insert(0, str(PUBLIC))
    try:
        import reach as module
    finally:
        sys.path.remove(str(PUBLIC))
    return module


def test_every_refusal_is_of_a_class_and_cites_a_sentence(reach: Any) -> None:
    listed = reach.listed()
    refusals = [c.refusal for r in listed.repository for c in listed.cases(r) if c.refusal is not None]
    assert len(refusals) >= 40
    for each in refusals:
        assert each.kind in ("invalid", "hardware only")
        assert each.words
        assert each.sentence
        assert re.search(r"\.(py|rst)|nc_matmul", each.source), each.source


def test_commits_and_expressions_stand_in_the_list(reach: Any) -> None:
    listed = reach.listed()
    for repository in listed.repository:
        assert re.fullmatch(r"[0-9a-f]{12}", repository.commit)
        assert repository.sample in ("old", "fresh")
        for case in listed.cases(repository):
            entry = reach.entry(repository, case)
            compile(f"({case.args},)", case.at, "eval")
            compile(case.wanted or "0", case.at, "eval")
            assert (entry.reference is None) == (not case.wanted)


def test_the_page_counts_what_was_listed(reach: Any, root: Path) -> None:
    page = (root / "docs" / "nki.md").read_text(encoding="utf-8")
    listed = reach.listed()
    for sample, word in (("old", "first"), ("fresh", "fresh")):
        chosen = [each for each in listed.repository if each.sample == sample and list(listed.cases(each))]
        (row,) = re.findall(rf"^\| {word} \|(.*)\|$", page, re.MULTILINE)
        repositories, tried, _, ran, _, _, *classes = (int(cell) for cell in row.split("|"))
        assert repositories == len(chosen)
        assert tried == sum(len(list(listed.cases(each))) for each in chosen) == ran + sum(classes)


def test_a_refusal_without_a_sentence_is_ours(reach: Any) -> None:
    repository = reach.Repository(name="a/b", commit="0" * 12, sample="fresh")
    said = reach.Refusal(kind="invalid", words="too wide", sentence="At most 128.", source="x.rst")
    for refusal, kind in (
        (said, "invalid"),
        (None, "ours"),
        (reach.Refusal("invalid", "other", "s"), "ours"),
    ):
        case = reach.Case(at="k.py::f", refusal=refusal)
        result = reach.result_of(repository, case, reach.Tried(False, False, why="it is too wide"))
        assert result[kind] is True
        assert "| a/b 00000000 | 1 | 1 | 0 | 0 | 0 |" in "\n".join(reach.rows_of([result]))


def test_the_list_of_legal_kernels_is_of_what_was_tried(reach: Any) -> None:
    from tests.nki.mutants import legal_kernels

    public = list(reach.legal(reach.listed()))
    names = [(repository.name, case.at, case.which) for repository, case, _ in public]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for _, _, digest in public)
    assert len(public) + len(legal_kernels()) >= 200


def test_a_file_with_another_digest_is_no_legal_kernel(reach: Any, tmp_path: Path, capsys: Any) -> None:
    repository, case, _ = next(iter(reach.legal(reach.listed())))
    file = tmp_path / repository.folder / case.at.partition("::")[0]
    file.parent.mkdir(parents=True)
    file.write_text("def kernel(): ...\n")
    assert reach.try_legal(tmp_path, reach.listed(), f"{repository.name}/{case.at}") == 1
    assert "another digest" in capsys.readouterr().out
