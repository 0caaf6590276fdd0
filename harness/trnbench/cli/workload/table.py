"""A table of a model's page: its key, the columns that are shown, and all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from trnbench.cli.output import Column

Row: TypeAlias = dict[str, object]
Table: TypeAlias = tuple[str, Sequence[Column | str], list[Row]]
