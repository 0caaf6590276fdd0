"""Sources of NKI kernels drawn at random: loops, tests on their numbers, tiles, lists, carried values."""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl

SEEN = []

def tile(width=64, buffer=nl.sbuf):
    return nl.ndarray((128, width), dtype=nl.float32, buffer=buffer)

def fetch(x, at, width=64):
    found = tile(width)
    nisa.dma_copy(dst=found, src=x[0:128, at : at + width])
    return found

def noted(at):
    SEEN.append(at)
    return len(SEEN) % 3

"""

VARIABLES = ("i", "j", "k")
STATEMENTS = (
    "a = fetch(x, {v} * 64 % 4096)",
    "a = fetch(x, {v} * 64)",
    "b = fetch(x, min({v} * 64 + {n}, 4096))",
    "nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)",
    "nisa.activation(dst=b, op=nl.exp, data=a)",
    "nisa.tensor_copy(dst=wide[:, {v} * 4 : {v} * 4 + 4], src=a[:, 0:4])",
    "nisa.tensor_copy(dst=b[:, 0:4], src=wide[:, {v} * 4 : {v} * 4 + 4])",
    "nisa.tensor_tensor(dst=total, data1=total, data2=a, op=nl.add)",
    "nisa.tensor_copy(dst=a[:, {v} : {v} + 1], src=b[:, 0:1])",
    "nisa.dma_copy(dst=x[0:128, {v} * 64 : {v} * 64 + 64], src=a)",
    "nisa.dma_copy(dst=x[0:128, {n} * 64 : {n} * 64 + 64], src=b)",
    "a, b = b, a",
    "total = a",
    "kept.append(a)",
    "a = kept[{v} % len(kept)]",
    "count = count + 1",
    "nisa.tensor_copy(dst=b, src=pair[{v} % 2])",
    "nisa.memset(dst=pair[({v} + 1) % 2], value=0.0)",
    "b = tile()\nnisa.memset(dst=b, value=1.0)",
    "kept = [fetch(x, {n}), fetch(x, {v})]",
    "nisa.dma_copy(dst=a, src=x[0:128, {v} * 64 : {v} * 64 + 64], engine=nisa.engine.scalar)",
    "nisa.dma_copy(dst=x[0:128, {v} * 64 : {v} * 64 + 64], src=b, engine=nisa.engine.scalar)",
    "nisa.dma_copy(dst=b, src=x[0:128, {n} * 64 : {n} * 64 + 64], dge_mode=nisa.dge_mode.swdge)",
    "nisa.tensor_copy(dst=b, src=a, engine=nisa.engine.gpsimd)",
    # What a round leaves to the next: buffers in turn, tiles in lists, views, numbers.
    "b = a\na = fetch(x, {v} * 64)",
    "a, b, total = b, total, fetch(x, {v} * 64)",
    "pair = [pair[1], fetch(x, {v} * 64)]",
    "pair = (fetch(x, {n} * 64), pair[0])",
    "more = fetch(x, {v} * 64 + {n})\nnisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)\na = more",
    "more = tile(64, nl.psum)\nnisa.tensor_tensor(dst=more, data1=sums, data2=a, op=nl.add)\nsums = more",
    "late = wide[:, {v} * 4 : {v} * 4 + 4]",
    "nisa.tensor_copy(dst=late, src=a[:, 0:4])",
    "last = {v}",
    "nisa.tensor_copy(dst=wide[:, last : last + 1], src=b[:, 0:1])",
)
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
