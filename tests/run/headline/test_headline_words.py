"""Every word of some headlines: lines, what is behind their shares, and cards.

`TRNBENCH_TEST_RENEW=1 pytest tests/run/headline` writes words.txt again: read the difference before a commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from headline_parts import best_published, changed, graded, having, judged_by, kept, near, of_systems
from headline_parts import own_product as own

from trnbench import Grade, Run, headline
from trnbench.results.fidelity import Fidelity
from trnbench.results.measurement import Nearness

WORDS = Path(__file__).parent / "words.txt"


def reaching(fraction: float, bound: float | None) -> Any:
    fields = {"fraction": fraction, "of_engine_bound": bound}
    return lambda each: having(judgement=msgspec.structs.replace(each.judgement, **fields))(each)


def variants(small: Run) -> Iterator[tuple[str, Run]]:
    one = of_systems(small, "trn2-16.48xlarge")
    product, softmax, links = (
        kept(one, lambda each, name=name: each.case.kernel == name)
        for name in ("gemm", "softmax", "all_reduce")
    )
    published = near(Nearness.OPERATION, best=best_published(Nearness.OPERATION, value=6e13), note="a note")
    yield "as it is", one
    yield "a product with published ones near it", changed(product, judged_by(published))
    small_one = {"at": "M 64", "reaches": False}
    for value, more in ((2e14, {}), (4e14, {"kind": Nearness.KERNEL}), (6e13, small_one)):
        best = best_published(**{"kind": Nearness.SAME, "value": value, **more})
        yield f"published {value:g}", changed(product, judged_by(near(Nearness.SAME, best=best)))
    yield "elsewhere", changed(product, judged_by(near(Nearness.ELSEWHERE)))
    for count in (0, 1, 4, 5):
        products = tuple(own(at, e=0.1 * at - 0.2, generation="trn2") for at in range(count))
        told = Fidelity(by="a model", products=products, outdated={"trn2": "It was renewed."})
        yield f"{count} products of our own", msgspec.structs.replace(product, fidelity=told)
    for fraction, bound in ((1.01, None), (1.01, 0.97), (1.01, 0.98), (0.99, 0.99), (1.0, 0.5)):
        judged = changed(product, reaching(fraction, bound), lambda each: each.judgement is not None)
        yield f"{fraction} of the promise, {bound} of the clock", judged
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
