"""Stamps of answers: a comment changes none, what a file says changes it, on every Python the same."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from altered_answers import answers, replaced

from trnbench.registry import Registry, load_registry
from trnbench.store import answers as stamped
from trnbench.store.answers import changed, code_stamps, files_of, same_code
from trnbench.store.content_digest import code_digest, toml_digest
from trnbench_fidelity.bench import lineage
from trnbench_fidelity.sources import shipped_comparisons, shipped_products

ROOT = Path(__file__).parents[2]
NAMES = ("trn1", "trn2", "trn3")
COMMENT = b"\n# a remark\n"
DRAWN = 20
"""Modules that get a comment."""


def data_files() -> list[Path]:
    return [path for name in NAMES for path in sorted((ROOT / f"plugins/trnbench_{name}").rglob("*.toml"))]


def modules() -> list[Path]:
    """Drawn with a seed, so that a failure comes back."""
    every = sorted(path for folder in ("harness", "plugins") for path in (ROOT / folder).rglob("*.py"))
    return random.Random(24).sample([path for path in every if path.stat().st_size], DRAWN)


@pytest.mark.parametrize("path", data_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_comment_in_a_data_file_says_nothing(path: Path) -> None:
    content = path.read_bytes()
    assert toml_digest(content + COMMENT) == toml_digest(b"# first\n" + content) == toml_digest(content)
    assert toml_digest(content + b"\n[of_our_own]\n") != toml_digest(content)


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.name)
def test_a_comment_in_a_module_says_nothing(path: Path) -> None:
    content = path.read_bytes()
    remarked = content.replace(b"\nfrom ", b"\n# first\nfrom ").replace(b"\ndef ", b"\n\n\ndef ") + COMMENT
    assert code_digest(remarked) == code_digest(content)
    assert code_digest(content + b'\n"""Of the name above."""\n') == code_digest(content)
    assert code_digest(content + b"\nanother = 1\n") != code_digest(content)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('def f():\n    """Says."""\n    return 1', "def f():\n    return 1  # says"),
        ("x = (1,\n  2)", "x = (1, 2)"),
        ("f'{x}'  'y'", "f'{x}y'"),
        ("f'{x:}'", "f'{x}'"),
        ("x = 'a' 'b'", 'x = "ab"'),
        ("class A:\n    x: int\n    'Of x.'", "class A:\n    x: int"),
    ],
)
def test_what_is_written_otherwise_says_the_same(one: str, other: str) -> None:
    assert code_digest(one.encode()) == code_digest(other.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 'a'", "x = b'a'"),
        ("f'{x!r}'", "f'{x}'"),
        ("f'{x:.1f}'", "f'{x:.2f}'"),
        ("f'{x}y'", "f'y{x}'"),
        ("def f(*, a): pass", "def f(a, *, b): pass"),
        ("def f(a, *, b=1): pass", "def f(a=1, *, b): pass"),
        ("f(a, b)", "f(a, *b)"),
        ("x = -1", "x = 1"),
        ("[a, [b]]", "[[a], b]"),
        ("try:\n    a\nexcept E:\n    b", "try:\n    a\nexcept* E:\n    b"),
        ("{**a}", "{a: a}"),
        ("def f(*, a, b=1): pass", "def f(*, b, a=1): pass"),
        ("def f(*, a=1, b): pass", "def f(*, a, b=1): pass"),
        ("{None: 1, **a}", "{**a, None: 1}"),
    ],
)
def test_what_says_something_else_differs(one: str, other: str) -> None:
    assert code_digest(one.encode()) != code_digest(other.encode())


def test_digests_are_the_same_on_every_python() -> None:
    """What 3.11, 3.12 and 3.13 gave for all that 3.11 can say."""
    source = (Path(__file__).parent / "every_statement.txt").read_bytes()
    assert code_digest(source) == "82cd9a07f1e72686"
    assert toml_digest(b'a = 1\nb = [1.5, inf, "x"]\nc = 2026-11-23\n') == "ec3d4707f6250325"


@pytest.fixture
def remarked(tmp_path: Path) -> Registry:
    """All facts, costs and points of the three with a comment at their end."""
    registry = load_registry()
    for name in NAMES:
        generation = registry.generations[name]
        copy = tmp_path / name
        shutil.copytree(ROOT / "plugins" / f"trnbench_{name}", copy, ignore=shutil.ignore_patterns("*.py"))
        for path in copy.rglob("*.toml"):
            path.write_bytes(path.read_bytes() + COMMENT)
        replaced(
            registry,
            name,
            facts=tuple(copy / "facts" / path.name for path in generation.facts),
            costs=copy / "costs.toml",
            published=copy / "published",
        )
    return registry


@pytest.mark.parametrize("name", NAMES)
def test_answers_hold_when_every_file_has_a_comment(remarked: Registry, name: str) -> None:
    usual = load_registry()
    assert changed(answers(usual, name).files, files_of(lineage(remarked, name))) == ()
    assert shipped_comparisons(remarked, [name]) == shipped_comparisons(usual, [name]) != {}
    rows, why = shipped_products(remarked, name)
    assert (rows, why) == shipped_products(usual, name)
    assert rows


def test_nothing_is_parsed_where_no_byte_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> str:
        raise AssertionError("parsed")

    registry = load_registry()
    monkeypatch.setattr(stamped, "_said", never)
    monkeypatch.setattr(stamped, "_code_of", never)
    for name in NAMES:
        shipped = answers(registry, name)
        assert changed(shipped.files, files_of(lineage(registry, name))) == (), stamped.RENEW
        assert same_code(shipped.code, shipped.code), stamped.RENEW


def test_code_is_parsed_where_a_byte_has_changed() -> None:
    stamps = code_stamps(["trnbench.facts"])
    other = {name: f"{0:016x} {stamp.partition(' ')[2]}" for name, stamp in stamps.items()}
    assert same_code(other, other)
    assert not same_code(dict.fromkeys(stamps, "0 0"), stamps)
    assert not same_code({}, stamps)


def test_a_command_says_the_same_of_a_tree_with_comments(tmp_path: Path) -> None:
    """The headline of a run, of a copy in which every data file and twenty modules have a comment."""
    for folder in ("harness", "plugins", "reports"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*data_files(), *modules(), ROOT / "harness/trnbench/topology/checks.py"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.write_bytes(copy.read_bytes() + COMMENT)
    script = (
        "import trnbench\n"
        "run = trnbench.bench(('gemm',), instances=('trn2-16.48xlarge',), axes=('dtype=bf16',))\n"
        "for _, words in trnbench.headline(run).said: print(words.text)\n"
        "print(run.notes, len(run.fidelity.products), trnbench.__file__)\n"
    )
    say = partial(
        subprocess.run, [sys.executable, "-c", script], check=True, text=True, stdout=subprocess.PIPE
    )
    paths = [
        ":".join(str(root / name) for name in ("harness", "plugins", "reports")) for root in (ROOT, tmp_path)
    ]
    here, there = (say(env={"PYTHONPATH": path}, cwd=tmp_path).stdout for path in paths)
    assert str(tmp_path) in there
    assert here.replace(str(ROOT), "") == there.replace(str(tmp_path), "")
    assert "Our product against published: " in here
