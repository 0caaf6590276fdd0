"""The program of a public kernel whose file is not simply that: a listing in a document, a text that its
harness completes, a constant that the publication set to something else."""

from __future__ import annotations

import ast
import re
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trnbench_fidelity.kernel_source import KernelSource
from trnbench_fidelity.prediction import NotEmulated


@contextmanager
def prepared(path: Path, source: KernelSource) -> Iterator[Path]:
    """The file to load: `path` itself, or a copy for as long as it is needed, its lines where they were.

    Raises `NotEmulated` for a listing that is not there, or a constant that is not set exactly once.
    """
    if not (source.listing or source.header or source.constants):
        yield path
        return
    text = path.read_text(encoding="utf-8")
    if source.listing:
        text = _listing(text, path, source)
    if source.header:
        text = "; ".join(source.header) + ("" if text.startswith("\n") else "\n") + text
    for constant in source.constants:
        text = _set(text, path, *constant.split("=", 1))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"{path.stem}.py"
        copy.write_text(text, encoding="utf-8")
        yield copy


def _listing(text: str, path: Path, source: KernelSource) -> str:
    definitions = [
        (line, each)
        for line, each in (_texts(text) if path.suffix == ".py" else _blocks(text))
        if _defines(each, source.function)
    ]
    if source.listing > len(definitions):
        raise NotEmulated(
            f"{source.file} has {len(definitions)} listings of {source.function}, not {source.listing}",
            source_missing=True,
        )
    line, program = definitions[source.listing - 1]
    return "\n" * (line - 1) + program


def _texts(text: str) -> list[tuple[int, str]]:
    """Texts of more than a line in a Python file, each with the line it starts at."""
    return sorted(
        (each.lineno, each.value)
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and "\n" in each.value
    )


def _blocks(text: str) -> list[tuple[int, str]]:
    """Python listings of a document in reStructuredText or Markdown, each with the line it starts at."""
    lines = text.split("\n")
    blocks = []
    for number, line in enumerate(lines, 1):
        directive = re.fullmatch(r"(\s*)\.\. code-block:: python\s*", line)
        if directive:
            body = _indented(lines[number:], len(directive[1]))
            blocks.append((number + 1, textwrap.dedent("\n".join(body))))
        fence = re.fullmatch(r"(\s*)```(python|py)\s*", line)
        if fence:
            rest = lines[number:]
            end = next((i for i, each in enumerate(rest) if each.strip() == "```"), len(rest))
            blocks.append((number + 1, textwrap.dedent("\n".join(rest[:end]))))
    return blocks


def _indented(lines: list[str], margin: int) -> list[str]:
    """What belongs to a directive: blank lines and those further in, its options left out."""
    body: list[str] = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) <= margin:
            break
        options = not any(each.strip() for each in body)
        body.append("" if options and re.match(r"\s*:\w+:", line) else line)
    return body


def _defines(text: str, function: str) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(each, ast.FunctionDef) and each.name == function for each in tree.body)


def _set(text: str, path: Path, name: str, value: str) -> str:
    changed, count = re.subn(
        rf"^([ \t]*{name}[ \t]*=[ \t]*)-?\d[\d.]*(?=[ \t]*(?:#.*)?$)", rf"\g<1>{value}", text, flags=re.M
    )
    if count != 1:
        raise NotEmulated(f"{path.name} sets {name} to a number in {count} places, not in one")
    return changed
