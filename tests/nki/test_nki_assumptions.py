"""Each switch of the compiler: what is recorded with it and without, and values that do not depend on it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beta1_kernel import Run, loads, opcodes, spec

from trnbench_emulator.compiler import AS_SHIPPED, SWITCHES, Assumptions, assumptions
from trnbench_emulator.kernel_run.result import LIMIT
from trnbench_emulator.nki import Trace
from trnbench_emulator.nki.memory import Buffer


def engines(trace: Trace, *names: str) -> set[str]:
    return {each.op.engine for each in trace.instructions if each.op.opcode in names}


KERNELS = tomllib.loads(Path(__file__).with_name("assumed_kernels.toml").read_text(encoding="utf-8"))
TRIED: dict[str, tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "product": (((256, 256), (256, 1024)), lambda x, w: x.T @ w),
    "loop": (((128, 64), (128, 64)), lambda x, y: 5 * x * y),
    "wide": (((8, 128, 8192),), np.exp),
    "rows": (((4, 128, 512),), np.exp),
    "scaled": (((128, 64),), lambda x: 2 * x),
    "turned": (((128, 128), (128, 512)), lambda x, w: x @ w),
    "copied": (((128, 64),), lambda x: x),
    "spread": (((128, 512), (1, 512)), lambda x, row: x * row),
    "read": (((128, 512),), lambda x: np.exp(x[:, :128].T @ x / 128)),
}
"""By kernel, the shapes of its arguments and what it comes to in NumPy."""


def timed(run: Run, name: str, *off: str) -> Trace:
    shapes, _ = TRIED[name]
    under = assumptions([SWITCHES[each].negation for each in off])
    return run(KERNELS[name], *(spec(*each) for each in shapes), functional=False, assumptions=under)


def test_every_load_of_the_source_is_made_without_residence(beta1: Run) -> None:
    kept, all_of_them = timed(beta1, "product"), timed(beta1, "product", "residence")
    assert (loads(kept), loads(all_of_them)) == (2 * 2 + 2 * 2, 2 * 2 * 2 * 2)
    assert opcodes(kept).count("nc_matmul") == 2 * 2 * 2
    assert kept.assumed["residence"] == loads(all_of_them) - loads(kept)
    assert "residence" not in all_of_them.assumed


def test_every_round_multiplies_without_hoisting(beta1: Run) -> None:
    once, always = timed(beta1, "loop"), timed(beta1, "loop", "hoisting")
    assert opcodes(once).count("tensor_tensor") == 1 + 5
    assert opcodes(always).count("tensor_tensor") == 5 + 5
    assert once.assumed["hoisting"] == 4


def test_what_a_loop_changes_is_done_in_every_round(beta1: Run) -> None:
    changing = KERNELS["loop"].replace("multiply)\n", "multiply)\n        a[...] = nl.copy(total)\n")
    found = beta1(changing, spec(128, 64), spec(128, 64), functional=False)
    assert opcodes(found).count("tensor_tensor") == 5 + 5


def test_nothing_in_use_leaves_sbuf_without_spilling(beta1: Run) -> None:
    def spilled(trace: Trace) -> int:
        return sum(each.writes[0].form.buffer is Buffer.PRIVATE_HBM for each in trace.instructions)

    with_it, without = timed(beta1, "wide"), timed(beta1, "wide", "spilling")
    assert spilled(with_it) == with_it.assumed["spilling"] > 0
    assert spilled(without) == 0
    assert len(without.instructions) == 8 * 3


@pytest.mark.parametrize(("tiles", "expected"), [(8, 8 + 8 + 2), (7, 7)])
@pytest.mark.parametrize("word", ["spilling", "no-spilling"])
def test_what_does_not_fit_is_loaded_again_without_spilling_too(
    beta1: Run, word: str, tiles: int, expected: int
) -> None:
    """Tiles of 32 KiB in 224 KiB: of eight the oldest is always gone, until the last turn needs none."""
    body = f"""
    def kernel(x) -> (128, 8192):
        for turn in nl.affine_range(3):
            for n in nl.affine_range({tiles}):
                nl.store(out, nl.load(x[0:128, n * 8192:(n + 1) * 8192]))
    """
    found = beta1(body, spec(128, 8192 * tiles), functional=False, assumptions=assumptions(word))
    assert loads(found) == expected


def test_a_load_goes_to_the_tile_it_names_without_renaming(beta1: Run) -> None:
    def places(trace: Trace) -> int:
        found = [each for each in trace.instructions if each.op.opcode == "dma_copy"]
        return len({id(each.writes[0].storage) for each in found if each.writes[0].form.on_chip})

    apart, one = timed(beta1, "rows"), timed(beta1, "rows", "renaming")
    assert (places(apart), places(one)) == (4, 1)
    assert apart.assumed["renaming"] == 3


def test_what_is_left_open_goes_to_vector_without_engine_choice(beta1: Run) -> None:
    assert engines(timed(beta1, "scaled"), "activation") == {"scalar"}
    without = timed(beta1, "scaled", "engine-choice")
    assert opcodes(without) == ["dma_copy", "tensor_scalar", "tensor_copy", "dma_copy"]
    assert engines(without, "tensor_scalar", "tensor_copy") == {"vector"}


def test_what_a_product_turns_is_copied_like_everything_else(beta1: Run) -> None:
    kept, without = timed(beta1, "turned"), timed(beta1, "turned", "engine-choice")
    of_turned = [opcodes(each)[opcodes(each).index("nc_transpose") + 1] for each in (kept, without)]
    assert of_turned == ["activation", "tensor_copy"]
    assert engines(without, "tensor_copy") == {"vector"}


def test_zeros_in_psum_are_written_without_zero_elision(beta1: Run) -> None:
    assert opcodes(timed(beta1, "product")).count("memset") == 0
    assert opcodes(timed(beta1, "product", "zero-elision")).count("memset") == 4


def test_zeros_of_todays_nki_are_written_too_without_zero_elision(snippets: Any) -> None:
    body = """
    x, w = args
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    acc = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(acc, nl.load(x), nl.load(w))
    nl.store(out, nl.copy(acc))
    return out
    """
    given = spec(128, 128), spec(128, 512)
    elided = snippets.run(body, *given, keep=True)
    assert (opcodes(elided).count("memset"), elided.assumed) == (0, {"zero-elision": 1})
    written = snippets.run(body, *given, keep=True, assumptions=assumptions("no-zero-elision"))
    assert (opcodes(written).count("memset"), written.assumed) == (1, {})


def test_descriptors_are_prepared_without_hardware_descriptors(beta1: Run, v2: Any, v3: Any) -> None:
    def by(machine: Any, word: str) -> tuple[set[str], dict[str, int]]:
        found = beta1(
            KERNELS["copied"], spec(128, 64), machine=machine, functional=False, assumptions=assumptions(word)
        )
        return {str(each.op.variables["dge"]) for each in found.instructions}, dict(found.assumed)

    assert by(v3, "hardware-descriptors") == ({"hwdge"}, {"hardware-descriptors": 2})
    assert by(v3, "no-hardware-descriptors") == ({"unknown"}, {})
    assert by(v2, "hardware-descriptors") == ({"unknown"}, {})  # it has no such block


def test_each_program_does_it_again_without_equal_programs(beta1: Run) -> None:
    found = [
        beta1(KERNELS["scaled"], spec(128, 64), grid=(3,), functional=False, assumptions=assumptions(each))
        for each in ("equal-programs", "no-equal-programs")
    ]
    assert [loads(each) for each in found] == [1, 3 - 2]
    assert [len(each.instructions) for each in found] == [4, 3 * 4 - 2]  # what was loaded is there
    assert found[0].assumed["equal-programs"] == 1


def test_a_row_is_brought_out_or_shuffled_without_the_two_of_broadcasts(beta1: Run) -> None:
    read_there = timed(beta1, "spread")
    assert opcodes(read_there).count("activation") == 0
    assert set(read_there.assumed) == {"broadcast-in-psum", "broadcast-product"}
    brought = timed(beta1, "spread", "broadcast-in-psum")
    assert (opcodes(brought).count("nc_matmul"), opcodes(brought).count("activation")) == (1, 1)
    shuffled = timed(beta1, "spread", "broadcast-product")
    assert opcodes(shuffled).count("nc_matmul") == 0
    assert opcodes(shuffled).count("nc_stream_shuffle") == 4
    assert shuffled.assumed == {}


def test_the_page_has_a_row_for_each(root: Path) -> None:
    page = (root / "docs" / "nki.md").read_text(encoding="utf-8")
    for each in SWITCHES.values():
        assert f"| `{each.name}` | {each.assumed} | {each.otherwise} | {each.evidence} |" in page
    assert f"up to {LIMIT:,} instructions times switches" in page


EVERYTHING_OFF = Assumptions(tuple(SWITCHES))


@pytest.mark.parametrize("under", [AS_SHIPPED, EVERYTHING_OFF], ids=["as shipped", "everything off"])
@pytest.mark.parametrize("name", [name for name in TRIED if name != "wide"])
def test_values_do_not_depend_on_what_is_assumed(beta1: Run, name: str, under: Assumptions) -> None:
    shapes, wanted = TRIED[name]
    values = np.random.default_rng(5)
    given = [values.standard_normal(shape).astype(np.float32) for shape in shapes]
    found = beta1(KERNELS[name], *given, assumptions=under)
    np.testing.assert_allclose(found.outputs[0], wanted(*given), rtol=1e-4, atol=1e-4)
    assert not set(under.off) & set(found.assumed)


def test_every_switch_changes_one_of_these_kernels(beta1: Run) -> None:
    changing = {
        switch: [name for name in TRIED if opcodes(timed(beta1, name)) != opcodes(timed(beta1, name, switch))]
        for switch in SWITCHES
        # The same instructions at another place, on another engine; on Trainium2 alone; of a grid.
        if switch not in ("renaming", "copy-balance", "hardware-descriptors", "equal-programs")
    }
    assert all(changing.values()), changing
