"""Whether bands hold: what is left out of a judgement, how rows are counted, and the gate."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from evidence_point import point, subject
from hypothesis import given
from hypothesis import strategies as st

from trnbench import Band, Nearness
from trnbench.cli.main import cli
from trnbench_fidelity.nearness.bands import class_bands
from trnbench_fidelity.nearness.coverage import ALL, UNSEEN, Coverage, Judged, coverage_rows, judged
from trnbench_fidelity.nearness.coverage_tables import markdown, sentence
from trnbench_fidelity.nearness.evidence import Evidence
from trnbench_fidelity.nearness.ranges import ASSUMED, ends_of, over

POINTS = [point(f"p{n}", subject(f"k{n // 2}", M=1.0 + 99 * (n % 2))) for n in range(8)]
FAMILY = {each.id: "kernel" for each in POINTS}


def of(points: list[Judged], id: str, kind: str = UNSEEN) -> Judged:
    (found,) = (each for each in points if (each.id, each.kind) == (id, kind))
    return found


class TestJudged:
    @given(st.floats(min_value=-3, max_value=3), st.floats(min_value=-3, max_value=3))
    def test_a_band_knows_nothing_of_its_vote(self, e: float, sibling: float) -> None:
        """The point's own error and that of another size of its kernel move no end of its band."""
        flat = {each.id: 0.05 * n for n, each in enumerate(POINTS)}
        usual = of(list(judged(Evidence(POINTS), flat, FAMILY, {})), "p0")
        moved = of(list(judged(Evidence(POINTS), flat | {"p0": e, "p1": sibling}, FAMILY, {})), "p0")
        assert moved.width == usual.width

    def test_it_is_the_band_of_the_others(self) -> None:
        errors = {each.id: 0.1 * n for n, each in enumerate(POINTS)}
        rest = [each for each in POINTS if each.vote != POINTS[0].vote]
        band = class_bands(Evidence(rest), {each.id: errors[each.id] for each in rest}, "trn2", "core")
        expected = band[Nearness.OPERATION]
        found = of(list(judged(Evidence(POINTS), errors, FAMILY, {})), "p0")
        assert found.width == pytest.approx((expected.high - expected.low) / 2)
        assert found.inside is (expected.low <= 0.0 <= expected.high)

    def test_each_class_that_it_lands_in_is_judged(self) -> None:
        found = list(judged(Evidence(POINTS), dict.fromkeys(FAMILY, 0.0), FAMILY, {}))
        assert {each.kind for each in found if each.id == "p0"} == {UNSEEN, "kernel", "operation"}
        assert all(each.inside for each in found)

    def test_what_is_alone_on_its_generation_has_no_band(self) -> None:
        alone = point("alone", subject("x", generation="trn3", M=1.0))
        errors = dict.fromkeys(FAMILY, 0.0) | {"alone": 0.0}
        found = of(
            list(judged(Evidence([*POINTS, alone]), errors, FAMILY | {"alone": "kernel"}, {})), "alone"
        )
        assert (found.inside, found.width) == (None, None)

    def test_the_ranges_of_assumptions_widen_it(self) -> None:
        errors = {each.id: 0.0 for each in POINTS}
        wide = dict.fromkeys(FAMILY, (-0.5, 0.25))
        assert of(list(judged(Evidence(POINTS), errors, FAMILY, wide)), "p0").width == pytest.approx(0.375)


class TestRanges:
    def test_a_slower_model_lets_one_expect_a_faster_machine(self) -> None:
        assert ends_of([2.0, 1.25], 1.0) == (-0.693, 0.0)
        assert ends_of([0.5, 1.25], 1.0) == (-0.223, 0.693)

    def test_what_moves_nothing_is_not_kept(self) -> None:
        assert ends_of([1.005, 0.995], 1.0) is None
        assert ends_of([], 1.0) is None

    def test_a_band_is_moved_outwards_only(self) -> None:
        band = Band(low=-0.1, high=0.3, votes=9, points=9)
        assert over(band, None) == over(band, (-0.1, 0.3)) == band
        found = over(band, (-0.4, 0.1))
        assert (found.low, found.high, found.votes, found.widened) == (-0.4, 0.3, 9, ASSUMED)


def judged_point(id: str, vote: str, inside: bool | None, kind: str = UNSEEN) -> Judged:
    width = None if inside is None else 0.25
    return Judged(id=id, family="dma", generation="trn2", vote=vote, kind=kind, inside=inside, width=width)


def test_a_vote_counts_by_the_share_of_its_rows() -> None:
    points = [judged_point("a", "x", True), judged_point("b", "x", False), judged_point("c", "y", True)]
    rows = coverage_rows([*points, judged_point("d", "z", None), judged_point("e", "x", True, "same")])
    assert [(row.family, row.generation, row.kind) for row in rows] == [
        (ALL, ALL, UNSEEN),
        (ALL, ALL, "same"),
        ("dma", ALL, UNSEEN),
        ("dma", "trn2", UNSEEN),
        ("dma", "trn2", "same"),
    ]
    assert rows[0] == Coverage(
        family=ALL,
        generation=ALL,
        kind=UNSEEN,
        rows=3,
        inside=2,
        votes=2,
        votes_inside=1.5,
        unbanded=1,
        width=0.25,
    )
    assert rows[0].share == pytest.approx(2 / 3)
    assert sentence(rows) == (
        "2 of 3 rows (67 %) and 1.5 of 2 votes (75 %) lie in bands that know nothing of them, ×1.28 either "
        "way in the mean; 1 row would have none."
    )
    assert "| dma | trn2 | 2 of 3 (67 %) | 1.5 of 2 (75 %) | ×1.28 | 1 |" in markdown(rows)


class TestCommand:
    @pytest.fixture(autouse=True)
    def _judged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        points = [judged_point("a", "x", True), judged_point("b", "y", False)]
        monkeypatch.setattr("trnbench_fidelity.band_verdicts.judged_points", lambda *_: points)

    def run(self, *options: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(cli, ["validate", *options])
        return done.exit_code, done.stdout, done.stderr

    def test_rows_of_data(self) -> None:
        code, text, _ = self.run("coverage", "--format", "json")
        assert code == 0
        first = json.loads(text)[0]
        assert (first["family"], first["inside"], first["rows"]) == ("all", 1, 2)

    @pytest.mark.parametrize(
        ("limit", "code"), [("50%", 0), ("51%", 1), ("dma=50%", 0), ("dma=60%", 1), ("hbm=1%", 1)]
    )
    def test_a_pipeline_fails_on_it(self, limit: str, code: int) -> None:
        found, _, said = self.run("--min-coverage", limit)
        assert found == code
        assert ("error: --min-coverage" in said) is bool(code)

    @pytest.mark.parametrize(
        ("options", "what"),
        [
            (("--min-coverage", "=5%"), "--min-coverage '=5%' is no limit"),
            (("--min-coverage", "much"), "--min-coverage 'much' is no limit"),
            (("--min-coverage", "hbmm=5%"), "unknown family 'hbmm'"),
            (("points", "--min-coverage", "80%"), "validate coverage does not go with points"),
            (("same", "--min-coverage", "80%"), "validate coverage does not go with same"),
        ],
    )
    def test_what_makes_no_sense_is_said(self, options: tuple[str, ...], what: str) -> None:
        code, _, said = self.run(*options)
        assert code == 2
        assert what in said

    def test_a_selection_without_a_point(self) -> None:
        code, _, said = self.run("coverage", "--generation", "trn1")
        assert code == 5
        assert "no point of the selection has a number of the model" in said
