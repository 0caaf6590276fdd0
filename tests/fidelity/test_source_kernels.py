"""Public kernels that points name: which file, which NKI, launches that add up, what a file lacks."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from published_point import published_point

from trnbench.registry import Registry
from trnbench.results.fidelity import Comparison, Use
from trnbench_emulator.compiler import assumptions
from trnbench_fidelity.adapters.source import find, predict, repository
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import Clock, KernelSource, Kind, NotEmulated, PublishedPoint, Quantity
from trnbench_fidelity.probes import launch_of
from trnbench_fidelity.validate import compare

KERNELS = tomllib.loads(Path(__file__).with_name("public_kernels.toml").read_text(encoding="utf-8"))
ONE = KernelSource(file="kernels/today.py", function="copied", arguments=("float32[128,512]",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "owner__repo" / "kernels"
    home.mkdir(parents=True)
    (home / "today.py").write_text(KERNELS["today"])
    (home / "old.py").write_text(KERNELS["old"])
    return tmp_path


def point(kernel: KernelSource, **fields: object) -> PublishedPoint:
    return published_point(**{"kernel": kernel, "dtype": "bf16", **fields})


def compared(registry: Registry, folder: Path | None, **fields: object) -> Comparison:
    (found,) = compare(point(ONE, **fields), Bench(registry, kernels=folder), with_same=False)
    return found


def test_a_public_kernel_is_loaded_and_timed(registry: Registry, folder: Path) -> None:
    found = compared(registry, folder)
    assert (found.use, found.honesty) == (Use.EMULATED, "untouched")
    assert found.emulated > 0


def test_without_the_folder_or_its_file_it_needs_its_source(registry: Registry, tmp_path: Path) -> None:
    found = compared(registry, None)
    assert (found.use, found.how) == (Use.NEEDS_SOURCE, "kernels/today.py::copied")
    found = compared(registry, tmp_path)
    assert (found.use, found.how) == (Use.NEEDS_SOURCE, f"kernels/today.py is not under {tmp_path}")


def test_the_file_with_the_longest_common_path_is_taken(registry: Registry, folder: Path) -> None:
    (folder / "today.py").write_text("this is no Python")
    assert compared(registry, folder).use is Use.EMULATED


def test_a_kernel_that_does_not_load(registry: Registry, folder: Path) -> None:
    (folder / "owner__repo" / "kernels" / "today.py").write_text("raise RuntimeError('no')")
    found = compared(registry, folder)
    assert (found.use, found.emulated) == (Use.NOT_EMULATED, None)
    assert "today.py" in found.how


def test_a_bound_is_held_or_not_and_never_counted(registry: Registry, folder: Path) -> None:
    found = [compared(registry, folder, kind=Kind.UPPER_BOUND, value=value) for value in (1.0, 1e-12)]
    assert [each.use for each in found] == [Use.BOUND, Use.BOUND]
    assert [each.e is not None and each.e <= 0 for each in found] == [True, False]


def test_what_a_file_lacks_for_its_host_side_is_stood_in_for(registry: Registry, folder: Path) -> None:
    found = predict(point(ONE), Bench(registry, kernels=folder))
    assert found.how.startswith("kernels/today.py::copied, 3 calls, ")
    assert found.how.endswith(", torch stood in for")


def test_a_kernel_that_uses_what_is_lacking_is_told_so(registry: Registry, folder: Path) -> None:
    lost = msgspec.structs.replace(ONE, function="lost")
    with pytest.raises(NotEmulated) as caught:
        predict(point(lost), Bench(registry, kernels=folder))
    assert caught.value.why == (
        "torch.zeros is used, which is not installed (today.py:21) "
        "(only a stand-in for its package was there when today.py:2 imported it)"
    )


def test_launches_add_up(registry: Registry, folder: Path) -> None:
    bench = Bench(registry, kernels=folder)
    once = predict(point(ONE), bench).value
    twice = predict(point(msgspec.structs.replace(ONE, also=(ONE,))), bench)
    assert twice.value == pytest.approx(2 * once)
    assert "::copied + copied, 6 calls, " in twice.how


def test_parameters_by_name(registry: Registry, folder: Path) -> None:
    named = msgspec.structs.replace(ONE, arguments=("float32[128,512]", "factor=2.5"))
    assert predict(point(named), Bench(registry, kernels=folder)).value > 0
    wrong = msgspec.structs.replace(ONE, arguments=("float32[128,512]", "size=2"))
    with pytest.raises(NotEmulated, match="kernel 'copied' cannot be called with these arguments"):
        predict(point(wrong), Bench(registry, kernels=folder))


def test_rates_and_shares_are_those_of_the_time(registry: Registry, folder: Path) -> None:
    kernel = KernelSource(
        file="kernels/old.py", function="product", arguments=("bfloat16[1024,128]", "bfloat16[1024,512]")
    )
    bench = Bench(registry, kernels=folder)
    time = predict(point(kernel), bench)
    assert "NKI Beta 1 by trnbench" in time.how
    rate = predict(point(kernel, quantity=Quantity.FLOPS), bench).value
    assert rate == pytest.approx(2 * 1024 * 128 * 512 / time.value)
    share = predict(point(kernel, quantity=Quantity.SHARE, metric="MFU"), bench).value
    assert 0 < share < 1
    with pytest.raises(NotEmulated, match="a kernel has a time, not share of bandwidth"):
        predict(point(kernel, quantity=Quantity.SHARE, metric="share of bandwidth"), bench)


def test_of_two_files_the_one_in_the_repository_is_taken(folder: Path) -> None:
    other = folder / "another" / "kernels"
    other.mkdir(parents=True)
    (other / "today.py").write_text("")
    assert find(folder, ONE, "owner/repo") == folder / "owner__repo" / "kernels" / "today.py"
    with pytest.raises(NotEmulated, match="is there twice"):
        find(folder, ONE)
    (other / "today.py").write_text(KERNELS["today"])
    assert find(folder, ONE).read_text() == KERNELS["today"]  # the same twice is one


def test_the_repository_of_a_source() -> None:
    assert repository(point(ONE)) == "owner/repo"
    assert repository(point(ONE, source="a page")) == ""


def test_what_the_compiler_is_not_taken_to_do_is_told(registry: Registry, folder: Path) -> None:
    old = KernelSource(
        file="kernels/old.py", function="product", arguments=("bfloat16[256,128]", "bfloat16[256,512]")
    )
    shipped = predict(point(old), Bench(registry, kernels=folder))
    under = Bench(registry, kernels=folder, assumptions=assumptions("no-zero-elision,no-hoisting"))
    without = predict(point(old), under)
    assert ", 8 calls, " in shipped.how
    assert ", 9 calls, " in without.how  # the zeros
    assert without.how.endswith(", no-hoisting, no-zero-elision")
    assert "no-" not in shipped.how
    today = predict(point(ONE), under)
    assert today.how.endswith(", no-zero-elision")  # the other is never done to such a kernel
    assert "no-hoisting" not in today.how


def test_a_package_of_another_checkout_is_imported(tmp_path: Path, registry: Registry) -> None:
    """Its modules too, and none of it is left behind; without the checkout it is a stand-in."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "borrowed.py").write_text(KERNELS["borrowed"])
    package = tmp_path / "library" / "src" / "kernels_of_others"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "tiles.py").write_text(KERNELS["tiles"])
    source = KernelSource(file="borrowed.py", function="twice", arguments=("float32[128,512]",))
    point = published_point(kernel=source)
    found = predict(point, Bench(registry, kernels=tmp_path))
    assert found.value > 0
    assert "stood in" not in found.how
    assert "kernels_of_others" not in sys.modules
    with pytest.raises(
        NotEmulated, match=r"doubled is used, which is not installed"
    ):  # a stand-in that was called
        predict(point, Bench(registry, kernels=tmp_path / "repo"))


@pytest.mark.parametrize(
    ("clock", "launch_s"),
    [
        (Clock.PROFILE, 0.0),
        (Clock.TRACE, 0.0),
        (Clock.DEVICE, 11.5e-6),
        (Clock.HOST, 329e-6),
        (Clock.QUEUED, 0.0),
        (Clock.UNSTATED, 0.0),
    ],
)
def test_the_clock_of_a_point_says_which_launch_its_time_holds(
    registry: Registry, clock: Clock, launch_s: float
) -> None:
    """Whatever words the source has for how it was measured."""
    point = published_point(clock=clock, how_measured="wall clock, neuron-profile, nki.benchmark")
    assert launch_of(point, Bench(registry))[0] == pytest.approx(launch_s, rel=0.01)
