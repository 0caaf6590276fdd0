"""`trnbench fabric` matrix, bisection, incast and scale: traffic that is no collective."""

from __future__ import annotations

import pytest
from fabric_command import TRN1, TRN2, rows


class TestProbes:
    def test_the_matrix_of_a_torus_is_symmetric_and_knows_hops(self) -> None:
        pairs = {(row["src"], row["dst"]): row for row in rows("probe", "matrix", "-i", TRN1, "-s", "1G")}
        assert len(pairs) == 16 * 15
        for (a, b), row in pairs.items():
            assert row["time_s"] == pytest.approx(float(str(pairs[b, a]["time_s"])))
        assert pairs["d0", "d1"]["hops"] == 1
        assert pairs["d0", "d10"]["hops"] == 4
        assert float(str(pairs["d0", "d10"]["latency_s"])) > float(str(pairs["d0", "d1"]["latency_s"]))

    def test_bisection_stays_below_the_narrowest_cut_and_comes_near(self) -> None:
        (row,) = rows("probe", "bisection", "-i", TRN2, "-s", "1G")
        assert 0.9 < float(str(row["share"])) <= 1
        assert row["cut_gb_s"] == pytest.approx(2048)

    def test_incast_is_bound_by_what_the_target_takes_in(self) -> None:
        found = rows("probe", "incast", "-i", TRN2, "-s", "1G")
        assert [row["senders"] for row in found] == [1, 2, 4, 8, 15]
        assert all(float(str(row["total_gb_s"])) <= 1024.0 + 1e-6 for row in found)  # four links of 256 GB/s
        assert float(str(found[-1]["total_gb_s"])) > 950

    def test_scaling_reaches_thirty_thousand_devices(self) -> None:
        found = rows("scale", "all_reduce", "-i", "trn1-ultracluster")
        assert (found[0]["instances"], found[-1]["instances"], found[-1]["ranks"]) == (2, 1875, 30000)
        times = [float(str(row["time_s"])) for row in found]
        assert times == sorted(times)
        assert {row["evidence"] for row in found} == {"emulated"}

    def test_links_carry_what_they_are_said_to_the_busiest_first(self) -> None:
        found = rows("links", "all_reduce", "-i", "u-trn2x64", "-s", "1G", "--all")
        loads = [float(str(row["load"])) for row in found]
        assert loads == sorted(loads, reverse=True)
        assert 0 < loads[0] <= 1 + 1e-9
        assert len(rows("links", "all_reduce", "-i", "u-trn2x64", "--top", "3")) == 3

    def test_sensitivity_moves_each_assumption_and_reading(self) -> None:
        found = rows("sensitivity", "all_reduce", "-i", "trn3-gen2-ultraserver", "-s", "1M")
        names = {str(row["what"]) for row in found}
        assert {"neuronswitch-latency", "neuronlink-direction", "trn3-links"} <= names
        changes = [abs(float(str(row["change"]))) for row in found]
        assert changes == sorted(changes, reverse=True)
        switch = {
            row["setting"]: float(str(row["change"]))
            for row in found
            if row["what"] == "neuronswitch-latency"
        }
        assert min(switch.values()) < 0 < max(switch.values())

    def test_algorithms_say_why_not_and_which_thresholds(self) -> None:
        found = {str(row["algorithm"]): row for row in rows("algorithms", "-i", TRN2)}
        assert {row["auto"] for row in found.values()} == {""}  # what was observed speaks of cores
        assert found["kangaring"]["collectives"] == "–"
        assert "kangaring needs pairs of ranks that share a device" in str(found["kangaring"]["not"])
        cores = {
            str(row["algorithm"]): row for row in rows("algorithms", "-i", TRN2, "--ranks", "logical-core")
        }
        assert "all_reduce" in str(cores["kangaring"]["collectives"])
        assert cores["mesh"]["auto"] == "8, 64 ranks below 1 MB"
        assert cores["rdh"]["auto"] == "8, 64 ranks 1 to 56 MB"
        assert cores["kangaring"]["auto"] == "8, 64 ranks from 56 MB"


def test_starts_inside_a_graph_are_moved_through_their_range() -> None:
    found = rows("sensitivity", "all_reduce", "-i", TRN1, "-s", "8K", "--context", "graph")
    moved = {(row["what"], row["setting"]) for row in found}
    assert {("graph start share", "0.14"), ("graph start share", "0.47")} <= moved
    assert not any(
        "start" in str(row["what"]) for row in rows("sensitivity", "all_reduce", "-i", TRN1, "-s", "8K")
    )
