"""Sequences: loading them."""

from __future__ import annotations

from pathlib import Path

import pytest
from published_point import published_point

from trnbench.errors import FactError
from trnbench_fidelity.point import Quantity
from trnbench_fidelity.sequence import Sequence, load_sequences

POINTS = (
    published_point(id="a"),
    published_point(id="b"),
    published_point(id="rate", quantity=Quantity.FLOPS),
)
ONE = '[[sequence]]\nname = "s"\nsource = "x"\npoints = ["a", "b"]\n'


def loaded(path: Path, text: str) -> tuple[Sequence, ...]:
    path.write_text(text)
    return load_sequences(path, POINTS)


def test_a_sequence_is_read(tmp_path: Path) -> None:
    (found,) = loaded(tmp_path / "p.toml", ONE)
    assert found == Sequence(name="s", points=("a", "b"), source="x", generation="trn2")
    assert loaded(tmp_path / "p.toml", "schema = 1\n") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE.replace("source", "sauce"), "[[sequence]] 1: unknown key 'sauce'"),
        (ONE.replace('source = "x"\n', ""), "[[sequence]] 1: key 'source' is missing"),
        (ONE + ONE, "sequence 's': is there twice"),
        (ONE.replace('"a", ', ""), "sequence 's': needs two points or more, each once"),
        (ONE.replace('"b"', '"b", "a"'), "sequence 's': needs two points or more, each once"),
        (ONE.replace('"b"', '"c"'), "sequence 's': names 'c', which is no point of the file"),
        (ONE.replace('"b"', '"rate"'), "sequence 's': mixes flops_per_s and latency_s"),
        (ONE + 'unpriced = { "c" = "w" }\n', "sequence 's': unpriced names 'c', which is not in it"),
        (ONE + 'assumed = { "a c" = "w" }\n', "sequence 's': assumed names 'c', which is not in it"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FactError) as caught:
        loaded(tmp_path / "p.toml", text)
    assert caught.value.what == f"{tmp_path / 'p.toml'}: {said}"
