"""Which instance is this? By what neuron-ls lists, held against the documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.registry import Registry
from trnbench_neuron.identify import (
    Documented,
    Listing,
    documented,
    identify,
    read_instance_type,
    read_listing,
)
from trnbench_neuron.toolbox import Toolbox, ToolError, Trouble


@pytest.fixture(scope="module")
def known(registry: Registry) -> tuple[Documented, ...]:
    found = documented(registry)
    assert not found.problems
    return found.systems


def listing(count: int, logical: int, lnc: int, gib: int, links: Callable[[int], list[int]]) -> Listing:
    return read_listing(
        json.dumps(
            [
                {
                    "neuron_device": index,
                    "nc_count": logical,
                    **({"logical_neuroncore_config": lnc} if lnc > 1 else {}),
                    "memory_size": gib * 2**30,
                    "connected_to": links(index),
                    "neuroncore_ids": list(range(index * logical, (index + 1) * logical)),
                    "neuron_processes": [],
                }
                for index in range(count)
            ]
        )
    )


def torus(index: int) -> list[int]:
    row, column = divmod(index, 4)
    return [
        (row - 1) % 4 * 4 + column,
        row * 4 + (column - 1) % 4,
        (row + 1) % 4 * 4 + column,
        row * 4 + (column + 1) % 4,
    ]


def alone(_: int) -> list[int]:
    return []


def test_the_documented_list_is_a_trn2_instance(recorded: Any, known: tuple[Documented, ...]) -> None:
    seen = read_listing(recorded("neuron_ls_trn2.json"))
    assert (len(seen.devices), seen.lnc, seen.devices[0].cores) == (16, 2, 8)
    assert seen.devices[5].neighbours == (1, 4, 9, 6)
    assert seen.devices[15].core_ids == (60, 61, 62, 63)
    assert seen.busy == tuple(range(16))
    match = identify(seen, known)
    assert (match.instance, match.hosts, match.why) == ("trn2-16.48xlarge", 1, "")
    assert "other processes hold devices 0, 1," in " ".join(match.notes)


def test_processes_are_counted_and_not_kept(recorded: Callable[[str], str]) -> None:
    seen = read_listing(recorded("neuron_ls_trn2.json"))
    text = repr(seen)
    assert "113985" not in text
    assert "neuron-bench" not in text
    assert seen.devices[0].processes == 1
    assert seen.devices[0].runtime_versions == ("2.0.0",)


def test_the_header_gives_the_type(recorded: Callable[[str], str], tmp_path: Path) -> None:
    program = tmp_path / "neuron-ls"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{recorded('neuron_ls_trn2.txt')}\nEND\n")
    program.chmod(0o755)
    assert read_instance_type(Toolbox(str(tmp_path))) == "trn2n.48xlarge"


SHAPES = [
    ("trn1.32xlarge", 16, 2, 1, 32, torus),
    ("trn2-16.48xlarge", 16, 4, 2, 96, torus),
    ("trn2-16.48xlarge", 16, 8, 1, 96, torus),
    ("trn2.3xlarge", 1, 4, 2, 96, alone),
    ("inf2.24xlarge", 6, 2, 1, 32, lambda i: [j for j in (i - 1, i + 1) if 0 <= j < 6]),
    ("inf2.48xlarge", 12, 2, 1, 32, lambda i: [(i - 1) % 12, (i + 1) % 12]),
    ("trn3-gen1-ultraserver", 16, 4, 2, 144, alone),
    ("trn3-gen2-ultraserver", 4, 8, 1, 144, alone),
]


@pytest.mark.parametrize(("name", "count", "logical", "lnc", "gib", "links"), SHAPES)
def test_every_documented_host_is_recognised(
    name: str,
    count: int,
    logical: int,
    lnc: int,
    gib: int,
    links: Callable[[int], list[int]],
    known: tuple[Documented, ...],
) -> None:
    # trn1n.32xlarge has the devices of trn1.32xlarge: its own name tells them apart.
    named = name if name == "trn1.32xlarge" else ""
    match = identify(listing(count, logical, lnc, gib, links), known, instance_type=named)
    assert match.instance == name, match.why
    if match.hosts > 1:
        assert f"this host is one of the {match.hosts} of {name}" in match.notes


def test_several_systems_of_one_shape_are_not_guessed(known: tuple[Documented, ...]) -> None:
    one = listing(1, 2, 1, 32, alone)
    match = identify(one, known)
    assert match.instance == ""
    assert match.why == "its devices fit several systems: trn1.2xlarge, inf2.xlarge, inf2.8xlarge"
    assert match.try_ == "TRNBENCH_NEURON_INSTANCE=trn1.2xlarge, or another of them"
    assert identify(one, known, instance_type="inf2.8xlarge").instance == "inf2.8xlarge"
    assert identify(one, known, asked="inf2.xlarge", instance_type="x").instance == "inf2.xlarge"


def test_a_name_does_not_outweigh_the_devices(known: tuple[Documented, ...]) -> None:
    seen = listing(15, 4, 2, 96, alone)
    match = identify(seen, known, instance_type="trn2.48xlarge")
    assert match.instance == ""
    assert match.why == (
        "this host calls itself trn2.48xlarge, but 15 devices, trn2-16.48xlarge has 16 per host"
    )
    asked = identify(listing(16, 2, 1, 32, torus), known, asked="trn2-16.48xlarge")
    assert asked.why == (
        "this host is no trn2-16.48xlarge: 2 cores per device (LNC=1 counted), trn2-16.48xlarge has 8; "
        "32 GiB per device, trn2-16.48xlarge has 96"
    )
    assert identify(seen, known, asked="trn9").why == "'trn9' is no documented system"


def test_a_type_nobody_describes_is_told_by_its_devices(known: tuple[Documented, ...]) -> None:
    match = identify(listing(16, 4, 2, 96, torus), known, instance_type="trn2x.48xlarge")
    assert match.instance == "trn2-16.48xlarge"
    assert "calls itself trn2x.48xlarge, which no plugin describes" in match.notes


def test_what_differs_in_its_network_alone_is_told_by_its_name(known: tuple[Documented, ...]) -> None:
    match = identify(listing(16, 4, 2, 96, torus), known, instance_type="trn2n.48xlarge")
    assert (match.instance, match.why) == ("trn2n.48xlarge", "")
    one = listing(1, 4, 2, 144, alone)
    assert identify(one, known, instance_type="trn3pd98.3xlarge").instance == "trn3pd98.3xlarge"
    assert identify(one, known).why == "its devices fit several systems: trn3.3xlarge, trn3pd98.3xlarge"


def test_what_fits_nothing_names_the_nearest(known: tuple[Documented, ...]) -> None:
    match = identify(listing(3, 4, 2, 96, alone), known)
    assert match.instance == ""
    assert match.why.startswith(
        "3 devices of 8 cores (LNC=2) and 96 GiB fit no documented system; nearest is "
    )


def test_other_links_are_no_torus(known: tuple[Documented, ...]) -> None:
    ring = listing(16, 4, 2, 96, lambda i: [(i - 1) % 16, (i + 1) % 16])
    match = identify(ring, known, instance_type="trn2.48xlarge")
    assert match.why.endswith("its links are not those of trn2-16.48xlarge")


def test_links_that_are_not_listed_are_said_not_guessed(known: tuple[Documented, ...]) -> None:
    match = identify(listing(16, 4, 2, 96, alone), known, instance_type="trn2.48xlarge")
    assert match.instance == "trn2-16.48xlarge"
    assert "neuron-ls names no neighbours: the links were not compared with the document" in match.notes


@given(st.permutations(range(16)))
def test_devices_may_be_numbered_in_any_order(order: list[int]) -> None:
    own = [frozenset(torus(index)) for index in range(16)]
    document = Documented(
        name="x", devices=16, cores=8, memory_bytes=96 * 2.0**30, neighbours=tuple(own), hosts=1
    )
    back = {new: old for old, new in enumerate(order)}
    seen = listing(16, 4, 2, 96, lambda index: [order[near] for near in torus(back[index])])
    assert identify(seen, [document]).instance == "x"


@pytest.mark.parametrize(
    ("entry", "trouble", "what"),
    [
        ([], Trouble.UNREADABLE, "neuron-ls lists no device"),
        ([1], Trouble.UNREADABLE, "neuron-ls: entry 0 of its list is no object"),
        ([{"nc_count": 2}], Trouble.VERSION, "neuron-ls: entry 0 of its list has no neuron_device"),
        ([{"neuron_device": 0}], Trouble.VERSION, "neuron-ls: entry 0 of its list has no nc_count"),
        (
            [{"neuron_device": 0, "nc_count": 0}],
            Trouble.VERSION,
            "neuron-ls: entry 0 of its list has no nc_count",
        ),
    ],
)
def test_another_format_is_refused(entry: list[Any], trouble: Trouble, what: str) -> None:
    with pytest.raises(ToolError) as raised:
        read_listing(json.dumps(entry))
    assert (raised.value.trouble, raised.value.what) == (trouble, what)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                [
                    "neuron_device",
                    "nc_count",
                    "connected_to",
                    "memory_size",
                    "logical_neuroncore_config",
                    "neuroncore_ids",
                    "neuron_processes",
                ]
            ),
            st.one_of(
                st.none(),
                st.booleans(),
                st.integers(-5, 5),
                st.text(max_size=3),
                st.floats(),
                st.lists(
                    st.one_of(st.none(), st.integers(), st.dictionaries(st.just("pid"), st.integers())),
                    max_size=3,
                ),
            ),
        ),
        max_size=3,
    )
)
def test_whatever_is_listed_is_read_or_refused(entries: list[dict[str, Any]]) -> None:
    try:
        seen = read_listing(json.dumps(entries))
    except ToolError:
        return
    assert seen.devices
    assert all(each.cores >= 1 for each in seen.devices)


def test_every_recorded_output_names_its_document(root: Path) -> None:
    import tomllib

    folder = root / "tests" / "neuron" / "recorded"
    told = tomllib.loads((folder / "sources.toml").read_text())
    assert set(told) == {path.name for path in folder.iterdir()} - {"sources.toml"}
    assert all("SDK" in each["document"] and "changed" in each for each in told.values())
