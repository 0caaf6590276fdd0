"""A cost formula that comes to nothing finite, or is none: the file's mistake, said as one."""

from __future__ import annotations

import pytest

from trnbench.errors import FactError
from trnbench_emulator.core.costs import evaluate

FORMS = "numbers, variables, + - * / and brackets, min, max, ceil"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("1e308 * N", "it gives inf; a cost is 0 to 1e+18"),
        ("1e18 * N", "it gives 1e+19; a cost is 0 to 1e+18"),
        ("1e308 * N - 1e308 * N", "it gives nan; a cost is 0 to 1e+18"),
        ("0 - N", "it gives -10; a cost is 0 to 1e+18"),
        ("ceil(1e308 * N)", "cannot convert float infinity to integer"),
        ("N / 0", "division by zero"),
        (f"N{' * 999999999999' * 26}", "int too large to convert to float"),
        ("N +", "it is no arithmetic"),
        ("9" * 5000, "it has 5,000 characters, a formula has up to 400"),
    ],
)
def test_what_is_no_cost(text: str, cause: str) -> None:
    with pytest.raises(FactError) as caught:
        evaluate(text, {"N": 10})
    assert (caught.value.cause, caught.value.try_) == (cause, FORMS)
    assert caught.value.what.startswith("cost formula '")
    assert len(caught.value.what) < 200


def test_a_cost_is_what_it_was() -> None:
    assert evaluate("max(64, N / 4) + ceil(0.5)", {"N": 512}) == 129.0
