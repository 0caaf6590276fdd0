"""Names of what the compiler is taken to do: read, told, refused."""

from __future__ import annotations

import pytest

from trnbench.errors import UnknownName, UsageError
from trnbench_emulator.compiler import (
    AS_SHIPPED,
    SWITCHES,
    Assumptions,
    assumptions,
    check_meaningful,
    meaningful,
    negations,
)


def test_words_become_the_switches_that_are_off() -> None:
    assert assumptions(()) == assumptions("hoisting") == AS_SHIPPED
    assert assumptions("no-hoisting").off == ("hoisting",)
    assert assumptions(["no-hoisting, no-residence"]) == assumptions(["no-residence", "no-hoisting"])
    assert str(assumptions("no-hoisting,no-residence")) == "no-residence, no-hoisting"
    assert "hoisting" in AS_SHIPPED
    assert "hoisting" not in assumptions("no-hoisting")


def test_a_toggle_is_its_own_opposite() -> None:
    once = AS_SHIPPED.toggled("spilling")
    assert once == Assumptions(("spilling",))
    assert once.toggled("renaming") == assumptions("no-renaming,no-spilling")
    assert once.toggled("spilling") == AS_SHIPPED


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(UnknownName) as error:
        assumptions("no-hosting")
    assert error.value.what == "unknown assumption 'no-hosting'"
    assert "no-hoisting" in error.value.cause
    assert all(each.negation in error.value.try_ for each in SWITCHES.values())
    with pytest.raises(UnknownName, match="unknown assumption ''"):
        assumptions("no-hoisting,")


def test_a_name_both_ways_is_refused() -> None:
    with pytest.raises(UsageError, match="hoisting is assumed and not assumed") as error:
        assumptions(["hoisting", "no-hoisting"])
    assert error.value.cause == "both hoisting and no-hoisting are given"


def test_most_are_about_beta_1_alone() -> None:
    assert meaningful(beta1=True) == tuple(SWITCHES)
    assert meaningful(beta1=False) == ("copy-balance", "zero-elision", "broadcast-product")
    off = assumptions("no-hoisting,no-broadcast-product")
    assert negations(off, beta1=True) == ("no-hoisting", "no-broadcast-product")
    assert negations(off, beta1=False) == ("no-broadcast-product",)
    check_meaningful(off, "k", beta1=True)
    with pytest.raises(UsageError) as error:
        check_meaningful(off, "k", beta1=False)
    assert error.value.what == "no-hoisting has no meaning for k"
    assert (
        error.value.cause == "it is about kernels of Beta 1 (neuronxcc.nki), and this one is of today's NKI"
    )
    assert (
        error.value.try_ == "leave it out, or one of no-copy-balance, no-zero-elision, no-broadcast-product"
    )


def test_each_says_what_is_assumed_what_else_and_why() -> None:
    for name, each in SWITCHES.items():
        assert each.name == name
        assert not name.startswith("no-")
        assert all((each.assumed, each.otherwise, each.evidence))
        assert not each.assumed.endswith(".")
