"""Bad input to `trnbench fabric`: one clear message each, exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabric_command import TRN1, invoke

FACTS = """schema = 1
override = true
[sources.mine]
document = 'mine'
[[group]]
subject = 'trn1.32xlarge'
scope = 'device'
source = 'mine'
locator = 'x'
facts = [{metric='neuronlink_bandwidth', printed='WHAT', unit='GB/s', direction='unstated'}]
"""


def test_links_without_bandwidth_are_one_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(FACTS.replace("WHAT", "-384"))
    below = invoke("run", "all_reduce", "-i", TRN1, "--facts", str(mine))
    assert (below.stderr, below.exit_code) == (
        f"error: {mine}: [[group]] 1, fact 1: '-384' is negative\n"
        "  cause: no documented figure of a machine is below zero\n"
        "  try:   write the printed digits without the sign, or leave the fact out\n",
        2,
    )
    mine.write_text(FACTS.replace("WHAT", "0"))
    zero = invoke("run", "all_reduce", "-i", TRN1, "--facts", str(mine))
    assert (zero.stderr, zero.exit_code) == (
        "error: trn1.32xlarge: a link has no bandwidth\n"
        "  cause: a bandwidth of zero or below in the facts or in --degrade\n"
        "  try:   trnbench topology show trn1.32xlarge\n",
        2,
    )
    monkeypatch.setenv("TRNBENCH_FACTS", str(mine))
    assert invoke("run", "all_reduce", "-i", TRN1).stderr == zero.stderr
