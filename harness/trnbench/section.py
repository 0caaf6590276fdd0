"""What a reporting plugin yields: sections of the page, whole output formats, and pages of commands."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from trnbench.lazy import Ref

Depth: TypeAlias = Literal[1, 2, 3]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A section of the HTML report.

    `render` references `(runs: Sequence[Run]) -> str`: a safe HTML fragment (markupsafe.Markup),
    or "" when the section has nothing to show. `order` places it: the built-in ones use 10, 20, ….

    `depth` is how far down the page a reader meets it: 1 the first screen, 2 what holds a machine back, 3 the
    rest, opened on demand. `needs` says what data it is made of and `fill` what would bring them: with both,
    a section that has nothing to show says so in the place of being left out.
    """

    name: str  # also the fragment in the URL: "scoreboard"
    title: str
    order: int
    render: Ref
    depth: Depth = 3
    needs: str = ""  # "watts of each case"
    fill: str = ""  # "trnbench run --backend neuron, as root"


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """An output format. `write` references `(runs: Sequence[Run]) -> bytes`.

    A `page` is made of sections and is given them: `(runs, sections: Sequence[Section]) -> bytes`; one that
    has a parameter `before` is given the run before, where the store has one. A format with a `part` writes
    that part of the page alone, for `trnbench report --part`.
    """

    name: str  # "html", "json", "csv", "markdown"
    title: str
    suffix: str  # ".html"
    write: Ref
    binary: bool = False
    page: bool = False
    part: str = ""  # "headline", "scoreboard", …


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a command that shows something else than runs. `write` references a function of what
    the command found that returns bytes: for "history" the HTML page of a sequence of `trnbench.CaseHistory`,
    for "plan" the SVG drawing of one `trnbench.Pareto`.
    """

    name: str  # of the command: "history"
    title: str
    write: Ref


class Importer(msgspec.Struct, frozen=True, kw_only=True):
    """A reader of another tool's results, for `trnbench import FILE --from NAME`.

    `read` references `(data: bytes) -> ImportedRun`, or a `Run`, or a sequence of runs. What it cannot read
    it says by raising a `trnbench.TrnbenchError`.
    """

    name: str
    title: str
    read: Ref
