"""How cores share one problem of each kernel, for `split` in `kernels.toml`."""

from __future__ import annotations

from functools import lru_cache

from trnbench.kernels.kernel import Point
from trnbench.kernels.split import Shard, Split, along, grid, largest, shares, too_few

TILE = 128  # rows and columns of the array, and partitions, in every documented generation
LEAST_MOVING = 64  # columns that a product takes the time of, however few it has


def mnk(point: Point) -> tuple[int, int, int]:
    """Rows of A, columns of B and the length of the contraction."""
    if "m" not in point:
        size = int(point["size"])
        return size, size, size
    return int(point["m"]), int(point["n"]), int(point["k"])


def product(point: Point, cores: int) -> Split:
    """Rows and columns of C: each core reads the rows of A and the columns of B that its part asks for.

    Of the grids of cores the one whose largest part keeps the array busy for the shortest time, then the one
    that reads least; nothing is summed up across cores.
    """
    m, n, k = mnk(point)
    best = _grid_of_product(m, n, k, cores)
    if best is None:
        return Split(refusal=too_few(f"{m:,} × {n:,} elements of C", cores))
    down, across = best
    rest = {name: value for name, value in point.items() if name != "size"}
    return Split(
        shards=tuple(
            Shard(point={**rest, "m": rows, "n": columns, "k": k}, cores=times * again)
            for rows, times in shares(m, down, TILE)
            for columns, again in shares(n, across, TILE)
        ),
        how=f"C in {down:,} × {across:,} parts of its rows and columns",
    )


@lru_cache(maxsize=1024)
def _grid_of_product(m: int, n: int, k: int, cores: int) -> tuple[int, int] | None:
    """The same for every dtype and system of a plan."""

    def cost(down: int, across: int) -> tuple[float, float, int] | None:
        if down > m or across > n:
            return None
        rows, columns = largest(m, down, TILE), largest(n, across, TILE)
        return -(-rows // TILE) * max(columns, LEAST_MOVING), (rows + columns) * k, across

    return grid(cores, cost)


def rows(point: Point, cores: int) -> Split:
    """Each core reads the weights beside its rows; of a square to transpose it has some of the rows."""
    point = {"rows": point.get("size", 0), **point}
    return along("rows", point, cores, TILE, f"{point['rows']:,} rows")


def pairs(point: Point) -> float:
    """Query-key pairs of one head that count: all, or those not in the future."""
    seq, queries = int(point["seq"]), int(point.get("queries", point["seq"]))
    if point["mask"] != "causal":
        return float(queries) * seq
    if queries == seq:
        return seq * (seq + 1) / 2
    # Of each block of queries the keys before it, and its own up to the diagonal.
    blocks = range(queries // TILE)
    before = sum(int(point["first"]) + block * int(point["every"]) for block in blocks) * TILE**2
    return before + len(blocks) * TILE * (TILE + 1) / 2


def attention(point: Point, cores: int) -> Split:
    """Heads, and where there are fewer than cores also blocks of 128 queries, dealt to its cores in turn.

    So each core of a head has early and late blocks, which under a causal mask meet few keys and many. All
    keys and values of a head are read by each of them.
    """
    heads, seq = int(point["heads"]), int(point["seq"])
    blocks = seq // TILE

    def cost(groups: int, dealt: int) -> tuple[int, int] | None:
        if groups > heads or dealt > max(blocks, 1):
            return None
        return largest(heads, groups) * -(-blocks // dealt), dealt

    best = grid(cores, cost)
    if best is None:
        return Split(refusal=too_few(f"{heads:,} heads of {blocks:,} blocks of {TILE} queries", cores))
    groups, dealt = best
    if dealt == 1:
        return along("heads", point, cores, 1, f"{heads:,} heads")
    shards = [
        Shard(
            point={
                **point,
                "heads": some,
                "queries": len(range(first, blocks, dealt)) * TILE,
                "first": first,
                "every": dealt,
            },
            cores=times,
        )
        for some, times in shares(heads, groups)
        for first in range(dealt)
    ]
    shards.sort(key=lambda shard: -int(shard.point["heads"]) * pairs(shard.point))
    how = f"{heads:,} heads in {groups:,} parts, queries of each block by block to {dealt:,} cores"
    return Split(shards=tuple(shards), how=how)


def channels(point: Point, cores: int) -> Split:
    """Groups of 128 channels; B and C of all tokens are read by each core."""
    groups = int(point["channels"]) // TILE
    if groups < cores:
        return Split(refusal=too_few(f"{groups:,} groups of {TILE} channels", cores))
    return along("channels", point, cores, TILE, f"{groups:,} groups of {TILE} channels")


def experts(point: Point, cores: int) -> Split:
    """Experts, and where there are fewer than cores also columns of their weights."""
    many, columns = int(point["experts"]), int(point["columns"])

    def cost(groups: int, across: int) -> tuple[int, int] | None:
        if groups > many or across > columns // TILE:
            return None
        return largest(many, groups) * largest(columns, across, TILE), across

    best = grid(cores, cost)
    if best is None:
        blocks = columns // TILE
        return Split(refusal=too_few(f"{many:,} experts with {blocks:,} blocks of {TILE} columns", cores))
    groups, across = best
    return Split(
        shards=tuple(
            Shard(point={**point, "experts": some, "columns": wide}, cores=times * again)
            for some, times in shares(many, groups)
            for wide, again in shares(columns, across, TILE)
        ),
        how=f"experts in {groups:,} parts, columns of their weights in {across:,}",
    )
