"""`--trace-limit`: how large a file for trace viewers may become."""

from __future__ import annotations

import click

from trnbench.bounded import kinds
from trnbench.cli.number import NumberType

trace_limit_option = click.option(
    "--trace-limit",
    type=NumberType(kinds.TRACE),
    default="64M",
    show_default=True,
    metavar="SIZE",
    help="Largest size of that file.",
)
"""Stands behind the option that names the file."""
