"""What is selected of a plan, by name and by keyword, and what an empty or mistaken selection says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_plugin import cases, refusal
from messages import messages, pairs
from parts import part
from stored_run import message_of, text_of

from trnbench.errors import TrnbenchError, UsageError
from trnbench.facts.fact import Scope
from trnbench.registry import Registry
from trnbench.run.plan import plan
from trnbench.run.points import parse_keyword, strangers, words_of
from trnbench.run.selection import Selection

core_kernels = part("trnbench_kernels")


def test_names_globs_tags_and_families_narrow_each_other_down(lab):
    def names(**selection):
        return {case.key.kernel for case in cases(lab, **selection)}

    assert names(kernels=("gemm", "hbm_*")) == {"gemm", "hbm_read", "hbm_write", "hbm_copy", "hbm_triad"}
    assert names(families="hbm", tags="copy") == {"hbm_copy"}
    assert names(tags=("triad", "dma")) == {"hbm_triad", "dma_sweep"}
    assert names(keyword="gemm and not ladder and not skinny and fp32") == {"gemm", "gemm_ragged"}


def test_keyword_speaks_of_cases(lab):
    found = cases(lab, keyword="gemm and not fp32 and core", instances="box")
    # A logical core is a core by its name too.
    assert {case.key.scope for case in found} == {Scope.CORE, Scope.LOGICAL_CORE}
    assert "fp32" not in {case.key.dtype for case in found}
    assert {case.key.instance for case in cases(lab, keyword="crate and softmax")} == {"box"}


def test_instances_by_name_alias_glob_and_size(lab):
    def systems(**selection):
        return list(plan(lab, Selection(kernels=("hbm_read",), **selection)).systems)

    assert systems() == ["single", "box", "rack", "field"]
    assert systems(instances=("field", "crate")) == ["box", "field"]
    assert systems(instances=("s*",)) == ["single", "spare"]
    assert systems(instances=("field:7", "field", "field:1000")) == ["field:7", "field"]
    assert systems(instances=("cr*",), generations=("lab1",)) == ["box"]
    assert (
        plan(lab, Selection(instances=("field:7",), kernels=("hbm_read",))).systems["field:7"].devices == 28
    )


def test_dtypes_drop_what_has_none(lab):
    found = cases(lab, dtypes="fp8", instances="box")
    assert {case.key.dtype for case in found} == {"fp8"}
    assert "hbm_read" not in {case.key.kernel for case in found}
    assert "all_reduce" in {case.key.kernel for case in found}


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("own.py::scale", "trnbench nki run own.py::scale"),
        ("own.py", "trnbench nki run own.py"),
        ("llama-3-8b", "trnbench list kernels; models: trnbench workload list"),
    ],
)
def test_what_is_no_kernel_but_a_file_or_a_model_has_its_command(lab, name, remedy):
    message, _ = message_of(TrnbenchError, lambda: cases(lab, kernels=name))
    assert message.endswith(f"  try:   {remedy}")


@pytest.mark.parametrize(
    ("words", "message", "code"), messages(Path(__file__).parent / "wrong_selections.txt")
)
def test_what_an_empty_or_mistaken_selection_says(lab, words, message, code):
    selection = dict(each.split("=", 1) for each in shlex.split(words))
    selection = {name: tuple(value.split()) if " " in value else value for name, value in selection.items()}
    assert message_of(TrnbenchError, lambda: cases(lab, **selection)) == (message, code)


def test_without_a_plugin_nothing_is_installed():
    assert refusal(Registry.of()) == (
        "no kernel is selected\n  cause: none is installed\n  try:   trnbench list kernels"
    )
    assert refusal(Registry.of(kernels=core_kernels)) == (
        "no instance is selected\n  cause: no plugin brings one\n  try:   trnbench list instances"
    )


def test_extra_facts_reach_the_systems(lab, tmp_path: Path):
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'schema = 1\n[sources.mine]\ndocument = "Mine"\n[[group]]\nsource = "mine"\nlocator = "here"\n'
        'facts = [{ subject = "box", scope = "instance", metric = "vcpu_count", printed = "12" }]\n'
    )
    found = plan(lab, Selection(kernels=("hbm_read",), instances=("box",)), extra_facts=(mine,))
    assert found.systems["box"].book.value("box", "vcpu_count") == 12


def test_a_selection_is_kept_as_typed():
    import msgspec

    selection = Selection(kernels=("gemm",), axes=("size[pow2]=1:3",), keyword="bf16")
    assert msgspec.json.decode(msgspec.json.encode(selection), type=Selection) == selection
    assert selection.asked() == "gemm -k 'bf16' -a size[pow2]=1:3"


def test_a_plan_has_a_bound_of_cases(lab: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = plan(lab, Selection()).cases
    monkeypatch.setattr("trnbench.run.plan.MOST_CASES", len(whole))
    assert plan(lab, Selection()).cases == whole
    monkeypatch.setattr("trnbench.run.plan.MOST_CASES", len(whole) - 1)
    what, cause, remedy = text_of(UsageError, plan, lab, Selection()).splitlines()
    assert what == f"more than {len(whole) - 1:,} cases are selected"
    assert cause.startswith(f"  cause: {whole[-1].key.kernel} alone has ")
    remedies = "fewer values on an axis (-a), fewer systems (-i) or one --scope; a report takes several runs"
    assert remedy == f"  try:   {remedies}"


# `-k` expressions.


CASE = words_of("gemm_skinny", "trn2-16.48xlarge") | {"bf16", "mxfp8", "tensor", "core"}


@pytest.mark.parametrize(("text", "fits"), pairs(Path(__file__).parent / "keywords.txt"))
def test_expressions(text, fits):
    assert parse_keyword(text)(CASE) is (fits == "yes")


@pytest.mark.parametrize(("text", "what"), pairs(Path(__file__).parent / "wrong_keywords.txt"))
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
