"""What was never tried on real hardware: printed by `trnbench doctor`, one sentence each."""

from __future__ import annotations

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
    "nccom-test: one rank per device by --custom-replica-groups, sizes swept by -f in one call; algbw in GB "
    "or GiB is told by size and time (its guide says GiB, its newer examples are GB: C28)",
    "neuron-monitor: reports of SDK 2.32's user guide; it documents no clock frequency",
    "neuron-explorer: its summary has no versioned format, every field is optional; its active times are "
    "taken for shares up to 1 and for per cent above",
    "driver counters under /sys/devices/virtual/neuron_device: listed by the Sysfs User Guide of SDK 2.32",
)
