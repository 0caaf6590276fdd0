"""Of an emulated number that differs: which of its inputs does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fact_rows import fact
from paired_runs import case, emulated, run_of

import trnbench
from trnbench import Evidence, FactBook, Grade, Run, Scope, SystemRecord
from trnbench.compare.comparison import compared
from trnbench.compare.edit import lines_changed, rows_changed
from trnbench.results.digest import content_digest, is_edited, is_shortened
from trnbench.run.snapshot import inputs_of

SOURCE = "import helper\n\nTILE = 512\n\ndef kernel():\n    return TILE\n"
OTHER = SOURCE.replace("512", "256")
BESIDE = "COUNT = 1\n"
COSTS = '[dma]\nrate = 3\n[[instructions.exp]]\ncycles = "N"\n'
FOUND = {
    "pkg/kernel.py": SOURCE,
    "pkg/helper.py": BESIDE,
    "pkg/another.py": "A = 1\n",
    "costs/host/pkg/costs.toml": COSTS,
    "costs/trn9/pkg/costs.toml": COSTS,
}


def causes(
    change: dict[str, str] | None = None,
    implementation: str = "nki: pkg.kernel:kernel",
    evidence: Evidence | None = None,
    **changes: Any,
) -> tuple[str, ...]:
    """What is told of a case whose run has these other inputs."""
    one = emulated(case(), 1.0, implementation="nki: pkg.kernel:kernel")
    another = emulated(case("another"), 1.0, implementation="nki: pkg.another:kernel")
    two = msgspec.structs.replace(
        one, time_s=2.0, implementation=implementation, evidence=evidence or one.evidence
    )
    before = run_of(one, another, inputs=FOUND, **changes.pop("before", {}))
    after = run_of(two, another, id="b", inputs={**FOUND, **(change or {})}, **changes)
    (found,) = (each for each in compared(before, after).changes if each.case.kernel == "gemm")
    return found.causes


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("kernel", OTHER, "pkg/kernel.py:3 is 'TILE = 256', was 'TILE = 512'"),
        ("kernel", f'"""Says more."""\n{OTHER}', "pkg/kernel.py:4 is 'TILE = 256', was 'TILE = 512'"),
        (
            "helper",
            f"{BESIDE}MORE = 2\nAND = 3\n",
            "pkg/helper.py:2 is 'MORE = 2', was no line, and 1 more line",
        ),
    ],
)
def test_an_edited_line_of_a_kernel_or_of_what_it_imports_is_the_cause(
    file: str, text: str, said: str
) -> None:
    assert causes({f"pkg/{file}.py": text}) == (said,)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("another", "A = 2\n"),
        ("kernel", SOURCE.replace("    return", "\treturn").replace("\n\n", "\n\n\n")),
        ("kernel", f'"""Says more."""\n{SOURCE}'.replace("return", '"""Two\n    lines."""\n    return')),
        ("kernel", SOURCE.replace("512", "512  # elements")),
    ],
)
def test_other_kernels_blanks_comments_and_docstrings_are_no_cause(file: str, text: str) -> None:
    (said,) = causes({f"pkg/{file}.py": text})
    assert said.startswith("sources, costs, the facts that it reads and the model's version are the same")


def test_a_cost() -> None:
    changed = COSTS.replace("rate = 3", "rate = 4").replace('"N"', '"2 * N"') + 'unit = "x"\n'
    assert causes({"costs/host/pkg/costs.toml": changed, "costs/trn9/pkg/costs.toml": changed}) == (
        "cost pkg/costs.toml: dma.rate is 4, was 3",
        "cost pkg/costs.toml: instructions.exp[1].cycles is '2 * N', was 'N'",
        "cost pkg/costs.toml: instructions.exp[1].unit is 'x', was absent",
    )


@pytest.mark.parametrize("text", ["not toml", "a = " + "[" * 100])
def test_a_cost_file_that_is_none(text: str) -> None:
    assert causes({"costs/host/pkg/costs.toml": text}) == ("cost pkg/costs.toml: was edited",)


def book(value: float, subject: str = "host") -> FactBook:
    printed = {"printed": str(value), "printed_unit": "GB/s", "source": "page"}
    return FactBook(facts=(fact(subject, "hbm_bandwidth", value * 1e9, scope=Scope.DEVICE, **printed),))


def test_a_fact() -> None:
    assert causes(before={"books": {"host": book(820)}}, books={"host": book(880)}) == (
        "fact host/hbm_bandwidth@page is 880 GB/s, was 820 GB/s",
    )


def test_a_fact_in_the_place_of_an_older_one_is_told_as_an_edit_is() -> None:
    """A file of one's own has a newer document; its facts come first, and the older one stays."""
    (old,), (new,) = book(820).facts, book(880).facts
    new = msgspec.structs.replace(new, source="mine")
    replaced = FactBook(facts=(new, msgspec.structs.replace(old, superseded_by="mine")))
    for later in (replaced, FactBook(facts=(new, old)), FactBook(facts=(new,))):
        there, back = (
            causes(before={"books": {"host": one}}, books={"host": two})
            for one, two in ((book(820), later), (later, book(820)))
        )
        assert there[0] == "fact host/hbm_bandwidth@mine is 880 GB/s, was 820 GB/s (host/hbm_bandwidth@page)"
        assert "is 820 GB/s, was 880 GB/s (host/hbm_bandwidth@" in back[0]
        assert len(there) == len(back) == 1


def test_facts_of_the_system_go_before_those_of_others() -> None:
    record = SystemRecord(
        instance="host", generation="host", title="", order=1, scope=Scope.INSTANCE, device="chip",
        core="core", devices=1, cores_per_device=1, hosts=1,
    )  # fmt: skip
    both = [
        FactBook(facts=(*book(value, "chip").facts, *book(value, "elsewhere").facts)) for value in (820, 880)
    ]
    assert causes(before={"books": {"host": both[0]}}, books={"host": both[1]}, systems={"host": record}) == (
        "fact chip/hbm_bandwidth@page is 880 GB/s, was 820 GB/s",
    )


def test_another_version_of_the_model() -> None:
    later = Evidence(grade=Grade.EMULATED, by="a model", version="2")
    assert causes(evidence=later) == ("model is a model 2, was a model 1",)


def test_the_kernel_goes_before_the_model_which_costs_and_facts_belong_to() -> None:
    later = Evidence(grade=Grade.EMULATED, by="a model", version="2")
    found = causes(
        {"pkg/kernel.py": OTHER, "costs/host/pkg/costs.toml": "[dma]\nrate = 4\n"},
        evidence=later,
        before={"books": {"host": book(820)}},
        books={"host": book(880)},
    )
    assert [each.split()[0] for each in found] == ["pkg/kernel.py:3", "model"]


@pytest.mark.parametrize(
    ("reads", "named"), [("", True), ("clock hbm_bandwidth", True), ("clock hbm_capacity", False)]
)
def test_a_fact_that_the_model_does_not_read_is_no_cause(reads: str, named: bool) -> None:
    books = {"before": {"books": {"host": book(820)}}, "books": {"host": book(880)}}
    (said,) = causes(environment={"facts_read": reads}, **books)
    assert said.startswith("fact host/hbm_bandwidth" if named else "sources, costs, the facts that it reads")


@pytest.mark.parametrize(
    ("reads", "named"),
    [
        ({}, ["assumption", "cost", "fact"]),
        ({"facts_read": "clock"}, ["assumption", "cost"]),
        ({"facts_read_nki": "clock cost:latency"}, []),
        ({"facts_read_nki": "hbm_bandwidth assumption:hop cost:latency"}, ["assumption", "fact"]),
        ({"facts_read_nki": "clock assumption:* cost:fabric"}, ["assumption", "cost"]),
        ({"facts_read": "hbm_bandwidth", "facts_read_collective": "clock"}, ["assumption", "cost", "fact"]),
    ],
)
def test_only_what_such_a_case_follows_from_is_named_beside_its_kernel(
    reads: dict[str, str], named: list[str]
) -> None:
    """A run of one kernel has no other case that would speak against an edit."""
    books = [
        FactBook(facts=book(value).facts, assumptions={"hop": trnbench.Assumption(
            id="hop", subject="host", metric="latency", printed="1", printed_unit="us",
            value=value, low=0.0, high=1e3, reason="drawn",
        )})
        for value in (820, 880)
    ]  # fmt: skip
    costs = "costs/host/pkg/costs.toml"
    inputs = {**FOUND, "pkg/kernel.py": OTHER, costs: COSTS + "[fabric]\nrate = 4\n"}
    one = emulated(case(), 1.0, implementation="nki: pkg.kernel:kernel")
    slower = msgspec.structs.replace(one, time_s=2.0)
    found = compared(
        run_of(one, inputs=FOUND, books={"host": books[0]}),
        run_of(slower, id="b", inputs=inputs, books={"host": books[1]}, environment=reads),
    )
    (line, *others) = found.changes[0].causes
    assert line.startswith("pkg/kernel.py:3")
    assert sorted(each.split()[0] for each in others) == named


@pytest.mark.parametrize(("family", "named"), [("tensor", False), ("memory", True)])
def test_a_fact_that_moved_no_other_case_of_the_family_is_no_cause(family: str, named: bool) -> None:
    """`another` has the fact too and did not move; a case of another family may not depend on it."""
    other = msgspec.structs.replace(case("another"), family=family)
    cases = [emulated(case(), 1.0, implementation="nki: pkg.kernel:kernel"), emulated(other, 1.0)]
    slower = msgspec.structs.replace(cases[0], time_s=2.0)
    found = compared(
        run_of(*cases, inputs=FOUND, books={"host": book(820)}),
        run_of(slower, cases[1], id="b", inputs={**FOUND, "pkg/kernel.py": OTHER}, books={"host": book(880)}),
    )
    (line, *facts) = found.changes[0].causes
    assert line.startswith("pkg/kernel.py:3")
    assert bool(facts) is named


def test_of_two_causes_each_case_names_its_own() -> None:
    """A kernel was edited and a fact too: of three cases one runs the kernel, one depends on the fact."""
    of_memory = msgspec.structs.replace(case("stream"), family="memory")
    keys = {"gemm": case(), "still": case("still"), "stream": of_memory}
    sources = {name: f"pkg/{name}.py" for name in keys}
    texts = dict.fromkeys(sources.values(), SOURCE)

    def run(id: str, times: tuple[float, ...], inputs: dict[str, str], value: float) -> Run:
        cases = (
            emulated(key, time, implementation=f"nki: pkg.{name}:kernel")
            for (name, key), time in zip(keys.items(), times, strict=True)
        )
        return run_of(*cases, id=id, inputs=inputs, books={"host": book(value)})

    before = run("a", (1.0, 1.0, 1.0), texts, 820)
    after = run("b", (1.2, 1.0, 0.9), {**texts, sources["gemm"]: OTHER}, 880)
    causes = {each.case.kernel: each.causes for each in compared(before, after).changes}
    assert causes["gemm"] == ("pkg/gemm.py:3 is 'TILE = 256', was 'TILE = 512'",)
    assert causes["stream"] == ("fact host/hbm_bandwidth@page is 880 GB/s, was 820 GB/s",)
    assert causes["still"] == ()
    both = run("c", (1.2, 1.0, 0.9), {**texts, sources["gemm"]: OTHER, sources["stream"]: OTHER}, 820)
    causes = {each.case.kernel: each.causes for each in compared(before, both).changes}
    assert causes["gemm"] == ("pkg/gemm.py:3 is 'TILE = 256', was 'TILE = 512'",)
    assert causes["stream"] == ("pkg/stream.py:3 is 'TILE = 256', was 'TILE = 512'",)


def test_another_version_of_the_model_is_one_cause_of_all_cases() -> None:
    later = Evidence(grade=Grade.EMULATED, by="a model", version="9")
    names = [f"pkg/k{number}.py" for number in range(22)]
    runs = [
        run_of(
            *(
                emulated(case(f"k{at}"), time, implementation=f"nki: pkg.k{at}:kernel", evidence=evidence)
                for at in range(22)
            ),
            id=id,
            inputs=dict.fromkeys(names, f'"""{text}"""\nA = 1\n'),
        )
        for id, time, evidence, text in (
            ("a", 1.0, msgspec.structs.replace(later, version="8"), "old"),
            ("b", 1.1, later, "new"),
        )
    ]
    found = compared(*runs).changes
    assert {each.causes for each in found} == {("model is a model 9, was a model 8",)}
    assert {str(each.verdict) for each in found} == {"evidence changed"}


def test_a_copy_without_texts_still_says_which() -> None:
    one = emulated(case(), 1.0, implementation="nki: pkg.kernel:kernel")
    runs = [
        trnbench.shortened(run_of(one, inputs={"pkg/kernel.py": SOURCE})),
        run_of(msgspec.structs.replace(one, time_s=2.0), id="b", inputs={"pkg/kernel.py": OTHER}),
    ]
    (found,) = compared(*runs).changes
    assert found.causes == ("pkg/kernel.py was edited (this copy of a run does not have its text)",)


def test_a_long_text_is_not_laid_side_by_side() -> None:
    lines = [f"x{number} = 1" for number in range(20_000)]
    before, after = "\n".join(lines), "\n".join([*lines[:-2], "x = 2", f"{lines[-1]}  # the last"])
    assert lines_changed("f.py", before, after) == "f.py:19999 is 'x = 2', was 'x19998 = 1'"
    assert lines_changed("f.py", before, f"{after}\n") == "f.py:19999 is 'x = 2', was 'x19998 = 1'"
    for longer in ((before, f"{after}\ny = 1"), (f"{before}\ny = 1", after)):
        assert lines_changed("f.py", *longer) == "f.py was edited"
    assert lines_changed("f", "a\nb\nc", "a\nd\n\nf") == "f:2 is 'd', was 'b', and 2 more lines"
    assert (
        lines_changed("f.py", "", "a" * 500)
        == f"f.py:1 is '{'a' * 46}…{'a' * 12}' (500 characters), was no line"
    )


def test_tables_of_other_kinds() -> None:
    before = {"a": [1, 2], "b": {"c": 1}, "d": [1, 2], "e": [{"f": 1}], "g": [{"h": 1}, 2], "i": 0}
    after = {"a": [1], "b": 7, "d": [1, 3], "e": 9, "g": [{"h": 2}, 3], "i": {"j": 1}}
    assert list(rows_changed(before, after)) == [
        "a is [1], was [1, 2]",
        "b is 7, was {'c': 1}",
        "d is [1, 3], was [1, 2]",
        "e is 9, was [{'f': 1}]",
        "g is [{'h': 2}, 3], was [{'h': 1}, 2]",
        "i is {'j': 1}, was 0",
    ]


@pytest.fixture(scope="module")
def real() -> Run:
    return trnbench.bench(
        ["gemm"], instances=["trn3*"], dtypes=["bf16"], scopes=["core"], axes=["size=1K"], isolate=False
    )


@pytest.mark.parts
def test_a_run_carries_what_it_was_made_from(real: Run, root: Path) -> None:
    (name,) = {each.implementation for each in real.measurements}
    module = name.partition(": ")[2].partition(":")[0].replace(".", "/")
    assert real.inputs[f"{module}.py"] == (root / "plugins" / f"{module}.py").read_text(encoding="utf-8")
    costs = [name for name in real.inputs if name.startswith("costs/")]
    assert costs == ["costs/trn3/trnbench_trn2/costs.toml", "costs/trn3/trnbench_trn3/costs.toml"]
    assert all(not name.startswith("/") and ".." not in name for name in real.inputs)


@pytest.mark.parts
def test_they_are_kept_once_and_come_back(real: Run, tmp_path: Path) -> None:
    other = msgspec.structs.replace(real, id="other")
    with trnbench.open_store(tmp_path / "results.db") as store:
        store.save(real)
        size = store.path.stat().st_size
        store.save(other)
        assert store.path.stat().st_size - size < sum(map(len, real.inputs.values())) / 8
        assert store.load(real.id).inputs == real.inputs


@pytest.mark.parts
def test_a_page_has_their_digests_in_their_place(real: Run) -> None:
    short = trnbench.shortened(real)
    assert all(map(is_shortened, short.inputs.values()))
    document = msgspec.json.decode(trnbench.dumps(short))
    assert content_digest(document) == real.digest
    document["inputs"]["trnbench/kernels/kernel.py"] = "sha256:" + "0" * 64
    assert is_edited(document)


def test_a_users_own_file_is_scrubbed() -> None:
    found = {
        "lab/kernel.py": b"# jo@example.org, i-0123456789abcdef0\n",
        "trnbench/own.py": b"# jo@example.org\n",
        "lab/picture": b"\xff\xfe",
        "lab/large.py": b"x" * (1 << 21),
    }
    plan = SimpleNamespace(sources=lambda: found)
    assert inputs_of(plan, {}, costs=False) == {  # type: ignore[arg-type]
        "lab/kernel.py": "# <address>, <instance-id>\n",
        "trnbench/own.py": "# jo@example.org\n",
    }
