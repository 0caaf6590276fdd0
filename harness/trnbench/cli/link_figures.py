"""How documented NeuronLink figures are read: options of whatever builds a graph.

Builders have their own defaults and say which reading they took, so nothing is passed on unless asked.
"""

from __future__ import annotations

import click

trn3_links_option = click.option(
    "--trn3-links",
    type=click.Choice(("levels", "table", "chip-page")),
    help="Which of the three NeuronLink figures of Trn3 the links get.  [default: levels]",
)
neuronlink_direction_option = click.option(
    "--neuronlink-direction",
    type=click.Choice(("one-way", "both-ways")),
    help="How documented NeuronLink figures are read.  [default: one-way]",
)
