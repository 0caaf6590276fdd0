"""What a user may say about the stack by environment variable, and what was never tried on real hardware."""

from __future__ import annotations

import os

from trnbench.record import Record

PREFIX = "TRNBENCH_NEURON_"
LIBRARIES = "/opt/aws/neuron/lib"
BETA1 = "nki-beta1"
"""Sources for neuronxcc's NKI, among the implementations of a kernel."""

_DROPPED = ("NKI_SIMULATOR", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "NEURON_RT_VISIBLE_CORES")
"""NKI_SIMULATOR=1 would run kernels on the host's CPU; the others belong to our own interpreter."""


class Settings(Record, kw_only=True):
    """Empty: found by itself. The three interpreters may be three environments: the wheels of nki and
    nrtpy cannot share one (nrtpy troubleshooting, SDK 2.32)."""

    tools: str = ""  # the folder of neuron-ls, nccom-test, …
    nki_python: str = ""
    nrtpy_python: str = ""
    beta1_python: str = ""
    instance: str = ""  # which documented system this is, where several fit
    profile: bool = True  # one more execution under neuron-explorer, for its counters
    sysfs: str = ""  # the driver's folder

    @classmethod
    def read(cls) -> Settings:
        words = {name: os.environ.get(PREFIX + name.upper(), "").strip() for name in cls.__struct_fields__}
        profile = words.pop("profile") not in ("0", "no", "off")
        return cls(**words, profile=profile)


VARIABLES = tuple(PREFIX + name.upper() for name in Settings.__struct_fields__)


def child_environment(**more: str) -> dict[str, str]:
    """What a program of the stack is started with: ours without what would mislead it, and `more`."""
    env = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    paths = [path for path in env.get("LD_LIBRARY_PATH", "").split(":") if path]
    if LIBRARIES not in paths and os.path.isdir(LIBRARIES):
        env["LD_LIBRARY_PATH"] = ":".join([*paths, LIBRARIES])
    return {**env, **more}


UNVERIFIED = (
    "neuron-ls -j: read as the Neuron LS User Guide of SDK 2.32 prints it",
    "which instance this is: from the number, cores, memory and links of the devices listed",
    "NKI kernels: compiled by nki with NKI_ARTIFACTS_DIR, NEURON_PLATFORM_TARGET_OVERRIDE and "
    "NEURON_LOGICAL_NC_CONFIG set, as the documents of SDK 2.32 say",
    "nrtpy: times of mode=device, inputs found by name or size, outputs of void type read as the "
    "kernel's (nrtpy pages of SDK 2.32)",
    "several cores at once: one nrtpy process on each, started together",
    "NKI on Trainium1 and Inferentia2: documents name Trainium2 and later only; Beta 1 "
    "(neuronxcc.nki.benchmark) takes its place where it is installed",
    "nccom-test: one rank per device by --custom-replica-groups, sizes swept by -f in one call. Size and "
    "time tell whether algbw is in GB or GiB (its guide says GiB, its newer examples are GB: C28)",
    "neuron-monitor: reports of SDK 2.32's user guide; it documents no clock frequency",
    "neuron-explorer: its summary has no versioned format, and every field is optional. Active times up to 1 "
    "are taken for shares, larger ones for per cent",
    "driver counters under /sys/devices/virtual/neuron_device: listed by the Sysfs User Guide of SDK 2.32",
)
