"""`-k` expressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_run import text_of

from trnbench.errors import UsageError
from trnbench.run.selection import names_of, parse_keyword, strangers

CASE = frozenset({*names_of("gemm_skinny"), "bf16", "mxfp8", "tensor", *names_of("trn2-16.48xlarge"), "core"})


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("gemm", True),
        ("GEMM", True),
        ("gemm_skinny", True),
        ("skinny", True),
        ("skin", False),
        ("skin*", True),
        ("*kinn?", True),
        ("fp8", False),
        ("mxfp8", True),
        ("*fp8", True),
        ("trn2", True),
        ("trn2-16.48xlarge", True),
        ("gemm and not fp32", True),
        ("gemm and not bf16", False),
        ("not gemm or bf16", True),
        ("not (gemm or bf16)", False),
        ("fp32 or gemm and bf16", True),
        ("(fp32 or gemm) and fp16", False),
        ("not not gemm", True),
        ("gemm AND NOT fp32", True),
    ],
)
def test_expressions(text, fits):
    assert parse_keyword(text)(CASE) is fits


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "nothing where a word was expected, at the end"),
        ("gemm and", "nothing where a word was expected, at the end"),
        ("and gemm", "'and' where a word was expected, at character 1"),
        ("gemm fp32", "'fp32' where 'and' or 'or' was expected, at character 6"),
        ("(gemm", "a parenthesis is not closed, at the end"),
        ("gemm)", "')' where 'and' or 'or' was expected, at character 5"),
        ("()", "')' where a word was expected, at character 2"),
        ("not", "nothing where a word was expected, at the end"),
        ("not " * 60 + "x", "more than 50 levels of not and parentheses, at character 205"),
    ],
)
def test_mistakes_are_placed(text, what):
    assert text_of(UsageError, parse_keyword, text) == (
        f"-k {text!r}: {what}\n"
        "  cause: an expression is words with and, or, not and parentheses\n"
        "  try:   -k 'gemm and not fp32'"
    )


WORDS = st.sampled_from(["gemm", "bf16", "fp32", "core", "skinny", "nothing"])
EXPRESSIONS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        inner.map(lambda a: f"(not {a})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_agrees_with_python(text):
    python = text
    for word in ("gemm", "bf16", "fp32", "core", "skinny", "nothing"):
        python = python.replace(word, str(word in CASE))
    assert parse_keyword(text)(CASE) is eval(python)


@given(st.text(max_size=30))
def test_anything_typed_is_an_expression_or_a_message(text):
    try:
        verdict = parse_keyword(text)(CASE) in (True, False)
    except UsageError as error:
        verdict = bool(error.try_)
    assert verdict


def test_strangers_are_named_with_their_neighbours():
    known = {"gemm", "bf16", "all", "reduce"}
    assert strangers("gmem and not bf16 or all*", known) == ("gmem (nearest: gemm)",)
    assert strangers("xyzzy", known) == ("xyzzy",)
