"""Sources of NKI kernels drawn at random: loops, tests on their numbers, tiles, lists, carried values."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

FOLDER = Path(__file__).parent
HEAD = (FOLDER / "drawn_head.txt").read_text()

VARIABLES = ("i", "j", "k")
STATEMENTS = tuple((FOLDER / "drawn_statements.txt").read_text().rstrip().split("\n\n"))
"""The last ten are what a round leaves to the next: buffers in turn, tiles in lists, views, numbers."""
TESTS = (
    "{v} < {n}", "{v} == {n}", "{v} % 3 == 0", "{v} > {n}", "count % 5 == 0", "{v} // 3 == 1",
    "len(kept) > {n}",    "{v} + {n} >= 9", "noted({v}) == 0",
)  # fmt: skip


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0) -> list[str]:
    found: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        names = {"v": draw(st.sampled_from(VARIABLES[: max(depth, 1)])), "n": draw(st.integers(0, 9))}
        kind = draw(st.integers(0, 9))
        if kind == 0 and depth:
            found.append(f"if {draw(st.sampled_from(TESTS)).format(**names)}:")
            found += ["    " + line for line in draw(blocks(depth))]
            found.append("else:")
            found += ["    " + line for line in draw(blocks(depth))]
        elif kind in (1, 2) and depth < len(VARIABLES):
            start = draw(st.sampled_from(["", "2, ", f"{names['v']}, " if depth else ""]))
            rounds = draw(st.integers(4, 16)) if depth < 2 else draw(st.integers(2, 6))
            stop = f"{names['v']} + {rounds}" if start.startswith(names["v"]) else str(rounds)
            loop = draw(
                st.sampled_from(["nl.affine_range", "nl.sequential_range", "nl.static_range", "range"])
            )
            found.append(f"for {VARIABLES[depth]} in {loop}({start}{stop}):")
            found += ["    " + line for line in draw(blocks(depth + 1))]
        elif kind == 3 and depth:
            found.append(f"if {draw(st.sampled_from(TESTS)).format(**names)}:")
            found.append("    " + draw(st.sampled_from(["break", "continue"])))
        else:
            found += draw(st.sampled_from(STATEMENTS)).format(**names).splitlines()
    return found


@st.composite
def kernels(draw: st.DrawFn) -> str:
    lines = [
        "i = j = k = 0",
        "count = 0",
        "a, b, total, wide = tile(), tile(), tile(), tile(512)",
        "kept, pair, last, late = [fetch(x, 0)], [tile(), tile()], 0, wide[:, 0:4]",
        "sums = tile(64, nl.psum)",
        f"for i in {draw(st.sampled_from(['nl.affine_range', 'range']))}({draw(st.integers(4, 24))}):",
    ]
    lines += ["    " + line for line in draw(blocks(1))]
    lines += ["nisa.tensor_copy(dst=wide, src=wide)", "nisa.dma_copy(dst=x[0:128, 0:64], src=total)"]
    return "\n".join(lines)


def source(body: str) -> str:
    """The file of a kernel of one tensor (128, 8192) in fp32."""
    lines = "\n".join("    " + line for line in body.splitlines())
    return f"{HEAD}\n@nki.jit\ndef kernel(x):\n{lines}\n    return x\n"


START = (
    "a, b, total, wide = fetch(x, 0), fetch(x, 64), fetch(x, 128), fetch(x, 0, 512)\nkept, count = [], 0\n"
)
"""What stands before a loop that is written out, for `source`."""
