"""Every figure of the five seed documents, typed from the documents and not from the fact files.

A row is (generation, subject, metric, printed, unit, marks): `marks` are the data types, "sparse",
a qualifier written as "q:…", a bound written as "limit:…".
"""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    generation: str
    source: str
    subject: str
    metric: str
    printed: str
    unit: str = ""
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.subject} {self.metric} {self.printed} {self.unit} {' '.join(self.marks)}".strip()


def _rows(generation: str, source: str, subject: str, *rows: tuple[str, str, str, str]) -> list[Figure]:
    return [
        Figure(generation, source, subject, metric, printed, unit, tuple(marks.split(" ")) if marks else ())
        for metric, printed, unit, marks in rows
    ]


_EIGHT = "fp8 fp16 bf16 tf32"
_HALF = "fp16 bf16 tf32"

TRN1_TABLE = [
    *_rows(
        "trn1",
        "seed-trn1",
        "trn1.2xlarge",
        ("instance_name", "Trn1.2xlarge", "", ""),
        ("device_count", "1", "", ""),
        ("vcpu_count", "8", "", ""),
        ("host_memory", "32", "GiB", ""),
        ("peak_flops", "210", "TFLOPS", _EIGHT),
        ("peak_flops", "52.5", "TFLOPS", "fp32"),
        ("hbm_capacity", "32", "GiB", ""),
        ("hbm_bandwidth", "820", "GiB/sec", ""),
        ("connectivity", "N/A", "", "q:neuronlink"),
        ("efa_bandwidth", "25", "Gbps", "limit:up-to"),
    ),
    *_rows(
        "trn1",
        "seed-trn1",
        "trn1.32xlarge",
        ("instance_name", "Trn1.32xlarge", "", ""),
        ("device_count", "16", "", ""),
        ("device_count", "16", "", "limit:up-to"),
        ("vcpu_count", "128", "", ""),
        ("host_memory", "512", "GiB", ""),
        ("peak_flops", "3,360", "TFLOPS", _EIGHT),
        ("peak_flops", "840", "TFLOPS", "fp32"),
        ("hbm_capacity", "512", "GiB", ""),
        ("hbm_bandwidth", "13,120", "GiB/sec", ""),
        ("connectivity", "Yes", "", "q:neuronlink"),
        ("efa_bandwidth", "800", "Gbps", ""),
        ("topology_name", "4D-HyperCube", "", ""),
        ("topology_name", "2D Torus", "", ""),
        ("neuronlink_generation", "NeuronLink-v2", "", ""),
    ),
    *_rows(
        "trn1",
        "seed-trn1",
        "trn1-ultracluster",
        ("cluster_device_count", "30,000", "", "limit:over"),
        ("connectivity", "non-blocking EFA", "", "q:network"),
    ),
]

TRAINIUM_PAGE = [
    Figure("trn1", "seed-trainium", "trn1.32xlarge", "device_count", "16"),
    *_rows(
        "trn1",
        "seed-trainium",
        "trainium1",
        ("core_count", "2", "", ""),
        ("peak_flops", "380", "TOPS", "int8"),
        ("peak_flops", "190", "TFLOPS", "fp16 bf16 cfp8 tf32"),
        ("peak_flops", "47.5", "TFLOP", "fp32"),
        ("hbm_capacity", "32", "GiB", ""),
        ("hbm_bandwidth", "820", "GiB/sec", ""),
        ("dma_bandwidth", "1", "TB/sec", ""),
        ("neuronlink_generation", "NeuronLink-v2", "", ""),
        ("generation_name", "second", "", ""),
    ),
]

TRN2_TABLE = [
    *_rows(
        "trn2",
        "seed-trn2",
        "trn2-16.48xlarge",
        ("instance_name", "trn2-16.48xlarge", "", ""),
        ("device_count", "16", "", ""),
        ("vcpu_count", "192", "", ""),
        ("host_memory", "2,048", "GiB", ""),
        ("peak_flops", "20", "PFLOPS", "fp8"),
        ("peak_flops", "10", "PFLOPS", _HALF),
        ("peak_flops", "40", "PFLOPS", f"{_EIGHT} sparse"),
        ("peak_flops", "2.9", "PFLOPS", "fp32"),
        ("hbm_capacity", "1,536", "GiB", ""),
        ("hbm_bandwidth", "46.4", "TB/sec", ""),
        ("neuronlink_bandwidth", "1,024", "GB/sec/device", "q:intra-instance"),
        ("connectivity", "Not applicable", "", "q:inter-instance_NeuronLink"),
        ("efa_bandwidth", "3,200", "Gbps", ""),
        ("topology_name", "4x4, 2D Torus", "", ""),
        ("neuronlink_generation", "NeuronLink-v3", "", ""),
    ),
    *_rows(
        "trn2",
        "seed-trn2",
        "u-trn2x64",
        ("instance_name", "u-trn2x64 UltraServer", "", ""),
        ("device_count", "64", "", ""),
        ("host_count", "4", "", ""),
        ("vcpu_count", "768", "", ""),
        ("host_memory", "8,192", "GiB", ""),
        ("peak_flops", "80", "PFLOPS", "fp8"),
        ("peak_flops", "40", "PFLOPS", _HALF),
        ("peak_flops", "160", "PFLOPS", f"{_EIGHT} sparse"),
        ("peak_flops", "11.6", "PFLOPS", "fp32"),
        ("hbm_capacity", "6,144", "GiB", ""),
        ("hbm_bandwidth", "185.6", "TB/sec", ""),
        ("neuronlink_bandwidth", "1,024", "GB/sec/device", "q:intra-instance"),
        ("neuronlink_bandwidth", "256", "GB/sec/device", "q:inter-instance"),
        ("efa_bandwidth", "3,200", "Gbps", ""),
        ("topology_name", "ring", "", ""),
    ),
]

TRN3_TABLE = [
    *_rows(
        "trn3",
        "seed-trn3",
        "trn3-gen1-ultraserver",
        ("device_count", "64", "", ""),
        ("vcpu_count", "768", "", ""),
        ("host_memory", "8,192", "GiB", ""),
        ("peak_flops", "161,088", "TFLOPS", "mxfp8 mxfp4"),
        ("peak_flops", "42,944", "TFLOPS", _HALF),
        ("peak_flops", "11,712", "TFLOPS", "fp32"),
        ("hbm_capacity", "9,216", "GiB", ""),
        ("hbm_bandwidth", "313.6", "TB/sec", ""),
        ("neuronlink_bandwidth", "2,048", "GiB/sec/device", ""),
        ("efa_bandwidth", "12,800", "Gbps", ""),
        ("topology_name", "all-to-all", "", ""),
        ("connectivity", "NeuronSwitch-v1", "", "q:switch"),
    ),
    *_rows(
        "trn3",
        "seed-trn3",
        "trn3-gen2-ultraserver",
        ("device_count", "144", "", ""),
        ("vcpu_count", "2304", "", ""),
        ("host_memory", "27,648", "GiB", ""),
        ("peak_flops", "362,448", "TFLOPS", "mxfp8 mxfp4"),
        ("peak_flops", "96,624", "TFLOPS", _HALF),
        ("peak_flops", "26,352", "TFLOPS", "fp32"),
        ("hbm_capacity", "20,736", "GiB", ""),
        ("hbm_bandwidth", "705.6", "TB/sec", ""),
        ("neuronlink_bandwidth", "2,048", "GiB/sec/device", ""),
        ("efa_bandwidth", "28,800", "Gbps", ""),
    ),
]

TRN3_PROSE = _rows(
    "trn3",
    "seed-trn3",
    "trn3-gen2-ultraserver",
    ("peak_flops", "362", "PetaFLOPS", "mxfp8"),
    ("hbm_bandwidth", "706", "TB/s", ""),
    ("hbm_capacity", "20", "TB", ""),
    ("host_count", "36", "", ""),
    ("devices_per_host", "4", "", ""),
    ("switch_count", "2", "", "q:second_level"),
    ("neuronlink_generation", "NeuronLink-v4", "", ""),
)

PRODUCT_PAGE = [
    *_rows(
        "trn1",
        "seed-trn1-product",
        "trn1.2xlarge",
        ("vcpu_count", "8", "", ""),
        ("device_count", "1", "", ""),
        ("hbm_capacity", "32", "GB", ""),
        ("efa_bandwidth", "12.5", "Gbps", "limit:up-to"),
        ("storage_capacity", "500", "GB", ""),
    ),
    *_rows(
        "trn1",
        "seed-trn1-product",
        "trn1.32xlarge",
        ("vcpu_count", "128", "", ""),
        ("device_count", "16", "", ""),
        ("device_count", "16", "", "limit:up-to"),
        ("hbm_capacity", "512", "GB", ""),
        ("hbm_capacity", "512", "GB", "limit:up-to"),
        ("hbm_bandwidth", "9.8", "TB/s", ""),
        ("peak_flops", "3", "petaflops", "fp16 bf16 limit:up-to"),
        ("efa_bandwidth", "800", "Gbps", ""),
        ("efa_bandwidth", "800", "Gbps", "limit:up-to"),
        ("efa_generation", "EFAv2", "", ""),
        ("storage_capacity", "2", "TB", ""),
        ("cost_saving", "50", "%", "limit:up-to"),
    ),
    Figure("trn1", "seed-trn1-product", "trainium1", "core_count", "2"),
]

SEED_FIGURES = [*TRN1_TABLE, *TRAINIUM_PAGE, *TRN2_TABLE, *TRN3_TABLE, *TRN3_PROSE, *PRODUCT_PAGE]
