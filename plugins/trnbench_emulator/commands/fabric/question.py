"""What is asked of a collective: uneven parts (`--shares 3,1,1,1`, `zipf:1.2`), groups, others beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, prod
from typing import TYPE_CHECKING

from trnbench import NotJson, parse_json
from trnbench.bounded import kinds
from trnbench.bounded.kinds import MESSAGE
from trnbench.errors import UsageError, cut
from trnbench.facts.units import show
from trnbench_emulator.commands.vocabulary import UNEVEN, Collective
from trnbench_emulator.fabric.groups import check_groups
from trnbench_emulator.fabric.question import Beside
from trnbench_emulator.fabric.transform import fractions

if TYPE_CHECKING:
    from trnbench_emulator.fabric.systems import Fabric


def shares_of(collective: str, shares: str | None, ranks: int) -> tuple[float, ...]:
    """One for each of `ranks`, adding up to 1; empty where the collective has equal parts.

    Raises UsageError for what cannot be read, does not fit the ranks, or is given to equal parts.
    """
    if collective not in UNEVEN:
        if shares is None:
            return ()
        instead = f"{collective}_v" if f"{collective}_v" in UNEVEN else UNEVEN[1]
        raise UsageError(
            f"{collective} takes no --shares",
            cause=f"its parts are alike; {', '.join(UNEVEN)} take uneven ones",
            try_=f"trnbench fabric run {instead} --shares {shares}",
        )
    if shares is None:
        return fractions([1.0] * ranks)
    return fractions(_skewed(shares, ranks) if ":" in shares else _listed(shares, ranks))


def about_shares(collective: str, shares: str | None, found: Sequence[float]) -> str:
    """In a line: what was given, whose it is, and the range of it."""
    held = {"all_gather_v": "held by each rank", "reduce_scatter_v": "kept by each rank"}
    whose = held.get(collective, "sent to each rank")
    return (
        f"shares: {shares or 'all alike'}, {whose}; largest {max(found) * 100:.3g} %,"
        f" smallest {min(found) * 100:.3g} %, even {100 / len(found):.3g} %"
    )


def _listed(text: str, ranks: int) -> list[float]:
    shares = [float(each) for each in map(kinds.SHARE.parsed, text.split(",")) if each is not None]
    if len(shares) != text.count(",") + 1:
        raise UsageError(
            f"--shares {cut(text)} are no numbers",
            cause="numbers from 0 to 1e12 with commas between",
            try_="--shares 3,1,1,1",
        )
    if len(shares) > ranks or ranks % len(shares):
        raise UsageError(
            f"{len(shares)} shares do not fit {ranks} ranks",
            cause="one for each rank is taken, or a pattern that is repeated a whole number of times",
            try_=f"a number of shares that divides {ranks}",
        )
    return shares * (ranks // len(shares))


def _skewed(text: str, ranks: int) -> list[float]:
    rule, _, number = text.partition(":")
    kind = {"zipf": kinds.ZIPF, "hot": kinds.HOT}.get(rule.strip())
    exact = kind.parsed(number) if kind else None
    if exact is None:
        raise UsageError(
            f"--shares {cut(text)} is no zipf:S and no hot:SHARE",
            cause="S is 0 (even) to 100, SHARE is 0 to 1, that of rank 0",
            try_="--shares zipf:1.2 or --shares hot:0.5",
        )
    value = float(exact)
    if rule.strip() == "zipf":
        return [(rank + 1) ** -value for rank in range(ranks)]
    return [value, *[(1 - value) / max(ranks - 1, 1)] * (ranks - 1)]


KINDS = ("pipeline", "data", "expert", "tensor")
"""Outermost first: tensor groups talk most and take neighbours."""
REST = "rest"


Groups = tuple[tuple[int, ...], ...]


def groups_of(fabric: Fabric, kinds: tuple[str, ...]) -> Groups:
    """Empty for all ranks together. The groups are those of the kind named first, or those listed as JSON.

    Raises UsageError for what is unknown or does not divide the ranks.
    """
    listed = [text for text in kinds if text.lstrip().startswith(("[", "{"))]
    if listed and len(kinds) > 1:
        raise UsageError(
            "--group is given a list of ranks and more",
            cause="either says which ranks belong together",
            try_="one of them",
        )
    if listed:
        return _replica(fabric, listed[0])
    if not kinds:
        return ()
    asked = [_kind(text) for text in kinds]
    names = [name for name, _ in asked]
    if len(set(names)) != len(names):
        raise UsageError("--group names a kind twice", cause=", ".join(kinds), try_="--group tensor=8")
    sizes = dict(asked)
    product = prod(sizes.values())
    if fabric.size % product:
        raise UsageError(
            f"groups of {' × '.join(map(str, sizes.values()))} do not divide {fabric.size} ranks",
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
    return tuple(map(tuple, fabric.groups(ordered, names[0])))


def _kind(text: str) -> tuple[str, int]:
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


def _replica(fabric: Fabric, text: str) -> Groups:
    try:
        groups = parse_json(text)
    except NotJson:
        groups = None
    if not isinstance(groups, list) or not all(
        isinstance(group, list) and all(type(rank) is int for rank in group) for group in groups
    ):
        raise UsageError(
            f"--group {text[:60]!r} is no list of lists of ranks",
            cause="it is read as JSON: brackets within brackets, whole numbers in them",
            try_="--group '[[0,1],[2,3]]'",
        )
    check_groups(groups, fabric.size)
    return tuple(map(tuple, groups))


MOST = 10_000
"""Sizes of one sweep at most: more is a slip of the finger."""


def shown(size: float) -> str:
    """8 B, 64 KiB, 1 GiB."""
    return show(size, "B")


SMALLEST, LARGEST = 8, 2**30
"""Bytes of a sweep for which neither end is given."""


USUAL = 64 * 2**20


def message(minbytes: int | None) -> int:
    """Bytes where one size is asked about."""
    return USUAL if minbytes is None else minbytes


def sweep(first: int | None, last: int | None, factor: float, step: int | None) -> Iterator[int]:
    """`first`, then times `factor` (or plus `step` bytes) up to `last`; one size where only `first` is given.

    Raises UsageError for no way up.
    """
    last = last if last is not None else first or LARGEST
    first = SMALLEST if first is None else first
    if first < 1:
        raise UsageError("a sweep starts at 1 byte or more", cause=f"-b is {first}", try_="-b 8")
    if last < first:
        raise UsageError(
            f"the sweep ends at {show(last, 'B')} before it starts at {show(first, 'B')}",
            cause="-e is the last size, -b the first",
            try_=f"-b {last} -e {first}",
        )
    if step is not None and step < 1:
        raise UsageError(
            f"a step of {step} bytes leads nowhere", cause="it is added to the size", try_="--step 1M"
        )
    if step is None and not factor > 1:
        raise UsageError(f"a factor of {factor:g} leads nowhere", cause="it multiplies the size", try_="-f 2")
    size = first
    for _ in range(MOST):
        yield size
        size = size + step if step is not None else max(floor(size * factor), size + 1)
        if size > last:
            return
    how = f"in steps of {step}" if step is not None else f"by a factor of {factor!r}"
    raise UsageError(f"more than {MOST:,} sizes", cause=f"{first} to {last} {how}", try_="-f 2")


def others_of(fabric: Fabric, texts: Sequence[str]) -> list[Beside]:
    """What `--with` names. Raises UsageError for what cannot be read."""
    neighbours = []
    for text in texts:
        what, _, kinds = text.partition("@")
        name, equals, size = what.partition("=")
        if not equals:
            raise UsageError(
                f"--with {text} is no COLLECTIVE=SIZE",
                cause="a collective, its message, and behind @ the groups if there are some",
                try_="--with all_to_all=64M or --with all_to_all=64M@expert=8",
            )
        neighbours.append(
            Beside(
                collective=Collective().convert(name, None, None),
                size=float(MESSAGE.counted(size, f"--with {name}")),
                groups=groups_of(fabric, (kinds,) if kinds else ()),
            )
        )
    return neighbours
