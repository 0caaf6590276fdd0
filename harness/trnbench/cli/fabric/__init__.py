"""`trnbench fabric`: questions to the links of a system, answered by the flow model."""

from __future__ import annotations

import click

from trnbench.cli.fabric.algorithms import algorithms
from trnbench.cli.fabric.links import links
from trnbench.cli.fabric.pairs import bisection, incast, matrix
from trnbench.cli.fabric.pingpong import pingpong
from trnbench.cli.fabric.run import run
from trnbench.cli.fabric.scale import scale
from trnbench.cli.fabric.sensitivity import sensitivity


@click.group()
def fabric() -> None:
    """Ask the links of a system: collectives, pairs, cuts, and what is assumed.

    Every answer is emulated: flows share the documented links max-min fair. Sizes take K, M and G as
    powers of two (64K, 1G), GB/s are 10⁹ bytes per second.
    """


for command in (run, matrix, pingpong, bisection, incast, scale, links, sensitivity, algorithms):
    fabric.add_command(command)
