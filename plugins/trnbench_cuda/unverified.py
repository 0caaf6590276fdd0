"""What was written from documents and tried on stand-ins, never on a GPU."""

UNVERIFIED = (
    "times by events, their agreement with the host's clock, and the emptying of the L2",
    "graphs of short calls, and the kernel that spins while calls are queued (torch.cuda._sleep)",
    "FP8 and integer products (torch._scaled_mm, torch._int_mm) on matrix units",
    "collectives by NCCL, and one problem on each of several GPUs at once",
    "nvidia-smi's columns, the name of the H200, and the reasons for lowered clocks",
    "documented peaks as a percentage of anything measured",
)
