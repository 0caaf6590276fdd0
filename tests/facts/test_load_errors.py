"""Fact files that are wrong: the error names the entry, the key and what to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fact_rows import FLOPS, group
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import BadInput, FactError, MissingFile, TrnbenchError, UnitError, UsageError
from trnbench.facts.load import FACT_KEYS, load_book, load_costs

Write = Callable[..., Path]


HEAD_LINES = 8  # of the sources that `write` puts before every body


WRONG: list[tuple[str, str, type[TrnbenchError]]] = [
    (
        group('metric = "device_count", printed = "16", unit = "GB"'),
        "[[group]] 1, fact 1: device_count cannot be in GB\n"
        "  cause: device_count (accelerator devices (chips)) is a count, not an amount of data\n"
        '  try:   unit = ""',
        UnitError,
    ),
    (
        group('metric = "topology_name", printed = "ring", unit = "GB"'),
        "[[group]] 1, fact 1: topology_name has no unit, unit is 'GB'\n"
        "  cause: topology_name (name of the graph) holds words\n"
        "  try:   leave unit out, or take a metric with a number",
        UnitError,
    ),
    (
        group('metric = "peak_flops", dtypes = ["bf16"], prnted = "1", unit = "TFLOPS"'),
        "[[group]] 1, fact 1: unknown key 'prnted'\n  cause: did you mean 'printed' or 'part'?",
        FactError,
    ),
    (
        group(FLOPS) + group(FLOPS, subject="other") + group('metric = "peak_flop", printed = "1"'),
        "[[group]] 3, fact 1: unknown metric 'peak_flop'\n  cause: did you mean peak_flops?\n"
        "  try:   a metric of the list; words belong to connectivity or feature",
        FactError,
    ),
    (
        group('metric = "device_count", printed = "1"', 'metric = "vcpu_count", printed = 8'),
        "[[group]] 1, fact 2: 'printed' must be text in quotes, is a whole number (8)\n"
        '  try:   printed = "8"',
        FactError,
    ),
    (
        group('metric = "peak_flops", dtypes = "", printed = "1", unit = "TFLOPS"'),
        "[[group]] 1, fact 1: 'dtypes' must be a list, is a text ('')",
        FactError,
    ),
    (
        group('metric = "peak_flops", dtypes = ["bf61"], printed = "1", unit = "TFLOPS"'),
        "[[group]] 1, fact 1: unknown dtype 'bf61'\n  cause: did you mean 'bf16'?",
        FactError,
    ),
    (
        group('metric = "peak_flops", printed = "1", unit = "TFLOPS"'),
        '[[group]] 1, fact 1: key \'dtypes\' is missing\n  try:   dtypes = ["fp16", "bf16"]',
        FactError,
    ),
    (
        group('metric = "hbm_bandwidth", printed = "1"'),
        "[[group]] 1, fact 1: key 'unit' is missing\n"
        '  try:   unit = "TFLOPS", as printed; unit = "" for counts and words',
        FactError,
    ),
    (
        group('metric = "device_count"'),
        "[[group]] 1, fact 1: key 'printed' is missing\n"
        '  try:   printed = "3,360", the digits as the document shows them',
        FactError,
    ),
    (
        group('metric = "device_count", printed = "1"', scope="instanc"),
        "[[group]] 1, fact 1: unknown scope 'instanc'\n  cause: did you mean 'instance'?",
        FactError,
    ),
    (
        group('metric = "device_count", printed = "1"', source="pge"),
        "[[group]] 1, fact 1: 'source' names the unknown source 'pge'\n  cause: did you mean 'page'?\n"
        '  try:   [sources.pge] with document = "…"',
        FactError,
    ),
    (
        group('metric = "device_count", printed = "1", superseded_by = "newer"'),
        "[[group]] 1, fact 1: 'superseded_by' names the unknown source 'newer'\n  cause: known: page, table\n"
        '  try:   [sources.newer] with document = "…"',
        FactError,
    ),
    (
        group(FLOPS, FLOPS),
        "[[group]] 1, fact 2: the same fact twice: box/peak_flops[fp16,bf16]@page\n"
        "  cause: it is also [[group]] 1, fact 1 of facts.toml\n"
        '  try:   part = "prose" where one document prints it in two places, a qualifier where two '
        "things are meant; override = true at the top of a file of one's own that replaces it",
        FactError,
    ),
    (
        group('metric = "hbm_bandwidth", printed = "-1", unit = "GB/s"'),
        "[[group]] 1, fact 1: '-1' is negative\n  cause: no documented figure of a machine is below zero\n"
        "  try:   write the printed digits without the sign, or leave the fact out",
        UnitError,
    ),
    (
        group('metric = "hbm_bandwidth", printed = "nan", unit = "GB/s"'),
        "[[group]] 1, fact 1: 'nan' is not a number\n  cause: NaN and infinity stand for a missing figure, "
        "not for a fact\n  try:   leave the fact out, or write an assumption with its range",
        UnitError,
    ),
    (
        group('metric = "hbm_bandwidth", printed = "820", unit = "GiB"'),
        "[[group]] 1, fact 1: hbm_bandwidth cannot be in GiB\n"
        "  cause: hbm_bandwidth (device memory bandwidth) is a data rate, not an amount of data\n"
        "  try:   a unit that leads to B/s, or another metric",
        UnitError,
    ),
    (
        group('metric = "neuronlink_bandwidth", printed = "1,024", unit = "GB/sec/device"'),
        "[[group]] 1, fact 1: GB/sec/device is per device, the fact's scope is instance\n"
        "  cause: a figure per part and a figure of the whole are not mixed\n"
        '  try:   scope = "device"',
        UnitError,
    ),
    (
        group('metric = "peak_flops", dtypes = ["int8"], printed = "380", unit = "TFLOPS"'),
        "[[group]] 1, fact 1: int8 in TFLOPS\n  cause: integer operations are no floating-point operations\n"
        '  try:   a fact of its own for dtypes = ["int8"], with unit = "TOPS"',
        UnitError,
    ),
    (
        group('metric = "hbm_bandwidth", printed = "820", unit = "GB/s", direction = "one-way"'),
        "[[group]] 1, fact 1: hbm_bandwidth has no direction, direction is 'one-way'\n"
        "  cause: hbm_bandwidth is device memory bandwidth\n  try:   leave direction out",
        UnitError,
    ),
    (
        group('metric = "efa_bandwidth", printed = "over 25", unit = "Gbps", limit = "up-to"'),
        "[[group]] 1, fact 1: limit is 'up-to', printed says 'over': 'over 25'",
        FactError,
    ),
    (
        '\n[[group]]\nsubject = "box"\n',
        "[[group]] 1: a group without a list of facts\n  try:   facts = [ {metric = …, printed = …}, … ]",
        FactError,
    ),
    (
        '\n[[group]]\nsubjct = "box"\nfacts = []\n',
        "[[group]] 1: unknown key 'subjct'\n  cause: did you mean 'subject'?",
        FactError,
    ),
    ("\n[groups]\n", "unknown table 'groups'\n  cause: did you mean 'group'?", FactError),
    (
        '\n[sources.third]\nversion = "1"\n',
        "[sources.third]: key 'document' is missing\n  try:   document = \"…\"",
        FactError,
    ),
    (
        '\n[sources.third]\ndocument = "D"\nsead = true\n',
        "[sources.third]: unknown key 'sead'\n  cause: did you mean 'seed'?",
        FactError,
    ),
    (
        '\n[[assumptions]]\nid = "a"\nmetric = "latency"\nprinted = "5"\nunit = "us"\nlow = "1"\nhigh = "2"\n'
        'reason = "r"\n',
        "[[assumptions]] 1: 5 is outside its own range 1 to 2 us\n"
        "  cause: low and high bound what is plausible, in the unit of printed",
        FactError,
    ),
    (
        '\n[[assumptions]]\nid = "a"\nmetric = "latency"\nprinted = "5"\nunit = "us"\nhigh = "9"\n'
        'reason = "r"\n',
        "[[assumptions]] 1: key 'low' is missing\n  try:   low = \"…\"",
        FactError,
    ),
    (
        '\n[[disputes]]\nid = "C01"\ntopic = "t"\nvalues = ["1", "2"]\nsources = ["page"]\nrule = "valeu"\n',
        "[[disputes]] 1: unknown rule 'valeu'\n  cause: did you mean 'value'?",
        FactError,
    ),
    (
        '\n[[disputes]]\nid = "C01"\ntopic = "t"\nvalues = ["1", "2"]\nsources = ["pge"]\n',
        "[[disputes]] 1: 'sources' names the unknown source 'pge'\n  cause: did you mean 'page'?\n"
        '  try:   [sources.pge] with document = "…"',
        FactError,
    ),
]


TOML = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 5), st.floats(), st.text("ab,1.", max_size=4)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *FACT_KEYS,
                    "facts",
                    "group",
                    "sources",
                    "disputes",
                    "assumptions",
                    "schema",
                    "values",
                    "low",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(("body", "message", "kind"), WRONG)
def test_errors_name_the_entry_the_key_and_what_to_write(
    write: Write, body: str, message: str, kind: type[TrnbenchError]
) -> None:
    path = write(body)
    with pytest.raises(kind) as error:
        load_book([path])
    assert str(error.value) == f"{path}: {message}"
    assert error.value.exit_code == 2


def test_a_missing_file_names_its_neighbours(write: Write) -> None:
    path = write(group(FLOPS))
    with pytest.raises(MissingFile) as error:
        load_book([path.parent / "fcts.toml"])
    assert str(error.value) == (
        f"no such file: {path.parent / 'fcts.toml'}\n"
        "  cause: the path is wrong, or the package that names it is only partly installed\n"
        "  try:   in that folder: facts.toml"
    )


def test_what_is_no_toml_is_placed_by_line_and_column(write: Write) -> None:
    path = write('\n[[group]]\nsubject = "box\n')
    with pytest.raises(BadInput) as error:
        load_book([path])
    assert str(error.value).startswith(f"{path} is no valid TOML: ")
    assert f"(at line {HEAD_LINES + 3}, column 15)" in str(error.value)
    assert "cause: often a missing quote, comma or bracket just before that place" in str(error.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_bytes(b"schema = 1\n# \xff\n")
    with pytest.raises(BadInput) as error:
        load_book([path])
    assert str(error.value) == (
        f"{path} is not UTF-8 text\n  cause: byte 13 cannot be decoded\n  try:   save it as UTF-8"
    )


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("", "the schema is not stated\n  try:   schema = 1 as the first line"),
        (
            "schema = 2\n",
            "schema 2 is not known here\n  cause: this version reads schema 1\n"
            "  try:   a newer trnbench, if a newer one wrote the file",
        ),
        (
            "schema = true\n",
            "schema True is not known here\n  cause: this version reads schema 1\n"
            "  try:   a newer trnbench, if a newer one wrote the file",
        ),
    ],
)
def test_the_schema_has_to_be_known(write: Write, head: str, message: str) -> None:
    path = write("", head=head)
    with pytest.raises(FactError) as error:
        load_book([path])
    assert str(error.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "[a.b]\ncycles = -1\n",
            "a.b.cycles is negative: -1\n  cause: no cost and no count is below zero",
        ),
        (
            "[a]\nlist = [1.0, nan]\n",
            "a.list[1] is nan\n  cause: it stands for a missing number, or for one that is too large\n"
            "  try:   leave the key out where there is no number",
        ),
        ("[a]\nb = 1e30\n", "a.b is too large: 1e+30\n  cause: a cost or count is 0 to 1e+18"),
    ],
)
def test_costs_hold_no_impossible_number(write: Write, body: str, message: str) -> None:
    path = write(body, "costs.toml", head="schema = 1\n")
    with pytest.raises(UsageError) as error:
        load_costs(path)
    assert str(error.value) == f"{path}: {message}"


@given(st.dictionaries(st.sampled_from(["group", "sources", "disputes", "assumptions", "override"]), TOML))
def test_whatever_a_file_holds_the_error_names_it(
    tmp_path_factory: pytest.TempPathFactory, body: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.touch()
    document = {"schema": 1, **body}  # type: ignore[dict-item]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trnbench.facts.load.read_toml", lambda _: document)
        said = str(path)
        try:
            load_book([path])
        except FactError as error:
            said = str(error)
    assert said.startswith(str(path))
