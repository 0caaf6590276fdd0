"""docs/nki.md lists every public name of NKI 0.6.0: run, refused or untested, with its test.

`python tests/nki/test_nki_table.py` writes the table anew.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from trnbench_emulator.nki import isa, language
from trnbench_emulator.nki.names import WHY
from trnbench_emulator.nki.tensor import NkiTensor

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "nki.md"
BEGIN, END = "<!-- table: generated -->", "<!-- end of table -->"
# Where names are used, in words that a kernel would write.
_KEY = re.compile(r'^    "((?:nisa|nl|tensor)\.\w+)(?:\([^"]*)?": (?:\(|lambda|_)', re.M)
TEXTS = {"test_nki_assumptions.py": "assumed_kernels.toml", "test_nki_values_isa.py": "pieces.toml"}
"""What tests have of their kernels beside them."""
_PAIR = re.compile(r'"(\w+)": \((?:X|Y|P|INTS|np|Y / 2)\b')


PUBLIC = {
    group: tuple(names.split())
    for group, names in tomllib.loads(
        Path(__file__).with_name("public_names.toml").read_text(encoding="utf-8")
    ).items()
}

_PREFIX = {
    "nki": "nki", "nki.isa": "nisa", "nki.isa (enumerations and classes)": "nisa", "nki.language": "nl",
    "NkiTensor": "tensor", "nki.collectives": "ncc",
}  # fmt: skip


def provided(group: str, name: str) -> bool:
    """Does a kernel that uses `name` of `group` run?"""
    if group == "nki":
        return name in ("jit", "simulate")
    if group == "NkiTensor":
        return hasattr(NkiTensor, name)
    if group == "nki.collectives":
        return False
    return name in (language if group == "nki.language" else isa).__all__


def table(tests: Mapping[str, str]) -> str:
    """The Markdown table: run, refused with the reason, or untested. `tests`: "nisa.iota" → its test."""
    lines = ["| name | state | test or reason |", "|---|---|---|"]
    for group, names in PUBLIC.items():
        prefix = _PREFIX[group]
        for name in names:
            full = f"{prefix}.{name}"
            if not provided(group, name):
                module = "nki.isa" if prefix == "nisa" else group
                why = WHY["nki"]["collectives"] if prefix == "ncc" else WHY[module][name]
                lines.append(f"| `{full}` | refused | {why} |")
            elif full in tests:
                lines.append(f"| `{full}` | run | {tests[full]} |")
            else:
                lines.append(f"| `{full}` | untested | |")
    return "\n".join(lines)


def names_tested() -> dict[str, str]:
    """Public name → the test that runs it, read from the tables of the test files."""
    found: dict[str, str] = {}
    here = ROOT / "tests" / "nki"
    for kind in ("isa", "language"):
        path = here / f"test_nki_values_{kind}.py"
        text = path.read_text(encoding="utf-8")
        for name in _KEY.findall(text):
            found.setdefault(name, path.name)
        if "UNARY" in text:
            for name in _PAIR.findall(text):
                found.setdefault(f"nl.{name}", path.name)
            for each in ("is_psum", "is_hbm", "is_on_chip"):
                found[f"nl.{each}"] = path.name
    for path in (*sorted(here.glob("test_nki_*.py")), here / "illegal_instructions.txt"):
        if path.name.startswith("test_nki_beta1"):
            continue  # other calls under the same names
        text = path.read_text(encoding="utf-8")
        if beside := TEXTS.get(path.name):
            text += (here / beside).read_text(encoding="utf-8")
        for prefix in ("nisa", "nl"):
            for name in re.findall(rf"\b{prefix}\.(\w+)", text):
                found.setdefault(f"{prefix}.{name}", path.name)
    for name in language.DTYPES:
        found[f"nl.{name}"] = "test_nki_values_language.py"
    found["nki.jit"] = "test_nki_kernels.py"
    found["nki.simulate"] = "test_nki_exec.py"
    return found


def written() -> str:
    return table(names_tested())


def test_the_table_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.split(BEGIN)[1].split(END)[0].strip() == written()


def test_every_public_name_has_a_state() -> None:
    rows = written().splitlines()[2:]
    assert len(rows) == sum(len(names) for names in PUBLIC.values())
    assert [row for row in rows if "| untested |" in row] == []


def test_nothing_provided_is_missing_from_the_lists() -> None:
    listed = {name for group, names in PUBLIC.items() for name in names if provided(group, name)}
    beyond = {
        "range", "tensor_engine", "vector_engine", "scalar_engine", "gpsimd_engine", "unknown_engine",
        "divide",
    }  # fmt: skip
    assert (set(isa.__all__) | set(language.__all__)) - listed == beyond


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{written()}\n{END}{after}", encoding="utf-8")
    sys.stdout.write(f"{PAGE} written\n")
