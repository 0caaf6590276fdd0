"""The page as bytes: self-contained, held by its policy, its data by columns."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from synthetic_run import make_run
from unpacked_columns import restored
from whole_page import BUILT_IN, unfolded

import trnbench
from trnbench import Run, Section
from trnbench.run.render import find_format, render_bytes
from trnbench_reports import page, payload

LIMIT = 2_200_000


class Tags(HTMLParser):
    """Every start tag with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str]]] = []
        self.inline: list[tuple[str, dict[str, str], str]] = []
        self._open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.found.append((tag, values))
        self._open = tag in ("script", "style")
        if self._open:
            self.inline.append((tag, values, ""))

    def handle_data(self, data: str) -> None:
        if self._open:
            tag, values, text = self.inline[-1]
            self.inline[-1] = (tag, values, text + data)

    def handle_endtag(self, tag: str) -> None:
        self._open = False


def render(run: Run, *more: Section) -> str:
    """With every section opened."""
    return unfolded(page.render([run], [*BUILT_IN, *more]).decode("utf-8"))


@pytest.fixture(scope="module")
def text(run: Run) -> str:
    return render(run)


@pytest.fixture(scope="module")
def tags(text: str) -> Tags:
    return Tags(text)


def test_same_runs_same_bytes(run: Run, text: str) -> None:
    assert unfolded(page.render([run], reversed(BUILT_IN)).decode()) == text


def test_size_of_the_default_run(text: str, run: Run) -> None:
    assert len(run.measurements) > 1600
    assert len(run.systems) == 7
    assert len(text.encode()) <= LIMIT


@pytest.mark.parts
def test_sections_stand_in_order(tags: Tags) -> None:
    names = [values["id"] for tag, values in tags.found if tag == "section"]
    order = "headline scoreboard losses links generations rooflines fabric cases documents method"
    assert " ".join(names) == order


def test_policy_names_exactly_what_is_inside(tags: Tags) -> None:
    (policy,) = [v["content"] for _, v in tags.found if v.get("http-equiv") == "Content-Security-Policy"]

    def digest(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    styles = [text for tag, _, text in tags.inline if tag == "style"]
    scripts = [text for tag, values, text in tags.inline if tag == "script" and "type" not in values]
    assert len(styles) == len(scripts) == 1
    assert "\r" not in styles[0] + scripts[0]
    assert policy == (
        f"default-src 'none'; img-src data:; style-src '{digest(styles[0])}'; "
        f"script-src '{digest(scripts[0])}'; base-uri 'none'; form-action 'none'"
    )


def test_nothing_is_fetched_and_nothing_is_styled_inline(tags: Tags) -> None:
    for tag, values in tags.found:
        assert "style" not in values, (tag, values)
        assert not [name for name in values if name.startswith("on")], (tag, values)
        assert tag not in ("img", "iframe", "object", "embed", "base", "video", "audio", "image")
        for name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            if name in values:
                assert values[name].startswith("#") or values[name] == "data:,", (tag, values)


def test_ids_are_unique_and_links_lead_somewhere(tags: Tags, run: Run) -> None:
    ids = [values["id"] for _, values in tags.found if "id" in values]
    assert len(ids) == len(set(ids))
    known = set(ids)
    links = {v["href"][1:] for tag, v in tags.found if tag == "a"}
    links |= {v["data-id"] for _, v in tags.found if "data-id" in v}
    cases = {parse_qs(each)["case"][0] for each in links if each.startswith("case=")}
    assert {each for each in links if not each.startswith("case=")} - known == set()
    assert cases <= {each.id for each in run.measurements}
    assert len(cases) > 100
    for _, values in tags.found:
        for value in values.values():
            for reference in re.findall(r"url\(#([^)]+)\)", value):
                assert reference in known


def test_the_data_comes_back_whole(tags: Tags, run: Run) -> None:
    (packed,) = [text for _, values, text in tags.inline if values.get("id") == "data-json"]
    (text,) = restored(gzip.decompress(base64.b64decode(packed)))
    assert trnbench.loads(text) == run


def test_third_party_sections_are_placed_by_order(small: Run) -> None:
    def power(runs: Any) -> Markup:
        return Markup("<p>{} W</p>").format(42)

    text = render(small, Section(name="power", title="Power", order=45, render=power))  # type: ignore[arg-type]
    assert "<p>42 W</p>" in text
    order = re.findall(r'<section class="depth\d" id="(\w+)"', text)
    assert order.index("rooflines") + 1 == order.index("power") == order.index("fabric") - 1
    assert '<a href="#power">Power</a>' in text


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_section_stands_at_the_depth_of_its_choice(small: Run, depth: Any) -> None:
    made = Section(
        name="power", title="Power", order=45, depth=depth, render=lambda runs: Markup("<p>42 W</p>")
    )  # type: ignore[arg-type]
    text = render(small, made)
    assert f'<section class="depth{depth}" id="power"' in text
    assert text.count("<h1") == 1


def test_a_section_without_data_says_what_it_needs_and_what_would_bring_it(small: Run) -> None:
    made = Section(
        name="power",
        title="Power",
        order=45,
        depth=2,
        render=lambda runs: "",  # type: ignore[arg-type]
        needs="the watts of <each> case",
        fill="trnbench run --backend neuron",
    )
    text = render(small, made)
    assert (
        "It takes the watts of &lt;each&gt; case; what brings it: <code>trnbench run --backend neuron</code>."
        in text
    )


def test_a_section_of_the_first_contract_is_of_the_third_depth() -> None:
    assert Section(name="power", title="Power", order=45, render="power:render").depth == 3


def test_a_page_without_a_headline_has_a_heading(small: Run) -> None:
    text = page.render([small], [each for each in BUILT_IN if each.depth > 1]).decode()
    assert text.count("<h1") == 1


def test_a_section_that_returns_text_is_escaped(small: Run) -> None:
    def sly(runs: Any) -> str:
        return "<script>alert(1)</script>"

    text = render(small, Section(name="sly", title="Sly", order=46, render=sly))  # type: ignore[arg-type]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in text


def test_an_empty_section_takes_no_room(small: Run) -> None:
    text = render(small, Section(name="void", title="Void", order=47, render=lambda runs: ""))  # type: ignore[arg-type]
    assert 'id="void"' not in text
    assert 'href="#void"' not in text


def test_a_section_whose_code_is_gone_is_boxed(small: Run) -> None:
    text = render(small, Section(name="gone", title="Gone", order=45, render="no_such_package.power:render"))
    assert "could not be written: cannot load &#39;no_such_package.power:render&#39;: ModuleNotFound" in text


def test_the_example_of_the_documentation_works(small: Run) -> None:
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    (section,) = names["trnbench_reports"]()
    assert names["render"]([small]) == ""
    warm = msgspec.structs.replace(small.measurements[0], counters={"watts": 412.4})
    hot = msgspec.structs.replace(small, measurements=(warm,))
    made = render(hot, msgspec.structs.replace(section, render=names["render"]))
    assert "<td class=n>412" in made


def test_several_runs_are_told_apart() -> None:
    """Of two that can be compared the later one leads: test_comparison_section.py."""
    names = ("run-one", "run-two", "run-three")
    text = page.render([make_run(sizes=1, extra_kernels=0, id=each) for each in names], BUILT_IN).decode()
    tags = Tags(unfolded(text))
    ids = [values["id"] for _, values in tags.found if "id" in values]
    assert len(ids) == len(set(ids))
    for name in names:
        assert f"<h3>Emulated: run {name}</h3>" in text


@pytest.mark.parts
def test_a_run_with_nothing_in_it() -> None:
    empty = Run(id="empty", created="2026-11-20T00:00:00Z", tool_version="0.1.0")
    text = render(empty)
    assert "could not be written" not in text
    assert page.render([], BUILT_IN).startswith(b"<!DOCTYPE html>")


@pytest.mark.parts
def test_the_page_has_the_sections_of_the_registry_that_writes_it(small: Run) -> None:
    registry = trnbench.load_registry(block=("trn1",))
    html = find_format(registry, "html")
    order = re.findall(
        r'<section class="depth\d" id="([\w-]+)"', render_bytes([small], html, registry).decode()
    )
    # This run was held against nothing, is alone, and has no models.
    placed = sorted(BUILT_IN, key=lambda each: (each.depth, each.order))
    expected = [s.name for s in placed if s.name not in ("fidelity", "comparison", "workloads")]
    assert [name for name in order if name in {s.name for s in BUILT_IN}] == expected
    without = trnbench.load_registry(block=("reports",))
    assert 'id="scoreboard"' not in render_bytes([small], html, without).decode()


@pytest.fixture(scope="module")
def bad(hostile: Run) -> str:
    return render(hostile)


class TestHostile:
    @pytest.mark.parts
    def test_no_tag_and_no_attribute_comes_from_data(self, bad: str) -> None:
        tags = Tags(bad)
        scripts = [values for tag, values, _ in tags.inline if tag == "script"]
        assert [v.get("type") for v in scripts] == ["text/plain", None]
        for tag, values in tags.found:
            assert not [name for name in values if name.startswith("on") or name == "style"], (tag, values)
            assert not values.get("href", "#").startswith("javascript")
        assert "could not be written" not in bad

    def test_templates_in_data_are_not_run(self, bad: str) -> None:
        assert "{{ 7*7 }}" in bad

    def test_no_control_or_bidirectional_character_reaches_the_page(self, bad: str) -> None:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", bad)

    def test_endless_names_are_cut(self, bad: str) -> None:
        visible = re.sub(r"<script.*?</script>", "", bad, flags=re.DOTALL)
        # Addresses are whole, or they would lead nowhere.
        visible = re.sub(r'(href|data-id)="?#?case=[^">]*', "", visible)
        assert "name-" * 450 not in visible
        assert len(bad.encode()) < LIMIT


# The data of a page by columns: put together again they are the same bytes.


words = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    scalars | words, lambda each: st.lists(each) | st.dictionaries(words, each), max_leaves=30
)


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@given(st.lists(anything, max_size=4))
def test_any_values_come_back_byte_for_byte(values: list[Any]) -> None:
    assert restored(payload.packed_columns(values)) == [compact(each) for each in values]


@given(
    st.lists(st.sampled_from([{"a": 1}, {"a": [2]}, {"a": 1.0}, "x", [1], [1.0], None, [None]]), max_size=40)
)
def test_what_repeats_stands_once_and_comes_back(values: list[Any]) -> None:
    assert restored(payload.packed_columns(values)) == [compact(each) for each in values]


def test_many_values_of_which_a_few_are_equal_come_back() -> None:
    """More than are looked at to see whether a list of the different ones is worth it."""
    values: list[Any] = [{"a": place % 700, "b": [place % 3]} for place in range(3000)]
    assert restored(payload.packed_columns(values)) == [compact(each) for each in values]


@pytest.mark.parametrize(
    ("value", "error"),
    [({"a": [None, float("nan")]}, ValueError), ({3: "x"}, TypeError), ([object()], TypeError)],
)
def test_what_json_cannot_hold_is_refused(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        payload.packed_columns([value, value])


def test_a_run_comes_back_and_is_smaller(run: Run) -> None:
    whole = trnbench.dumps(run)
    packed = payload.packed_columns([run])
    assert restored(packed) == [whole]
    assert len(gzip.compress(packed)) < 0.7 * len(gzip.compress(whole))


def test_the_payload_refuses_what_json_cannot_hold_and_names_it(small: Run) -> None:
    first, *rest = small.measurements
    bad = msgspec.structs.replace(first, detail={"share": float("nan")})
    with pytest.raises(trnbench.BadInput, match=r"measurements\[0\]\.detail\.share"):
        payload.payloads([msgspec.structs.replace(small, measurements=(bad, *rest))])
