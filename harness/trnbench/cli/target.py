"""Where a command writes what it made: stdout unless a file is named."""

from __future__ import annotations

from pathlib import Path

import click

STDOUT = Path("-")

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=STDOUT,
    metavar="FILE",
    help="Where it goes.  [default: stdout]",
)
"""`@output_option` gives a command the parameter `output`: `STDOUT`, or a path to be checked."""

force_option = click.option("--force", is_flag=True, help="Overwrite FILE whatever it is.")
"""For `trnbench.run.writing.check_writable`, which else refuses to replace what trnbench did not write."""
