"""Programs that are not simply a file: listings of documents, texts to be completed, constants set."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest
from published_point import published_point

from trnbench.errors import FactError
from trnbench.facts.table import Place
from trnbench.registry import Registry
from trnbench_fidelity.adapters.source import predict
from trnbench_fidelity.adapters.source_recording import prepared
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import (
    KernelSource,
    Kind,
    MadeBy,
    NotEmulated,
    PublishedPoint,
    Quantity,
    Usable,
    kernel_source,
)

BODY = tomllib.loads(Path(__file__).with_name("public_kernels.toml").read_text(encoding="utf-8"))["summed"]
IMPORTS = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
HEADER = ("import nki", "import nki.isa as nisa", "import nki.language as nl")
TENSORS = ("float32[128,512]", "float32[128,512]")


def indented(text: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


RST = f"""A page
======

.. code-block:: python

    summed = None

.. code-block:: python
   :linenos:

{indented(IMPORTS + BODY)}
and more text::

    def summed(): broken (
"""
MARKDOWN = (
    f"# A page\n\n```python\n{IMPORTS}{BODY.replace('64', '128')}```\n\n```python\n{IMPORTS}{BODY}```\n"
)
TRACE = f"Candidate(plan='''one\ntwo''', code='''{BODY}''')\n"
MAKER = f"""from . import sizes

def make(kind, count):
    if kind != "wide":
        raise ValueError(kind)
    {IMPORTS.replace(chr(10), chr(10) + "    ")}
{indented(BODY.replace("64", "sizes.WIDTH * count"))}
    return nki, summed
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "repo" / "programs"
    home.mkdir(parents=True)
    for name, text in (
        ("page.rst", RST),
        ("page.md", MARKDOWN),
        ("trace.py", TRACE),
        ("plain.py", IMPORTS + BODY),
        ("maker.py", MAKER),
        ("sizes.py", "WIDTH = 64\n"),
    ):
        (home / name).write_text(text)
    return tmp_path


def calls(registry: Registry, folder: Path, kernel: KernelSource, **fields: object) -> str:
    point = published_point(kernel=kernel, source="github:owner/repo@0123456:programs", **fields)
    found = predict(point, Bench(registry, kernels=folder))
    return found.how.partition(" calls")[0]


def test_a_listing_of_a_document(registry: Registry, folder: Path) -> None:
    source = KernelSource(file="programs/page.rst", function="summed", arguments=TENSORS, listing=1)
    assert calls(registry, folder, source) == "programs/page.rst::summed, 32"
    second = msgspec.structs.replace(source, file="programs/page.md", listing=2)
    assert calls(registry, folder, second) == "programs/page.md::summed, 32"
    first = msgspec.structs.replace(second, listing=1)
    assert calls(registry, folder, first) == "programs/page.md::summed, 16"


def test_a_listing_keeps_its_lines(folder: Path) -> None:
    page = folder / "repo" / "programs" / "page.rst"
    source = KernelSource(file="page.rst", function="summed", listing=1)
    with prepared(page, source) as file:
        assert file.suffix == ".py"
        written, printed = file.read_text().splitlines(), RST.splitlines()
        where = printed.index("    def summed(x, y):")
        assert written[where] == "def summed(x, y):"
    assert not file.exists()


def test_a_listing_that_is_not_there(registry: Registry, folder: Path) -> None:
    source = KernelSource(file="programs/page.md", function="summed", arguments=TENSORS, listing=3)
    with pytest.raises(NotEmulated) as caught:
        calls(registry, folder, source)
    assert caught.value.why == "programs/page.md has 2 listings of summed, not 3"


def test_a_text_that_its_harness_completes(registry: Registry, folder: Path) -> None:
    source = KernelSource(
        file="programs/trace.py", function="summed", arguments=TENSORS, listing=1, header=HEADER
    )
    assert calls(registry, folder, source) == "programs/trace.py::summed, 32"


def test_a_constant_as_the_publication_set_it(registry: Registry, folder: Path) -> None:
    source = KernelSource(
        file="programs/plain.py", function="summed", arguments=TENSORS, constants=("WIDTH=256",)
    )
    assert calls(registry, folder, source) == "programs/plain.py::summed with WIDTH = 256, 8"
    wrong = msgspec.structs.replace(source, constants=("HEIGHT=2",))
    with pytest.raises(NotEmulated) as caught:
        calls(registry, folder, wrong)
    assert caught.value.why == "plain.py sets HEIGHT to a number in 0 places, not in one"


def test_what_returns_the_kernel_beside_its_siblings(registry: Registry, folder: Path) -> None:
    maker = MadeBy(function="make", arguments=("'wide'", "2"), item=1)
    source = KernelSource(file="programs/maker.py", function="summed", arguments=TENSORS, made_by=maker)
    assert calls(registry, folder, source) == "programs/maker.py::summed, 16"


def test_the_share_of_time_an_engine_is_active(registry: Registry, folder: Path) -> None:
    source = KernelSource(file="programs/plain.py", function="summed", arguments=TENSORS)
    bench = Bench(registry, kernels=folder)
    start = PublishedPoint(
        id="x", generation="trn2", family="kernel", kind=Kind.MEASURED, hardware="",
        source="github:owner/repo", usable=Usable.SOURCE, quantity=Quantity.SHARE,
        metric="VectorE active %", op="op", unit="%", system="trn2-16.48xlarge", dtype="fp32", kernel=source,
    )  # fmt: skip
    vector = predict(start, bench).value
    assert 0 < vector < 1
    assert predict(msgspec.structs.replace(start, metric="TensorE active %"), bench).value == 0


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ({"arguments": ["two words"]}, "'two words' is no argument"),
        ({"constants": ["WIDTH"]}, "'WIDTH' sets no constant"),
        ({"grid": [0]}, "grid [0] is no grid"),
        ({"made_by": {"function": "make", "arguments": ["x y"]}}, "'x y' is no argument"),
        ({"listings": 1}, "unknown key 'listings'"),
    ],
)
def test_mistakes_in_the_data(extra: dict[str, object], what: str) -> None:
    with pytest.raises(FactError, match=r"points\.toml") as caught:
        kernel_source(Place(Path("points.toml")), {"file": "a.py", "function": "f", **extra})
    assert what in caught.value.what
