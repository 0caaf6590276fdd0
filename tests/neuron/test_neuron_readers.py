"""What the tools report, read as their guides print it: units, identity, gaps, noise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench_neuron import monitor, nccom, neff
from trnbench_neuron.monitor import Monitor, Reports, configuration, summarise
from trnbench_neuron.toolbox import Toolbox, ToolError, Trouble

# ---- nccom-test


def test_the_json_of_today_is_decimal(recorded: Callable[[str], str]) -> None:
    rows = nccom.read_report(recorded("nccom_report.json"))
    assert [row.size for row in rows] == [1024, 8192, 65536, 524288]
    assert {row.unit for row in rows} == {"GB"}
    assert rows[3].times_s == {"avg": pytest.approx(23.11e-6)}
    assert rows[3].factor == pytest.approx(31 / 32, rel=1e-6)


def test_older_rows_are_gibibytes_under_the_same_heading(recorded: Callable[[str], str]) -> None:
    rows = nccom.read_table(recorded("nccom_table_gib.txt"))
    assert len(rows) == 11
    large = [row for row in rows if row.size >= 2**22]
    assert {row.unit for row in large} == {"GiB"}
    # 1 GiB in 18.93 ms: 52.83 is printed, 56.7 are decimal.
    assert large[-1].algbw == 52.83
    assert large[-1].size / large[-1].times_s["avg"] / 1e9 == pytest.approx(56.72, abs=0.01)


def test_the_table_of_today_is_decimal(recorded: Callable[[str], str]) -> None:
    rows = nccom.read_table(recorded("nccom_table_percentiles.txt"))
    assert [row.unit for row in rows][1:] == ["GB"] * 3
    assert rows[3].times_s == {
        "avg": pytest.approx(14.83e-6),
        "p25": pytest.approx(14e-6),
        "p50": pytest.approx(15e-6),
        "p90": pytest.approx(16e-6),
        "p99": pytest.approx(17e-6),
    }


def test_the_algorithm_is_read(recorded: Callable[[str], str]) -> None:
    rows = nccom.read_table(recorded("nccom_table_algorithm.txt"))
    assert [row.algorithm for row in rows][-3:] == ["rdh", "kangaring", "kangaring"]
    assert rows[-1].factor == pytest.approx(2 * 15 / 16, rel=1e-3)


def test_a_failure_is_seen_in_the_table(recorded: Callable[[str], str]) -> None:
    text = recorded("nccom_failure.txt")
    wrong, line = nccom.complaint(text)
    assert not wrong
    assert line.endswith("Failure running neuron-bench - log file /tmp/nccom_test_log_7pqpdfjf.log")
    with pytest.raises(ToolError, match="it printed no table of results"):
        nccom.read_table(text)
    assert nccom.complaint("all well") == (False, "")


@given(size=st.integers(1, 2**34), rate=st.floats(1e6, 1e12), binary=st.booleans())
def test_the_unit_follows_from_size_and_time(size: int, rate: float, binary: bool) -> None:
    printed = rate / (2.0**30 if binary else 1e9)
    assert nccom.unit_of(size, size / rate, printed) == ("GiB" if binary else "GB")


def test_nothing_in_some_time_says_no_unit() -> None:
    assert nccom.unit_of(0, 1e-6, 1.0) == nccom.unit_of(8, 0.0, 1.0) == nccom.unit_of(8, 1e-6, None) == ""


@pytest.mark.parametrize("printed", [None, 0.0, 1000.0])
def test_a_rate_that_is_neither_has_no_unit(printed: float | None) -> None:
    assert nccom.unit_of(10**9, 1.0, printed) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{ truncated", "its report is no JSON"),
        ("[]", "its report has no list of results"),
        ('{"results": [{"size(B)": 8}]}', "no entry of its report has a size and a time"),
        ('{"results": [{"size(B)": "x", "time:avg(us)": 1}, 3]}', "no entry of its report"),
    ],
)
def test_another_report_is_refused(text: str, why: str) -> None:
    with pytest.raises(ToolError) as raised:
        nccom.read_report(text)
    assert raised.value.trouble is Trouble.UNREADABLE
    assert raised.value.what.startswith(f"nccom-test: {why}")


def test_every_rank_sends_to_its_successor() -> None:
    assert nccom.ring_pairs([0, 4, 8]) == {"src_target_pairs": [[[0, 4], [4, 8], [8, 0]]]}


# ---- neuron-monitor


@pytest.fixture
def report(recorded: Callable[[str], str]) -> dict[str, Any]:
    return dict(json.loads(recorded("neuron_monitor_report.json")))


def test_a_report_is_summed_up(report: dict[str, Any]) -> None:
    seen = summarise([report, report])
    assert (seen.device, seen.core_version) == ("trainium2", "v3d")
    assert seen.counters == {
        "executions_completed": 246.0,
        "executions_failed": 0.0,
        "monitor_flops": pytest.approx(2 * 1.000113182 * (1234567891011 + 1234567891021)),
        "device_latency_p50_s": 0.01000008,
        "utilisation_percent": 42.02,
        "device_memory_bytes": 12519788544.0,
        "ecc_uncorrected": 0.0,
    }


def test_no_identity_leaves_the_monitor(report: dict[str, Any]) -> None:
    text = repr(summarise([report, report]))
    for secret in ("My_Instance", "i-0011", "us-west", "usw2", "ami-", "subnet", "4242", "my_app_1"):
        assert secret not in text


def test_reports_without_groups_are_no_zeros() -> None:
    assert summarise([{}]).counters == {}
    assert (
        summarise([{"neuron_runtime_data": None, "system_data": [], "neuron_hardware_info": 3}]).counters
        == {}
    )
    idle = {
        "neuron_runtime_data": [{"error": "gone", "report": {"execution_stats": {"latency_stats": None}}}]
    }
    seen = summarise([idle])
    assert seen.counters == {}
    assert seen.notes == ("neuron-monitor could not read a process: gone",)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "neuron_runtime_data",
                        "report",
                        "execution_stats",
                        "period",
                        "neuroncore_counters",
                        "neuroncores_in_use",
                        "0",
                        "flops",
                        "system_data",
                        "neuron_hw_counters",
                        "neuron_devices",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_whatever_is_reported_is_summed_up(value: Any) -> None:
    summarise([value if isinstance(value, dict) else {"neuron_runtime_data": value}])


def test_reports_are_found_between_log_lines(report: dict[str, Any]) -> None:
    stream = Reports()
    flat, tall = json.dumps(report), json.dumps(report, indent=1)
    for line in f"starting\n{flat}\nlevel=warn\n{tall}\n{{ truncated\n{flat}\n".splitlines(keepends=True):
        stream.feed(line)
    assert stream.found == [report, report, report]
    assert stream.unreadable == 3


def test_only_tagged_processes_are_asked_for() -> None:
    asked = configuration("trnbench-1-0")
    assert asked["neuron_runtimes"][0]["tag_filter"] == "^trnbench-1-0$"
    assert asked["period"] == "1s"


@pytest.mark.parametrize(
    ("mode", "note"),
    [
        ("crash", "neuron-monitor ended with exit code 2: panic: cannot open /dev/neuron0"),
        ("silent", "neuron-monitor reported nothing"),
    ],
)
def test_a_monitor_that_fails_is_a_note(mode: str, note: str, tools: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_MONITOR", mode)
    monkeypatch.setattr("trnbench_neuron.monitor.PERIOD_S", 0.3)
    monitor = Monitor(Toolbox(str(tools)), "tag")
    with monitor:
        pass
    assert monitor.watch().notes == (note,)
    assert monitor.watch().counters == {}


def test_a_missing_monitor_is_a_note(tmp_path: Path) -> None:
    monitor = Monitor(Toolbox(str(tmp_path)), "tag")
    with monitor:
        pass
    assert monitor.watch().notes == ("neuron-monitor is not installed",)


def test_noise_of_the_monitor_is_counted(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_MONITOR", "noise")
    monitor = Monitor(Toolbox(str(tools)), "tag")
    with monitor:
        pass
    seen = monitor.watch()
    assert seen.counters["executions_completed"] > 0
    assert seen.notes[0].endswith("lines of neuron-monitor were no report")


# ---- neuron-explorer


def test_the_summary_is_found_by_its_fields(recorded: Callable[[str], str]) -> None:
    found = neff.read_summary("[INFO] loading\n" + recorded("explorer_summary.json"))
    assert found["profile_hardware_flops"] == 2.0 * 4096**3
    assert found["profile_total_time"] == 0.001748
    assert "profile_instance_type" not in found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"total_time": 2}', {"profile_total_time": 2.0}),
        ('{"summary": [{"total_time": "2.5", "hbm_read_bytes": null}]}', {"profile_total_time": 2.5}),
        ('{"a": {"b": {"hbm_read_bytes": 1, "unknown": 2}}}', {"profile_hbm_read_bytes": 1.0}),
        ('{"entirely": "different"}', {}),
        ('{"total_time": NaN}', {}),
    ],
)
def test_shapes_of_the_summary(text: str, wanted: dict[str, float]) -> None:
    assert neff.read_summary(text) == wanted


def test_engines_are_active_for_a_share_of_the_profiled_time(recorded: Callable[[str], str]) -> None:
    found = neff.read_summary(recorded("explorer_summary.json"))
    assert neff.engines(found) == {"tensor": pytest.approx(0.99 * 0.001748)}
    told = {"profile_total_time": 2.0, "profile_vector_engine_active_time_percent": 25.0}
    assert neff.engines(told) == {"vector": 0.5}
    assert neff.engines({"profile_vector_engine_active_time_percent": 25.0}) == {}


# ---- the driver's counters


def test_counters_are_sums_over_cores(sysfs: Path) -> None:
    before = monitor.counters([0, 1], sysfs)
    assert (before.flops, before.executions, before.errors) == (16000.0, 2 * 8 * 7.0, 0.0)
    assert (before.ecc_uncorrected, before.power_percent) == (2 * 2 * 3.0, 61.5)
    (sysfs / "neuron1" / "neuron_core3" / "stats" / "status" / "success" / "total").write_text("17\n")
    assert monitor.counters([0, 1], sysfs).since(before) == {
        "driver_flops": 0.0,
        "driver_executions": 10.0,
        "driver_errors": 0.0,
        "driver_ecc_uncorrected": 0.0,
        "power_percent": 61.5,
    }


def test_a_counter_that_was_reset_says_nothing(sysfs: Path) -> None:
    before = monitor.counters([0], sysfs)
    (sysfs / "neuron0" / "neuron_core0" / "stats" / "status" / "success" / "total").write_text("0\n")
    assert "driver_executions" not in monitor.counters([0], sysfs).since(before)


def test_where_the_driver_is_not_there_is_nothing(tmp_path: Path) -> None:
    assert monitor.counters([0], tmp_path).since(monitor.counters([0], tmp_path)) == {}
    assert monitor.name(tmp_path) == monitor.Name()


def test_no_power_sample_is_no_power(sysfs: Path) -> None:
    (sysfs / "neuron0" / "stats" / "power" / "utilization").write_text("POWER_STATUS_NO_DATA,1,0,0,0\n")
    assert monitor.counters([0], sysfs).power_percent is None
