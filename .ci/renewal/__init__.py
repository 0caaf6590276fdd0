"""What only `.ci/renew` needs: it makes what the repository keeps of the model, and is part of no wheel."""

from __future__ import annotations

from pathlib import Path

from trnbench.errors import BadInput
from trnbench_fidelity.tables import BEGIN, END

ROOT = Path(__file__).parents[2]
README, ERRORS, REPORT = ROOT / "README.md", ROOT / "docs" / "errors.md", ROOT / "docs" / "report.md"


def write(path: Path, text: str) -> None:
    """Whoever reads the file meanwhile finds it whole as long as nothing has changed."""
    if not (path.is_file() and path.read_text(encoding="utf-8") == text):
        path.write_text(text, encoding="utf-8")


def inserted(text: str, table: str, begin: str = BEGIN, end: str = END) -> str:
    """`text` with what stands between the lines `begin` and `end` replaced by `table`.

    Raises `BadInput` unless both are there once, in this order.
    """
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed or begin in after or end in after:
        raise BadInput(
            "the text does not have the two lines between which the table stands",
            cause="each has to be there once, in this order",
            try_=f"add {begin} and {end}",
        )
    return f"{before}{begin}\n\n{table}\n{end}{after}"
