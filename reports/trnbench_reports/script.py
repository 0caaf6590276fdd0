"""The page's one script, joined from files that each do one thing and share their names."""

from __future__ import annotations

from trnbench_reports.template import asset

PARTS = (
    "numbers.js",  # as people read them
    "columns.js",  # reads the data without putting it together
    "data.js",  # unpacks it; runs, cases, published points
    "words.js",  # what is said of a case
    "elements.js",  # makes elements; text stays text
    "strip.js",  # the timeline
    "explain.js",  # the drawer's blocks
    "drawer.js",  # opens, closes, follows the address
    "table.js",  # sorts, filters, pages
    "cases.js",  # all cases
    "chart.js",  # pointer, keys and legend of charts; saves them
    "page.js",  # where the reader is, what unfolds
)


def script() -> str:
    """With \\n line ends: its hash is in the policy."""
    return '(() => {\n"use strict";\n' + "".join(map(asset, PARTS)) + "})();\n"
