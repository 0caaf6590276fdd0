"""Readings: where documents of a system's links can be read in more than one way."""

from __future__ import annotations

READINGS = {"neuronlink": ("one-way", "both-ways"), "trn3-links": ("levels", "table", "chip-page")}
"""Of each reading's name its values; the first is taken unless another is asked for."""

BUILDERS = {"neuronlink": "neuronlink_direction", "trn3-links": "trn3_links"}
"""What builders of graphs call them."""
