"""Settings: four layers, each value with its origin, and errors that name the place."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from command import listed, typed
from messages import messages
from stored_run import message_of, text_of

from trnbench.errors import BadInput, TrnbenchError, UnknownName
from trnbench.facts.fact import PeakPolicy
from trnbench.run.selection import Selection
from trnbench.terminal import settings as known
from trnbench.terminal.settings import SELECTION, SETTINGS, load_settings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TRNBENCH_STORE")
    return tmp_path


def user(text: str) -> Path:
    path = known.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_defaults(folder: Path) -> None:
    settings = load_settings()
    assert settings.policy == "seed"
    assert (settings.jobs, settings.seed, settings.store, settings.format) == (0, 0, None, "table")
    assert (settings.facts, settings.no_plugin) == ((), ())
    assert {origin for _, origin in settings.values.values()} == {"default"}


def test_selection_settings_are_the_fields_of_a_selection() -> None:
    # `kinds` is the backend's to say, not the user's; a shard and a model's step are of one command.
    assert {*SELECTION, "kinds", "shard", "workload"} == set(Selection.__struct_fields__)
    assert Selection(**load_settings().selection) == Selection()
    assert set(SETTINGS["policy"].choices) == {str(policy) for policy in PeakPolicy}


@pytest.mark.parametrize("name", ["quick", "a=b", 'a "b".c', "schnell-é"])
def test_what_a_missing_preset_suggests_is_toml_of_that_name(folder: Path, name: str) -> None:
    said = text_of(UnknownName, load_settings, name)
    header = said.partition("write ")[2].partition(" in ")[0]
    assert tomllib.loads(f"{header}\n") == {"preset": {name: {}}}


def test_nearer_layers_go_over_farther_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = user('policy = "device"\njobs = 2\nseed = 1\nstore = "~/mine.db"\n')
    here = folder / "trnbench.toml"
    here.write_text(
        'jobs = 3\nseed = 2\nfacts = ["my.toml"]\n'
        '[preset.quick]\nseed = 3\nkernels = ["gemm"]\nformat = "md"\n'
    )
    monkeypatch.setenv("TRNBENCH_FORMAT", "csv")
    settings = load_settings("quick")
    assert settings.values["policy"] == ("device", str(mine))
    assert settings.values["store"] == (Path.home() / "mine.db", str(mine))
    assert settings.values["jobs"] == (3, str(here))
    assert settings.values["facts"] == ((folder / "my.toml",), str(here))
    assert settings.values["seed"] == (3, f"preset quick in {here}")
    assert settings.values["kernels"] == (("gemm",), f"preset quick in {here}")
    assert settings.values["format"] == ("csv", "TRNBENCH_FORMAT")
    assert settings.values["tags"] == ((), "default")
    assert load_settings().seed == 2
    monkeypatch.setenv("TRNBENCH_PRESET", "quick")
    assert load_settings().seed == 3


def test_environment_has_lists_and_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRNBENCH_NO_PLUGIN", "a, b")
    monkeypatch.setenv("TRNBENCH_FACTS", "x.toml:/y.toml")
    monkeypatch.setenv("TRNBENCH_TIMEOUT_S", "2.5")
    monkeypatch.setenv("TRNBENCH_JOBS", "4")
    settings = load_settings()
    assert settings.no_plugin == ("a", "b")
    assert settings.facts == (folder / "x.toml", Path("/y.toml"))
    assert (settings["timeout_s"], settings.jobs) == (2.5, 4)


@pytest.mark.parametrize(("text", "message", "code"), messages(Path(__file__).parent / "wrong_settings.txt"))
def test_errors_name_file_key_and_remedy(folder: Path, text: str, message: str, code: int) -> None:
    path = folder / "trnbench.toml"
    path.write_text(f"{text}\n")
    assert message_of(BadInput, load_settings) == (message.format(path=path), code)


def test_the_example_of_the_docs_is_a_settings_file(root: Path, folder: Path) -> None:
    text = (root / "docs" / "results.md").read_text(encoding="utf-8")
    example = text.partition("## Settings")[2].partition("```toml\n")[2].partition("```")[0]
    (folder / "trnbench.toml").write_text(example)
    values = load_settings("quick").values
    assert (values["kernels"][0], values["dtypes"][0]) == (("gemm",), ("bf16",))
    assert (values["instances"][0], values["store"][0]) == (("trn2-16.48xlarge",), folder / "results.db")


@pytest.mark.parts
def test_the_number_of_the_docs_is_judged_as_the_docs_say(root: Path, folder: Path) -> None:
    text = (root / "docs" / "formats.md").read_text(encoding="utf-8")
    example = text.partition("## One number")[2].partition("```json\n")[2].partition("```")[0]
    (folder / "mine.json").write_text(example)
    assert typed("import", "mine.json", "--from", "pytest-benchmark", "--grade", "measured").exit_code == 0
    shown = typed("runs", "show", "latest").stdout
    assert "480 TFLOPS" in shown
    assert "76.8 %" in shown


def test_variable_with_a_bad_value(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRNBENCH_JOBS", "many")
    assert text_of(TrnbenchError, load_settings) == (
        "'many' is no value of 'jobs' (TRNBENCH_JOBS)\n  cause: it takes a whole number, 0 to 4,096\n"
        "  try:   unset TRNBENCH_JOBS"
    )


def test_unknown_preset(folder: Path) -> None:
    (folder / "trnbench.toml").write_text("[preset.quick]\nseed = 3\n")
    assert text_of(UnknownName, load_settings, "quik").startswith(
        "unknown preset 'quik'\n  cause: did you mean quick?"
    )


def test_show_gives_each_value_its_origin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user("jobs = 2\n")
    monkeypatch.setenv("TRNBENCH_SEED", "7")
    monkeypatch.setenv("TRNBENCH_POLCY", "seed")
    result = typed("config", "show", "--format", "json")
    assert result.exit_code == 0
    rows = {row["setting"]: row for row in json.loads(result.stdout)}
    assert list(rows) == list(SETTINGS)
    assert (rows["jobs"]["value"], rows["jobs"]["origin"]) == (2, str(known.user_file()))
    assert (rows["seed"]["value"], rows["seed"]["origin"]) == (7, "TRNBENCH_SEED")
    assert rows["store"]["value"].endswith("/trnbench/results.db")
    assert result.stderr == (
        "warning: nothing reads the variable TRNBENCH_POLCY; did you mean TRNBENCH_POLICY?\n"
    )
    assert typed("-q", "config", "show").stderr == ""


def test_show_names_presets(folder: Path) -> None:
    (folder / "trnbench.toml").write_text('[preset.quick]\nkernels = ["gemm", "hbm_read"]\n')
    result = typed("config", "show", "--preset", "quick")
    assert "gemm, hbm_read" in result.stdout
    assert result.stderr == f"presets: quick ({folder / 'trnbench.toml'})\n"
    assert typed("config", "show", "--format", "json").stderr == ""


def test_show_says_nothing_of_presets_where_none_is(folder: Path) -> None:
    assert typed("config", "show").stderr == ""


def test_path_works_when_the_file_is_broken(folder: Path) -> None:
    user("not toml at all")
    assert listed("config", "path") == [
        {"file": str(known.user_file()), "exists": True, "for": "you"},
        {"file": str(folder / "trnbench.toml"), "exists": False, "for": "this folder"},
    ]
    assert typed("config", "show").exit_code == 2


def test_configured_format_is_the_default_of_every_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRNBENCH_FORMAT", "json")
    assert json.loads(typed("config", "show").stdout)
    assert not typed("config", "show", "--format", "csv").stdout.startswith("[")
