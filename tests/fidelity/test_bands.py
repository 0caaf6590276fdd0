"""Bands: who lands in a class, how votes weigh, how a band with few votes is widened."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any, ClassVar

import msgspec
import pytest
from command import typed
from comparison import comparison
from evidence_point import point, subject
from hypothesis import given
from hypothesis import strategies as st
from stored_run import text_of

from renewal.sections import groups_of
from trnbench import Band, Nearness
from trnbench.errors import BadInput
from trnbench.results.fidelity import Comparison, Fidelity, PublicKernels, Use
from trnbench_fidelity.nearness.bands import (
    ASSUMED,
    BANDED,
    BEYOND,
    ENOUGH,
    EVERYTHING,
    GENERATIONS,
    Groups,
    bands,
    bands_of,
    class_bands,
    end,
    ends_of,
    errors,
    landing,
    over,
    own,
    widened,
)
from trnbench_fidelity.nearness.coverage import (
    ALL,
    UNSEEN,
    Coverage,
    Judged,
    coverage_rows,
    judged,
    markdown,
    sentence,
)
from trnbench_fidelity.nearness.evidence import Evidence, Known
from trnbench_fidelity.statistics import row_of

SAME, KERNEL, OPERATION, FAMILY = BANDED
FLOATS = st.floats(min_value=-3, max_value=3)


def ids(points: list[Known]) -> list[str]:
    return [each.id for each in points]


class TestLanding:
    """Three sizes of one kernel, two of them alike, and another kernel of the operation."""

    A1, A2, A3 = (
        point("a1", subject("a", M=1000)),
        point("a2", subject("a", M=1500)),
        point("a3", subject("a", M=9000)),
    )
    B = point("b", subject("b", M=1000))
    C = point("c", subject("c", "softmax", M=1000))
    EVIDENCE = Evidence((A1, A2, A3, B, C))
    E: ClassVar = {"a1": 0.1, "a2": 0.2, "a3": 0.3, "b": 0.4, "c": 0.5}

    def landed(self, kind: Nearness) -> list[str]:
        return ids(landing(self.EVIDENCE, "trn2", "core", kind, self.E))

    def test_same_is_found_without_the_point_itself(self) -> None:
        assert self.landed(SAME) == ["a1", "a2"]

    def test_kernel_is_found_without_all_points_of_that_size(self) -> None:
        assert self.landed(KERNEL) == ["a1", "a2", "a3"]

    def test_operation_and_family_are_found_without_the_whole_kernel(self) -> None:
        assert self.landed(OPERATION) == ["a1", "a2", "a3", "b"]
        assert self.landed(FAMILY) == ["c"]

    def test_a_point_without_an_error_lands_nowhere(self) -> None:
        assert ids(landing(self.EVIDENCE, "trn2", "core", OPERATION, {"b": 0.4})) == ["b"]

    @pytest.mark.parametrize("kind", BANDED)
    def test_what_is_removed_is_its_own(self, kind: Nearness) -> None:
        for each in self.EVIDENCE.points:
            without = own(each, kind)
            assert without(each)
            _, left = self.EVIDENCE.classify(each.subject, without)
            assert each.id not in ids(list(left))
            if kind in (OPERATION, FAMILY):
                assert all(other.subject.program != each.subject.program for other in left)


class TestEnds:
    @given(st.lists(FLOATS, min_size=4, max_size=60, unique=True))
    def test_one_more_vote_lies_beyond_no_more_often_than_said(self, values: list[float]) -> None:
        """Of every vote in turn the others make the ends: no more than a tenth of all lie beyond each, one
        where there are too few for that."""
        low = high = 0
        for number, value in enumerate(values):
            others = [(each, 1.0) for each in (*values[:number], *values[number + 1 :])]
            low += value < end(others)
            high += value > end(others, upper=True)
        assert max(low, high) <= max(1, BEYOND * len(values) + 1e-9)

    @pytest.mark.parametrize(("votes", "beyond"), [(3, 0), (8, 0), (9, 0), (18, 0), (19, 1), (29, 2)])
    def test_it_is_the_outermost_until_there_are_enough(self, votes: int, beyond: int) -> None:
        values = [(float(number), 1.0) for number in range(votes)]
        assert end(values) == beyond
        assert end(values, upper=True) == votes - 1 - beyond

    def test_points_of_one_vote_share_it(self) -> None:
        """Nineteen votes, the largest of them ten points: that one vote may lie beyond."""
        values = [(float(number), 1.0) for number in range(18)] + [(20.0 + n, 0.1) for n in range(10)]
        assert end(values, upper=True) == 17.0

    def test_many_points_of_one_kernel_weigh_as_one(self) -> None:
        """Ten sizes of a bad kernel among nineteen good ones: alone they would make the band."""
        kernels = [point(f"k{n}", subject(f"k{n}", M=1)) for n in range(19)]
        many = [point(f"x{n}", subject("x", M=10.0**n)) for n in range(10)]
        e = {each.id: 0.0 for each in kernels} | {each.id: 1.0 for each in many}
        band = class_bands(Evidence([*kernels, *many]), e, "trn2", "core")[OPERATION]
        assert (band.votes, band.points, band.high) == (20, 29, 1.0)  # around the kernel's own sizes
        alone = class_bands(Evidence([*kernels, many[0]]), e, "trn2", "core")[OPERATION]
        assert (alone.votes, alone.high) == (20, 0.0)

    def test_nothing_has_no_end(self) -> None:
        with pytest.raises(ValueError, match="no values"):
            end([])


KERNELS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from(("gemm", "softmax")),
        st.sampled_from((1.0, 1.5, 9.0, 100.0)),
        st.sampled_from(("trn1", "trn2")),
        FLOATS,
    ),
    min_size=1,
    max_size=30,
)


class TestNesting:
    @given(KERNELS)
    def test_no_class_is_narrower_than_a_nearer_one(self, rows: Any) -> None:
        points = [
            point(f"p{n}", subject(f"{name}-{operation}", operation, generation=generation, M=size))
            for n, (name, operation, size, generation, _) in enumerate(rows)
        ]
        e = {f"p{n}": row[-1] for n, row in enumerate(rows)}
        for of_generation in bands(Evidence(points), e, "1").values():
            for classes in of_generation.groups.values():
                for near, far in pairwise(classes[kind] for kind in BANDED):
                    assert far.low <= near.low <= near.high <= far.high

    def test_a_group_without_an_error_has_no_band(self) -> None:
        evidence = Evidence([point("a", subject("a", M=1)), point("b", subject("b", group="hbm", M=1))])
        assert class_bands(evidence, {"a": 0.1}, "trn2", "hbm") == {}
        assert class_bands(evidence, {"a": 0.1}, "trn1", "core") == {}


class TestWidening:
    @given(FLOATS, st.floats(min_value=0, max_value=3), FLOATS, st.floats(min_value=0, max_value=3))
    def test_fewer_votes_never_make_it_narrower(
        self, low: float, width: float, other: float, span: float
    ) -> None:
        towards = Band(low=other, high=other + span, votes=20, points=20)
        before: Band | None = None
        for votes in range(12, 0, -1):
            plain = Band(low=low, high=low + width, votes=votes, points=votes)
            found = widened(plain, towards, "kernel")
            assert found.low <= plain.low + 1e-12
            assert found.high >= plain.high - 1e-12
            assert (found.widened == "kernel") is (votes < ENOUGH)
            if before is not None:
                assert found.low <= before.low + 1e-12
                assert found.high >= before.high - 1e-12
            before = found

    def test_it_goes_by_the_share_of_votes_that_is_missing(self) -> None:
        towards = Band(low=-1.0, high=0.2, votes=9, points=9)
        found = widened(Band(low=0.0, high=0.4, votes=6, points=6), towards, "family")
        assert (found.low, found.high) == (pytest.approx(-1 / 3), pytest.approx(0.4))

    def test_a_class_without_points_has_the_next_ones(self) -> None:
        towards = Band(low=-1.0, high=0.2, votes=9, points=9)
        found = widened(None, towards, "family")
        assert found == Band(low=-1.0, high=0.2, votes=0, points=0, widened="family")

    def test_the_chain_ends_at_everything(self) -> None:
        one = point("one", subject("a", M=1))
        others = [
            point(f"o{n}", subject(f"o{n}", generation="trn1", group="hbm", M=1)) for n in range(ENOUGH)
        ]
        e = {"one": 0.0} | {each.id: 0.8 for each in others}
        found = bands(Evidence([one, *others]), e, "1")["trn2"].groups["core"]
        assert {kind: band.votes for kind, band in found.items()} == dict.fromkeys(BANDED, 0)
        assert [band.widened for band in found.values()] == ["kernel", "operation", "family", GENERATIONS]
        # One vote of nine: 8/9 of the way to what all families span.
        assert found[SAME].high == pytest.approx(8 / 9 * 0.8, abs=1e-4)
        assert EVERYTHING != GENERATIONS


class TestErrors:
    def compared(self, id: str, use: Use, e: float | None, crossed: float | None = None) -> Comparison:
        return comparison(id, e, use=use, e_cross=crossed, family="gemm", generation="trn2")

    def test_bounds_are_in_no_band_and_fits_are_cross_validated(self) -> None:
        points = (
            self.compared("plain", Use.EMULATED, 0.2, 0.2),
            self.compared("fitted", Use.EMULATED, 0.01, 0.3),
            self.compared("shaped-fit", Use.EMULATED, 0.1),
            self.compared("bound", Use.BOUND, 0.5),
            self.compared("unknown", Use.NEEDS_SOURCE, None),
        )
        found = errors(Fidelity(by="m", version="1", points=points))
        assert found == {"plain": 0.2, "fitted": 0.3, "shaped-fit": 0.1}

    def test_a_contradicted_point_counts_by_its_distance(self) -> None:
        inside = msgspec.structs.replace(self.compared("in", Use.CONTRADICTED, 0.1), span=(1.0, 2.0))
        beyond = msgspec.structs.replace(
            self.compared("out", Use.CONTRADICTED, math.log(4), 1.0), span=(1.0, 2.0)
        )
        found = errors(Fidelity(by="m", version="1", points=(inside, beyond)))
        assert found == {"in": 0.0, "out": pytest.approx(math.log(2))}

    def test_public_kernels_of_another_model_are_refused(self) -> None:
        public = PublicKernels(
            generation="trn2", by="m", version="1", day="", row=row_of("public", "", "trn2", ())
        )
        assert text_of(BadInput, errors, Fidelity(by="m", version="2", public=(public,))) == (
            "public kernels were run by m 1, the rest by m 2\n"
            "  cause: bands are of one model\n"
            "  try:   run the public kernels again: docs/fidelity.md"
        )


def test_what_is_kept_of_bands_comes_back() -> None:
    made = bands(Evidence([point("p", subject(M=1))]), {"p": 0.25}, "1")["trn2"]
    content = msgspec.json.encode(groups_of(made))
    assert bands_of("1", msgspec.json.decode(content, type=Groups)) == made


# Whether bands hold: what is left out of a judgement, how rows are counted, and the gate -------------

POINTS = [point(f"p{n}", subject(f"k{n // 2}", M=1.0 + 99 * (n % 2))) for n in range(8)]
OF_KERNELS = {each.id: "kernel" for each in POINTS}


def of(points: list[Judged], id: str, kind: str = UNSEEN) -> Judged:
    (found,) = (each for each in points if (each.id, each.kind) == (id, kind))
    return found


class TestJudged:
    @given(st.floats(min_value=-3, max_value=3), st.floats(min_value=-3, max_value=3))
    def test_a_band_knows_nothing_of_its_vote(self, e: float, sibling: float) -> None:
        """The point's own error and that of another size of its kernel move no end of its band."""
        flat = {each.id: 0.05 * n for n, each in enumerate(POINTS)}
        usual = of(list(judged(Evidence(POINTS), flat, OF_KERNELS, {})), "p0")
        moved = of(list(judged(Evidence(POINTS), flat | {"p0": e, "p1": sibling}, OF_KERNELS, {})), "p0")
        assert moved.width == usual.width

    def test_it_is_the_band_of_the_others(self) -> None:
        errors = {each.id: 0.1 * n for n, each in enumerate(POINTS)}
        rest = [each for each in POINTS if each.vote != POINTS[0].vote]
        band = class_bands(Evidence(rest), {each.id: errors[each.id] for each in rest}, "trn2", "core")
        expected = band[Nearness.OPERATION]
        found = of(list(judged(Evidence(POINTS), errors, OF_KERNELS, {})), "p0")
        assert found.width == pytest.approx((expected.high - expected.low) / 2)
        assert found.inside is (expected.low <= 0.0 <= expected.high)

    def test_each_class_that_it_lands_in_is_judged(self) -> None:
        found = list(judged(Evidence(POINTS), dict.fromkeys(OF_KERNELS, 0.0), OF_KERNELS, {}))
        assert {each.kind for each in found if each.id == "p0"} == {UNSEEN, "kernel", "operation"}
        assert all(each.inside for each in found)

    def test_what_is_alone_on_its_generation_has_no_band(self) -> None:
        alone = point("alone", subject("x", generation="trn3", M=1.0))
        errors = dict.fromkeys(OF_KERNELS, 0.0) | {"alone": 0.0}
        found = of(
            list(judged(Evidence([*POINTS, alone]), errors, OF_KERNELS | {"alone": "kernel"}, {})), "alone"
        )
        assert (found.inside, found.width) == (None, None)

    def test_the_ranges_of_assumptions_widen_it(self) -> None:
        errors = {each.id: 0.0 for each in POINTS}
        wide = dict.fromkeys(OF_KERNELS, (-0.5, 0.25))
        assert of(list(judged(Evidence(POINTS), errors, OF_KERNELS, wide)), "p0").width == pytest.approx(
            0.375
        )


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
        monkeypatch.setattr("trnbench_fidelity.commands.band_coverage.judged_points", lambda *_: points)

    def run(self, *options: str) -> tuple[int, str, str]:
        done = typed("validate", *options)
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

    def test_a_selection_without_a_point(self) -> None:
        code, _, said = self.run("coverage", "--generation", "trn1")
        assert code == 5
        assert "no point of the selection has a number of the model" in said
