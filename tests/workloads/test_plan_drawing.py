"""The drawing of a plan: hostile names stay words, and no number of options breaks it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from trnbench import Pareto, ParetoOption
from trnbench_reports.plan import render

HOSTILE = "</text><script>alert(1)</script>&\u202e\x00" + "x" * 500


def chart(*options: ParetoOption, unit: str = "s", of: str = "m, decode") -> Pareto:
    return Pareto(
        of=of, time="time of a token", cost="cost", unit=unit, finding=f"{of} is it", options=options
    )


def words_of(drawing: bytes) -> str:
    return " ".join("".join(each.itertext()) for each in ElementTree.fromstring(drawing).iter())


def test_hostile_names_are_words() -> None:
    option = ParetoOption(name=HOSTILE, time_s=1.0, cost=2.0, low_s=0.5, high_s=1.5, best=True)
    drawing = render([chart(option, unit="dollars", of=HOSTILE)])
    root = ElementTree.fromstring(drawing)
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    assert "2.00 dollars" in words_of(drawing)


@pytest.mark.parametrize("count", [1, 2, 40])
def test_any_number_of_options(count: int) -> None:
    options = [
        ParetoOption(name=f"box {number}", time_s=1.0 + number, cost=1.0 / (1 + number), best=True)
        for number in range(count)
    ]
    told = words_of(render([chart(*options)]))
    assert "1  box 0" in told
    assert "no band" in told
    assert ("and 24 more: trnbench plan --format json" in told) is (count == 40)
