"""Files that are taken, whole: facts, costs, runs, models, output of other tools, rules, a baseline."""

from __future__ import annotations

FACTS = """schema = 1
[sources.mine]
document = "My bench"
version = "1"
date = "2027-01-01"
[[group]]
subject = "trn2-core"
scope = "core"
source = "mine"
locator = "line 1"
facts = [{ metric = "peak_flops", dtypes = ["bf16"], printed = "150", unit = "TFLOPS" }]
"""

COSTS = """schema = 1
[launch]
value = "1"
"""

RUN = """{"schema_version": 3, "id": "20260101-000000-aaaa", "created": "2026-01-01T00:00:00+00:00",
"tool_version": "1", "argv": [], "settings": {}, "policy": "seed", "environment": {}, "backend": "emulated",
"grade": "emulated", "systems": {}, "books": {}, "topologies": {}, "plugins": [], "measurements": [],
"fidelity": null, "interrupted": false, "notes": [], "finished": "", "digest": ""}"""

MODEL = """{"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
"num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 128, "vocab_size": 100, "num_experts": 4,
"num_experts_per_tok": 2, "moe_intermediate_size": 32, "tie_word_embeddings": true}"""

MODEL_FILE = """[source]
document = "mine"
version = "1"
locator = "page 1"
[config]
model_type = "gpt2"
n_embd = 64
n_layer = 2
n_head = 4
vocab_size = 100
n_positions = 16
"""

NCCL_TESTS = """# Collective test starting: all_reduce_perf
# size count type redop root time algbw busbw #wrong
 1048576 262144 float sum -1 50.00 20.97 31.46 0
"""

PYTEST_BENCHMARK = """{"datetime": "2026-01-01T00:00:00+00:00", "version": "5.3.1", "benchmarks": [
{"fullname": "t.py::test_a[1]", "stats": {"median": 1.5, "data": [1.5, 1.6]}},
{"fullname": "trn1.2xlarge::gemm[dtype=bf16,size=1024]@core", "extra_info": {"evidence": "emulated"},
"stats": {"median": 0.001}}]}"""

RULES = """[[rule]]
name = "copies"
kernel = "hbm_*"
metric = "time_s"
direction = "worse"
tolerance = "2%"
minimum_of_peak = "60%"
maximum_age_days = 30
"""

BASELINE = (
    '{"trnbench_baseline": 1, "accepted": [{"run": "a", "digest": "", "when": "", "why": "x", "by": ""}], '
    f'"run": {RUN}}}'
)
