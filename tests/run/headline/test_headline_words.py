"""Every word of some headlines: lines, what is behind their shares, and cards.

`TRNBENCH_TEST_RENEW=1 pytest tests/run/headline` writes words.txt again: read the difference before a commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from headline_parts import best_published, changed, graded, having, judged_by, kept, near, of_systems

from trnbench import Grade, Run, headline
from trnbench.results.measurement import Nearness

WORDS = Path(__file__).parent / "words.txt"


def variants(small: Run) -> Iterator[tuple[str, Run]]:
    one = of_systems(small, "trn2-16.48xlarge")
    product, softmax, links = (
        kept(one, lambda each, name=name: each.case.kernel == name)
        for name in ("gemm", "softmax", "all_reduce")
    )
    published = near(Nearness.OPERATION, best=best_published(Nearness.OPERATION, value=6e13), note="a note")
    yield "as it is", one
    yield "a product with published ones near it", changed(product, judged_by(published))
    yield "measured", changed(product, graded(Grade.MEASURED))
    yield "formulas", changed(product, graded(Grade.DERIVED))
    yield "a single size", kept(product, lambda each: each.case.point["m"] == 512)
    yield "another kernel", softmax
    yield "ranks", changed(links, having(detail={"rank_count": 64, "rank": "logical-core"}))


def spoken(run: Run) -> Iterator[str]:
    told = headline(run)
    for line, said in told.said:
        yield f"{said.text}\n    {line.scope}: {said.detail}"
    for card in told.cards:
        yield "\n    ".join([card.text, *(f"{row.name}: {row.clause}" for row in card.rows)])
    yield from filter(None, (told.means, told.footnote))


def test_every_word_is_as_it_was(small: Run) -> None:
    now = "\n".join(
        f"$ {name}\n" + "".join(f"{line}\n" for line in spoken(run)) for name, run in variants(small)
    )
    if os.environ.get("TRNBENCH_TEST_RENEW"):
        WORDS.write_text(now, encoding="utf-8")
    assert now == WORDS.read_text(encoding="utf-8")
