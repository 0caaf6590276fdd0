"""Bad input to `trnbench fabric`: one clear message each, exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabric_command import TRN1, TRN2, invoke

BAD = {
    "unknown group": (
        ("run", "all_reduce", "-i", TRN2, "--group", "foo=2"),
        "error: unknown group 'foo'\n  cause: there are tensor, expert, data, pipeline\n"
        "  try:   --group tensor=8\n",
    ),
    "ranks that do not divide": (
        ("run", "all_reduce", "-i", TRN2, "--group", "tensor=6"),
        "error: groups of 6 do not divide 16 ranks\n  cause: 16 / 6 leaves 4\n"
        "  try:   a product that divides 16\n",
    ),
    "below one element": (
        ("run", "all_reduce", "-i", TRN2, "-b", "2", "-d", "fp32"),
        "error: 2 B is less than one fp32 element\n  cause: an element takes 4 B\n  try:   -b 4\n",
    ),
    "nothing to send": (
        ("run", "all_reduce", "-i", TRN2, "-b", "0"),
        "error: a sweep starts at 1 byte or more\n  cause: -b is 0\n  try:   -b 8\n",
    ),
    "disconnected": (
        (
            *("run", "all_reduce", "-i", TRN1, "--degrade", "d0-d1=0", "--degrade", "d0-d3=0"),
            *("--degrade", "d0-d4=0", "--degrade", "d0-d12=0"),
        ),
        "error: trn1.32xlarge: no route from d0 to d1\n"
        "  cause: the links left after --degrade or the chosen link kinds do not connect them\n"
        "  try:   trnbench topology check trn1.32xlarge\n",
    ),
    "negative bandwidth": (
        ("run", "all_reduce", "-i", TRN2, "--degrade", "d0-d1=-1"),
        "error: --degrade d0-d1=-1 is no LINK=FACTOR\n"
        "  cause: a link is two nodes with - or > between; a factor is 0 for a dead link, or 0.001 to 1000\n"
        "  try:   --degrade d0-d1=0.5\n",
    ),
    "unknown link": (
        ("run", "all_reduce", "-i", TRN1, "--degrade", "d0-d5=0.5"),
        "error: trn1.32xlarge has no link d0-d5\n"
        "  cause: d0 is joined to d12, d3, d4, d1, numa0, efa0\n"
        "  try:   trnbench topology show trn1.32xlarge\n",
    ),
    "no factor": (
        ("run", "all_reduce", "-i", TRN1, "--degrade", "d0-d1"),
        "error: --degrade d0-d1 is no LINK=FACTOR\n"
        "  cause: a link is two nodes with - or > between; a factor is 0 for a dead link, or 0.001 to 1000\n"
        "  try:   --degrade d0-d1=0.5\n",
    ),
    "not possible here": (
        ("run", "all_reduce", "-i", TRN2, "-a", "kangaring"),
        "error: kangaring needs pairs of ranks that share a device\n"
        "  cause: trn2-16.48xlarge has 1 ranks per device here\n"
        "  try:   --ranks core or logical-core, or --algorithm ring\n",
    ),
    "not for this collective": (
        ("run", "all_to_all", "-i", TRN2, "-a", "ring"),
        "error: ring does no all_to_all\n  cause: these do: direct, pairwise\n  try:   --algorithm direct\n",
    ),
    "one rank": (
        ("run", "all_reduce", "-i", "trn1.2xlarge"),
        "error: a collective needs at least 2 ranks\n  cause: trn1.2xlarge has 1 here, one per device\n"
        "  try:   --ranks core, or a system of several devices\n",
    ),
    "unknown collective": (
        ("run", "all_reduc", "-i", TRN2),
        "error: unknown collective 'all_reduc'\n  cause: did you mean all_reduce, reduce, all_gather?\n"
        "  try:   trnbench fabric algorithms -i trn2-16.48xlarge\n",
    ),
    "no size": (
        ("run", "all_reduce", "-i", TRN2, "-e", "lots"),
        "error: --maxbytes 'lots' is no size\n"
        "  cause: a number with K, M or G behind it, which are powers of two\n"
        "  try:   --maxbytes 64K\n",
    ),
    "no way up": (
        ("run", "all_reduce", "-i", TRN2, "-f", "1"),
        "error: a factor of 1 leads nowhere\n  cause: it multiplies the size\n  try:   -f 2\n",
    ),
    "backwards": (
        ("run", "all_reduce", "-i", TRN2, "-b", "1M", "-e", "1K"),
        "error: the sweep ends at 1024 B before it starts at 1048576 B\n"
        "  cause: -e is the last size, -b the first\n  try:   -b 8 -e 1G\n",
    ),
    "rank twice": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "[[0,1],[1,2]]"),
        "error: rank 1 is in two replica groups\n  cause: every rank takes part once\n"
        "  try:   --replica-groups '[[0,1],[2,3]]'\n",
    ),
    "unequal groups": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "[[0,1],[2,3,4]]"),
        "error: replica groups must be of one size, two ranks or more\n  cause: sizes given: 2, 3\n"
        "  try:   --replica-groups '[[0,1],[2,3]]'\n",
    ),
    "rank out of reach": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "[[0,99]]"),
        "error: rank 99 is not there\n  cause: ranks are 0 to 15\n"
        "  try:   one of these, or --ranks core, which makes every core a rank\n",
    ),
    "no groups": (
        ("run", "all_reduce", "-i", TRN2, "--replica-groups", "{}"),
        "error: --replica-groups '{}' is no list of lists of ranks\n"
        "  cause: it is read as JSON: brackets within brackets, whole numbers in them\n"
        "  try:   --replica-groups '[[0,1],[2,3]]'\n",
    ),
    "oversubscription below one": (
        ("run", "all_reduce", "-i", "trn1-ultracluster:2", "--oversubscription", "0.5"),
        "error: --oversubscription '0.5' is no oversubscription\n"
        "  cause: it says how many times less the network carries than the adapters, 1 to 1,000\n"
        "  try:   --oversubscription 2\n",
    ),
    "three figures of Trn3": (
        ("run", "all_reduce", "-i", TRN2, "--trn3-links", "table"),
        "error: trn2-16.48xlarge takes no --trn3-links\n"
        "  cause: only documents of Trn3 give three figures for one link\n  try:   leave it out\n",
    ),
    "nothing beside": (
        ("run", "all_reduce", "-i", TRN2, "--with", "all_to_all"),
        "error: --with all_to_all is no COLLECTIVE=SIZE\n"
        "  cause: a collective, its message, and behind @ the groups if there are some\n"
        "  try:   --with all_to_all=64M or --with all_to_all=64M@expert=8\n",
    ),
    "no straggler": (
        ("run", "all_reduce", "-i", TRN2, "--straggler", "3=half"),
        "error: --straggler 3=half is no RANK=SHARE and no RANK=TIME\n"
        "  cause: a share is 0.001 to 1; a time has a unit (ns, us, ms or s) and is 1000 s at most\n"
        "  try:   --straggler 3=0.5 or --straggler 3=50us\n",
    ),
    "straggler without speed": (
        ("run", "all_reduce", "-i", TRN2, "--straggler", "3=0"),
        "error: --straggler 3=0 is no RANK=SHARE and no RANK=TIME\n"
        "  cause: a share is 0.001 to 1; a time has a unit (ns, us, ms or s) and is 1000 s at most\n"
        "  try:   --straggler 3=0.5 or --straggler 3=50us\n",
    ),
    "straggler that is not there": (
        ("run", "all_reduce", "-i", TRN2, "--straggler", "16=0.5"),
        "error: rank 16 is not there\n  cause: ranks are 0 to 15\n"
        "  try:   one of these, or --ranks core, which makes every core a rank\n",
    ),
    "link of a cluster that is not there": (
        ("run", "all_reduce", "-i", "trn1-ultracluster:8", "--degrade", "s8.d0-s8.d1=0.5"),
        "error: trn1-ultracluster:8 has no link s8.d0-s8.d1\n"
        "  cause: links are named by the nodes they join, as in d0-d1\n"
        "  try:   trnbench topology show trn1-ultracluster:8\n",
    ),
    "too many pairs": (
        ("matrix", "-i", "trn1-ultracluster"),
        "error: trn1-ultracluster: 30,000 ranks are not built node by node\n  cause: up to 4,096 are\n"
        "  try:   an all-reduce, reduce-scatter or all-gather over all of them, or a smaller cluster\n",
    ),
    "counts out of reach": (
        ("scale", "all_reduce", "-i", TRN2, "--counts", "2,99"),
        "error: --counts 2,99 is not within reach\n  cause: 2 to 16 are there\n  try:   --counts 2,4,8\n",
    ),
}


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


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_message(case: str) -> None:
    args, expected = BAD[case]
    found = invoke(*args)
    assert (found.stderr, found.stdout, found.exit_code) == (expected, "", 2)


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
