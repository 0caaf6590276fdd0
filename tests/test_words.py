"""Words of README and docs, and the length of sentences in docs, help and messages.

`python tests/test_words.py` prints the count of each page, and each sentence of the program that is too long.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Without docs/research and docs/decisions, which say how it came to be."""
MOST_WORDS = 30_000
MOST_OF_A_PAGE = 3_000
"""A page beyond it is split, or cut."""
LONG_SENTENCE = 30
"""Words; at most a twentieth of the sentences of a page have more."""
LONGEST_OF_A_MESSAGE = 25
"""Words of a sentence of help or of a message."""
KINDS = ("Tutorial", "How-to", "Reference", "Explanation")
LISTS = {"README.md", "glossary.md"}
"""Pages of docs that no command answers: the index, and a list that the page of a report shows too."""

GENERATED = re.compile(
    r"<!-- (\w+): begin.*?<!-- \1: end -->|<!-- (\w+): generated -->.*?<!-- end of \2 -->", re.DOTALL
)
INDENTED = re.compile(r"^    .*$", re.MULTILINE)
FENCED = re.compile(r"^( *)(```+).*?^ *\2 *$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`(?:\.\./)*([\w./]*/\w+\.(?:py|toml|md|json|txt))`")
FOLDERS = ("harness", "plugins", "reports", "tests")
NO_FILES = {"/home/me/client/my.toml", "costs/trn2/trnbench_trn2/costs.toml"}
"""An example, and the name of a stored text."""
ENDS = re.compile(r"""(?<=[.!?])["'”)*_`]*\s+(?=["'“(*_`\[]*[A-Z0-9`])""")
LISTED = re.compile(r"^([-*]|\d+\.) ")
"""The begin of an item of a list."""


def words(text: str) -> int:
    """Those of `text`, without addresses of links and without marks that have no letter or digit."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return sum(bool(re.search(r"\w", word)) for word in re.sub(r"<[^>]+>", " ", text).split())


def sentences(text: str) -> Iterator[str]:
    """Of one paragraph, one item or one cell."""
    yield from (part for part in ENDS.split(text) if words(part))


def paragraphs(page: str) -> Iterator[str]:
    """Paragraphs, headings, items of lists and cells of tables, without code and what a command writes."""
    text = INDENTED.sub("", FENCED.sub("", GENERATED.sub("", page)))
    lines: list[str] = []
    for line in (*text.splitlines(), ""):
        bare = line.strip()
        if lines and (not bare or bare[0] in "#|" or LISTED.match(bare)):
            yield " ".join(lines)
            lines = []
        if bare.startswith("#"):
            yield bare.lstrip("# ")
        elif bare.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", bare.strip("|")))
        elif bare:
            lines.append(LISTED.sub("", bare, count=1))


def lengths(page: Path) -> list[int]:
    text = page.read_text(encoding="utf-8")
    return sorted(words(each) for part in paragraphs(text) for each in sentences(part))


def percentile(counts: list[int]) -> int:
    """The 95th of sorted counts."""
    return counts[int(0.95 * len(counts))] if counts else 0


# Texts of the program: neither a docstring, a query nor a formula, and in one paragraph -----------------

QUERY = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH) ")


def whole(node: ast.expr) -> str:
    """A text; what is put into it stands as one word."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_bytes())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in docstrings:
            text = whole(node)
            if "\n" not in text and "·" not in text and not QUERY.match(text):
                yield node.lineno, text


def long_texts() -> Iterator[str]:
    for folder in ("harness", "plugins", "reports"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in texts(path):
                yield from (
                    f"{path.relative_to(ROOT)}:{line}: {words(each)}: {each}"
                    for each in sentences(text)
                    if words(each) > LONGEST_OF_A_MESSAGE
                )


def long_help() -> Iterator[str]:
    import click

    from trnbench.cli.commands import find_commands

    found: dict[str, str] = {}

    def read(name: str, command: click.Command) -> None:
        for text in (command.help, command.epilog, command.short_help):
            for part in re.split(r"\n\s*\n", text or ""):
                found.update(dict.fromkeys(sentences(part), name))
        for option in command.params:
            found.update(
                dict.fromkeys(sentences(getattr(option, "help", None) or ""), f"{name} {option.name}")
            )
        if isinstance(command, click.Group):
            context = click.Context(command)
            for member in command.list_commands(context):
                leaf = command.get_command(context, member)
                read(f"{name} {member}", leaf)

    for name, entry in find_commands().items():
        read(name, entry.load())
    return (
        f"{name}: {words(each)}: {each}" for each, name in found.items() if words(each) > LONGEST_OF_A_MESSAGE
    )


# What holds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_a_page_is_short_and_so_are_its_sentences(page: Path) -> None:
    counts = lengths(page)
    assert sum(counts) <= MOST_OF_A_PAGE, f"{page.name} has {sum(counts):,} words"
    assert percentile(counts) <= LONG_SENTENCE, f"{page.name}: one sentence in twenty has more words"


def test_all_pages_together() -> None:
    total = sum(sum(lengths(page)) for page in PAGES)
    assert total <= MOST_WORDS, f"{total:,} words: `python tests/test_words.py` has the count of each page"


@pytest.mark.parametrize("page", [each for each in PAGES if each.parent != ROOT], ids=lambda each: each.name)
def test_a_page_says_its_purpose_and_begins_with_a_command(page: Path) -> None:
    head = page.read_text(encoding="utf-8").partition("\n## ")[0]
    assert re.search(rf"^# .+\n\n\*?({'|'.join(KINDS)}): ", head), (
        "what kind of page it is stands below its name"
    )
    if page.name not in LISTS:
        assert re.search(r"^(\$|    )? ?(trnbench|python|pip|export|pytest)", head, re.MULTILINE)


def test_no_sentence_of_a_message_is_long() -> None:
    assert list(long_texts()) == []


@pytest.mark.parts
def test_no_sentence_of_help_is_long() -> None:
    assert list(long_help()) == []


def test_a_sentence_and_a_word_are_what_they_are_called() -> None:
    told = "One two. Three [four](five.md) – `six`!"
    page = f"# A *b*\n\n{told}\n\n```sh\n7\n```\n\n    8\n\n| a | b c |\n|---|---|\n\n- d\n  e\n"
    assert [each for each in paragraphs(page) if words(each)] == ["A *b*", told, "a", "b c", "d e"]
    assert [words(each) for each in sentences(told)] == [2, 3]


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((ROOT / ".github").glob("*.md"))], ids=lambda page: page.name
)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = {name for name in FILE.findall(page.read_text(encoding="utf-8")) if name not in NO_FILES}
    missing = {
        name
        for name in named
        if not any(ROOT.glob(name)) and not any((ROOT / folder).glob(f"**/{name}") for folder in FOLDERS)
    }
    assert missing == set()


if __name__ == "__main__":
    for page in PAGES:
        counts = lengths(page)
        print(f"{sum(counts):6,} words, one sentence in twenty above {percentile(counts):2}: {page.name}")
    print(f"{sum(sum(lengths(page)) for page in PAGES):6,} words")
    print("\n".join((*long_help(), *long_texts())))
