"""The files a plan's kernels are written in, and what a resumed run says of one that was edited."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest
import tiny_machine as tiny
from stored_run import resumed, text_of

from trnbench import Run
from trnbench.errors import UsageError
from trnbench.registry import Registry
from trnbench.run.execute import execute
from trnbench.run.plan import plan
from trnbench.run.selection import RunSettings
from trnbench.run.sources import changed_files, file_digests, named_beside
from trnbench.store.journal_content import Opening
from trnbench.store.store import Store

MODES = ("half", "above", "low")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A kernel's implementation in a package, with what it imports and names beside it, and a neighbour."""
    folder = tmp_path / "acme_kernels"
    folder.mkdir()
    sources = {
        "__init__": "",
        "product": """
            from pathlib import Path
            from . import shapes
            from .rounding import half
            def prepare():
                import acme_kernels.late
                return Path(__file__).with_name("loop.c")
            """,
        "shapes": "SIZE = 4",
        "rounding": "from acme_kernels.deeper import half",
        "deeper": "half = 0.5",
        "late": "",
        "neighbour": "",
    }
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(dedent(text))
    (folder / "loop.c").write_text("int loop(void);")
    (folder / "data.c").write_text("int data(void);")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [each for each in sys.modules if each.partition(".")[0] == "acme_kernels"]:
        del sys.modules[name]


def machine(**changes: object) -> Registry:
    return tiny.registry(*MODES, implementations={"other": "acme_kernels.product:prepare"}, **changes)


@pytest.fixture
def stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny system has a stack for the package's kind."""
    (one,) = tiny.GENERATION.instances
    one = msgspec.structs.replace(one, stack=("other",))
    monkeypatch.setattr(tiny, "GENERATION", msgspec.structs.replace(tiny.GENERATION, instances=(one,)))


def test_a_kernel_is_its_formulas_its_implementation_and_what_those_take(
    package: Path, stacked: None
) -> None:
    found = file_digests(plan(machine()).sources())
    ours = {f"acme_kernels/{each}" for each in ("product.py", "shapes.py", "rounding.py", "deeper.py")}
    assert {each for each in found if each.startswith("acme")} == {
        *ours,
        "acme_kernels/late.py",
        "acme_kernels/loop.c",
    }
    assert "tiny_machine.py" in found  # its formulas
    assert "trnbench/kernels/kernel.py" in found  # what they are where it says nothing
    assert all(len(each) == 16 for each in found.values())


@pytest.mark.parametrize(
    ("source", "names"),
    [("import acme.shapes", "shapes.py"), ("from .shapes import SIZE", "shapes.py"), ("import numpy", ""),
     ("from acme import (\n    shapes,\n    deeper,\n)\n", "shapes.py deeper.py"),
     ("from . import shapes  # not important", "shapes.py"), ("x = 1; import acme.late", ""),
     ("    import acme.late\nimport acme.a\nimport acme.late\nimportant = 1", "late.py a.py"),
     ("from other.shapes import SIZE\npath = 'loop.c', \"data.toml\", 'no name'", "loop.c data.toml")],
)  # fmt: skip
def test_what_a_source_takes_from_its_own_folder(source: str, names: str) -> None:
    assert " ".join(named_beside(source, "acme")) == names


def test_only_implementations_for_these_systems_count(package: Path) -> None:
    kernels = machine(scopes=tiny.kernel().scopes)
    with pytest.raises(Exception, match="none has an implementation"):
        plan(kernels)
    assert not [
        each for each in file_digests(plan(tiny.registry(*MODES)).sources()) if each.startswith("acme")
    ]


def test_a_module_that_is_gone_or_no_python_is_no_error(package: Path, stacked: None) -> None:
    (package / "shapes.py").write_text("def f(:\n")
    assert "acme_kernels/shapes.py" in file_digests(plan(machine()).sources())
    (package / "product.py").unlink()
    importlib.invalidate_caches()
    assert not [each for each in file_digests(plan(machine()).sources()) if each.startswith("acme")]
    (package / "__init__.py").write_text("raise SystemError('broken')")
    assert not [each for each in file_digests(plan(machine()).sources()) if each.startswith("acme")]


def test_what_differs_is_named() -> None:
    before = {"a.py": "1", "b.py": "2", "c.py": "3"}
    assert changed_files(before, {"a.py": "1", "b.py": "3", "d.py": "4"}) == (
        "source b.py was edited",
        "source c.py is missing",
        "source d.py is new",
    )
    assert changed_files(before, before) == ()
    assert changed_files({}, before) == ()  # a journal of before they were recorded


def begun(store: Store) -> Run:
    found = machine()
    return execute(plan(found), found.backends["emulated"], found, RunSettings(maxfail=1), store=store)


def test_an_edit_without_a_version_is_refused_unless_anyway(
    package: Path, stacked: None, tmp_path: Path
) -> None:
    with Store(tmp_path / "results.db") as store:
        first = begun(store)
        (package / "neighbour.py").write_text("edited = True")  # nothing of the kernel
        (package / "deeper.py").write_text("half = 0.25")
        assert text_of(UsageError, lambda: resumed(store, machine())) == (
            f"run {first.id} cannot be resumed as it began\n"
            "  cause: source acme_kernels/deeper.py was edited\n"
            "  try:   undo that, or: --anyway  goes on with what is here, and the run notes it"
        )
        run = resumed(store, machine(), anyway=True)
        assert run.notes == ("resumed with a difference: source acme_kernels/deeper.py was edited",)
        assert len(run.measurements) == len(MODES)


def test_an_edit_that_was_undone_is_none(package: Path, stacked: None, tmp_path: Path) -> None:
    with Store(tmp_path / "results.db") as store:
        begun(store)
        text = (package / "product.py").read_text()
        (package / "product.py").write_text(text + "\n")
        with pytest.raises(UsageError, match=r"source acme_kernels/product\.py was edited"):
            resumed(store, machine())
        (package / "product.py").write_text(text)
        assert resumed(store, machine()).notes == ()


def test_a_journal_of_before_has_no_sources() -> None:
    assert msgspec.convert({"planned": 3}, Opening).sources == {}
