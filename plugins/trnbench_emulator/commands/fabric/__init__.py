"""`trnbench fabric`: questions to the links of a system, answered by the flow model."""

from __future__ import annotations

import click

from trnbench_emulator.commands.fabric.algorithms import algorithms
from trnbench_emulator.commands.fabric.links import links
from trnbench_emulator.commands.fabric.pairs import bisection, incast, matrix
from trnbench_emulator.commands.fabric.pingpong import pingpong
from trnbench_emulator.commands.fabric.run import run
from trnbench_emulator.commands.fabric.scale import scale
from trnbench_emulator.commands.fabric.sensitivity import sensitivity


@click.group()
def fabric() -> None:
    """Ask the links of a system: collectives, pairs, cuts, and what is assumed.

    Every answer is emulated: flows share the documented links max-min fair. Sizes take K, M and G as
    powers of two (64K, 1G), GB/s are 10⁹ bytes per second.
    """


for command in (run, matrix, pingpong, bisection, incast, scale, links, sensitivity, algorithms):
    fabric.add_command(command)
