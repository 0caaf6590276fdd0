"""Which ranks belong together: `--group tensor=8` or `--replica-groups '[[0,1],[2,3]]'`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.bounded import kinds
from trnbench.bounded.json import NotJson, parse_json
from trnbench.quoting import cut

if TYPE_CHECKING:
    from trnbench_emulator.fabric.systems import Fabric

KINDS = ("pipeline", "data", "expert", "tensor")
"""Outermost first: tensor groups talk most and take neighbours."""
REST = "rest"


def groups_of(fabric: Fabric, kinds: tuple[str, ...], replica: str | None) -> list[list[int]]:
    """Empty for all ranks together. The groups are those of the kind named first.

    Raises UsageError for what is unknown or does not divide the ranks.
    """
    from trnbench.errors import UsageError

    if kinds and replica:
        raise UsageError(
            "--group and --replica-groups exclude each other",
            cause="either says which ranks belong together",
            try_="one of them",
        )
    if replica:
        return _replica(fabric, replica)
    if not kinds:
        return []
    asked = [_kind(text) for text in kinds]
    names = [name for name, _ in asked]
    if len(set(names)) != len(names):
        raise UsageError("--group names a kind twice", cause=", ".join(kinds), try_="--group tensor=8")
    sizes = dict(asked)
    product = 1
    for size in sizes.values():
        product *= size
    if fabric.size % product:
        shown = " × ".join(str(size) for size in sizes.values())
        raise UsageError(
            f"groups of {shown} do not divide {fabric.size} ranks",
            cause=f"{fabric.size} / {product} leaves {fabric.size % product}",
            try_=f"a product that divides {fabric.size}",
        )
    ordered = {name: sizes[name] for name in KINDS if name in sizes}
    # What is not named lies inside data and pipeline groups, and outside of expert and tensor groups.
    if "tensor" in ordered or "expert" in ordered:
        ordered = {REST: fabric.size // product, **ordered}
    else:
        ordered = {**ordered, REST: fabric.size // product}
    if sizes[names[0]] < 2:
        raise UsageError(
            f"a {names[0]} group of {sizes[names[0]]} exchanges nothing",
            cause="it takes 2 ranks or more",
            try_=f"--group {names[0]}=2",
        )
    return fabric.groups(ordered, names[0])


def _kind(text: str) -> tuple[str, int]:
    from trnbench.errors import UsageError

    name, _, number = text.partition("=")
    if name not in KINDS:
        raise UsageError(
            f"unknown group {name!r}",
            cause=f"there are {', '.join(reversed(KINDS))}",
            try_="--group tensor=8",
        )
    size = kinds.GROUP.parsed(number)
    if size is None:
        raise UsageError(
            f"--group {cut(text)} has no size", cause="a whole number, 1 or more", try_="--group tensor=8"
        )
    return name, int(size)


def _replica(fabric: Fabric, text: str) -> list[list[int]]:
    from trnbench.errors import UsageError
    from trnbench_emulator.fabric.groups import check_groups

    try:
        groups = parse_json(text)
    except NotJson:
        groups = None
    if not isinstance(groups, list) or not all(
        isinstance(each, list) and all(type(rank) is int for rank in each) for each in groups
    ):
        raise UsageError(
            f"--replica-groups {text[:60]!r} is no list of lists of ranks",
            cause="it is read as JSON: brackets within brackets, whole numbers in them",
            try_="--replica-groups '[[0,1],[2,3]]'",
        )
    check_groups(groups, fabric.size)
    return groups
