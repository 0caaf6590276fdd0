"""`trnbench workload`: what people and programs see, and what a wrong call says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from command import listed, typed

from trnbench_steps.shipped_models import shipped_names


def invoke(*words: str) -> Result:
    return typed("workload", *words)


def told(*words: str) -> Any:
    return listed("workload", *words)


DECODE = ("--task", "decode", "--tp", "32", "--batch", "4", "--kv", "4096")


def test_every_shipped_model_is_listed() -> None:
    rows = told("list")
    assert [row["model"] for row in rows] == list(shipped_names())
    (row,) = [row for row in rows if row["model"] == "llama-3-8b"]
    assert (row["parameters"], row["kind"], row["layers"]) == (8_030_261_248, "dense", 32)
    printed = list(csv.DictReader(io.StringIO(invoke("list", "--format", "csv").stdout)))
    assert [each["parameters"] for each in printed] == [str(row["parameters"]) for row in rows]
    line = next(line for line in invoke("list").stdout.splitlines() if line.startswith("llama-3-8b "))
    assert line.split()[1:5] == ["dense", "llama", "8.03B", "8.03B"]


def test_a_model_is_shown_by_parts_that_add_up() -> None:
    shown = told("info", "qwen3-30b-a3b")
    *parts, whole = shown["parameters"]
    assert whole == {"part": "all", "parameters": 30_532_122_624, "active": whole["active"]}
    for key in ("parameters", "active"):
        assert sum(part[key] for part in parts) == whole[key]
    assert shown["layers"] == [
        {
            "layers": 48,
            "attention": "full",
            "heads": 32,
            "kv_heads": 4,
            "head_dim": 128,
            "network": None,
            "experts": "8 of 128",
            "expert": 768,
        }
    ]
    assert [row["counted"] for row in shown["published"]] == ["parameters", "active"]
    assert shown["published"][0]["difference"] == 0
    assert "systems" not in shown


def test_a_step_is_shown_on_every_system() -> None:
    shown = told("info", "llama-3-70b", *DECODE)
    *parts, whole = shown["memory"]
    assert sum(part["bytes"] for part in parts) == whole["bytes"]
    *parts, whole = shown["operations"]
    assert sum(part["flops"] for part in parts) == whole["flops"]
    found = {row["system"]: row for row in shown["systems"]}
    assert found["trn1.2xlarge"]["verdict"] == "refused: 32 ranks do not lie on trn1.2xlarge"
    assert found["trn1.32xlarge"]["fits"] is True
    assert found["trn1.32xlarge"]["used"] == 2 * shown["memory"][-1]["bytes"]
    assert found["trn1.32xlarge"]["notes"] == "8 heads of keys and values are kept by 4 ranks each"
    assert {"u-trn2x64", "trn3-gen2-ultraserver"} <= set(found)


def test_a_token_of_a_prompt_takes_its_share_of_the_step() -> None:
    """A prompt predicts one token: its other tokens meet no head, which is half of this model."""
    shown = told("info", "gemma-3-1b", "--task", "prefill", "--sequence", "2048", "-i", "trn1.2xlarge")
    (row,) = [row for row in shown["tokens"] if row["length"] == 2048]
    assert row["prefill"] * 2048 == pytest.approx(shown["operations"][-1]["flops"])


def test_parts_of_memory_are_those_of_one_rank() -> None:
    """The first stage keeps most activations, the last has the head: no rank has the most of both."""
    layout = ("--tp", "8", "--pp", "4", "--batch", "64", "--sequence", "4096")
    shown = told("info", "llama-3.1-8b", "--task", "train", *layout, "-i", "trn1.32xlarge")
    *parts, whole = shown["memory"]
    assert sum(part["bytes"] for part in parts) == whole["bytes"]


def test_the_table_says_what_fits_and_what_not() -> None:
    shown = invoke("info", "llama-3-70b", *DECODE, "-i", "trn1.32xlarge", "-i", "trn1.2xlarge").stdout
    assert "trn1.32xlarge        9.94 GiB           32 GiB  fits" in shown
    assert "trn1.2xlarge: it has 2 logical cores on 1 device." in shown
    small = invoke("info", "llama-3-70b", "--task", "decode", "--kv", "4096", "-i", "trn1.2xlarge").stdout
    assert "does not fit: 133 GiB on a device of 32 GiB" in small


def test_a_config_is_read_where_a_name_is_asked_for(tmp_path: Path) -> None:
    config = {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "sliding_window": 1024,
        },
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    shown = told("info", str(path))
    assert shown["left_out"] == "vision"
    assert shown["parameters"][-1]["parameters"] == 3_880_263_168
    assert "Not counted: vision." in invoke("info", str(path)).stdout


def test_a_folder_with_a_hostile_name_is_shown_without_its_controls(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[31mb"
    folder.mkdir()
    (folder / "config.json").write_text(
        '{"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 9, "n_positions": 4}'
    )
    shown = invoke("info", str(folder))
    assert shown.exit_code == 0
    assert shown.stdout.startswith("a\\x1b[31mb: dense, 1 layers of 8 features, 9 words\n")
    (folder / "config.json").write_text("{}")
    refused = invoke("info", str(folder))
    assert refused.exit_code == 2
    assert "\x1b" not in refused.stdout + refused.stderr


def test_other_formats_hold_the_same() -> None:
    rows = list(csv.DictReader(io.StringIO(invoke("info", "gpt2", "--format", "csv").stdout)))
    assert {"section": "parameters", "row": "4", "key": "parameters", "value": "124439808"} in rows
    assert invoke("info", "gpt2", "--format", "md").stdout.startswith(
        "# gpt2: dense, 12 layers of 768 features"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("workload info gpt2 --batch 8", "--batch says nothing without --task"),
        ("workload info gpt2 --type weights=fp8", "--type weights says nothing without --task"),
        ("workload info gpt2 --task train --kv 8", "--kv says nothing of --task train"),
        ("workload run gpt2 --task decode --micro-batch 2", "--micro-batch says nothing of --task decode"),
        ("workload run gpt2 --task decode -a sequence=8,16", "-a sequence says nothing of --task decode"),
        ("workload run gpt2 --task train --type cache=fp8", "--type cache says nothing of --task train"),
        (
            "workload run llama-3-8b --task decode --path attention=fused",
            "--path attention says nothing of --task decode",
        ),
        (
            "workload run llama-3-8b --task prefill --path experts=all",
            "--path experts=all says nothing of this step of llama-3-8b",
        ),
        (
            "workload run llama-3-8b --task prefill --path widening=widened",
            "--path widening=widened says nothing of this step of llama-3-8b",
        ),
        (
            "workload run llama-3-8b --task prefill --type weights=int8 --path widening=native",
            "--path widening=native says nothing of this step of llama-3-8b",
        ),
        ("plan gpt2 --sequence 8", "--sequence says nothing of --task decode"),
        ("plan gpt2 --tokens 1T --kv 8", "--kv says nothing of --task train"),
        ("plan gpt2 --type moments=bf16", "--type moments says nothing of --task decode"),
    ],
)
def test_what_changes_nothing_is_refused(words: str, said: str) -> None:
    found = typed(*words.split())
    assert (found.exit_code, found.stderr.splitlines()[0]) == (2, f"error: {said}")


def test_a_sequence_unless_told_ends_with_the_learned_positions() -> None:
    told = ("workload", "info", "gpt2", "--task", "prefill", "--format", "json")
    assert typed(*told).stdout == typed(*told, "--sequence", "1024").stdout
