"""Stand-ins for the vendor's programs, one function each; a fixture writes an executable per name.

They print what their user guides print, between log lines, and fail in the ways STANDIN_<NAME> says.
"""

import json
import os
import sys
import time
from pathlib import Path

RECORDED = Path(__file__).parent.parent / "recorded"
NOISE = "2026-11-20T10:00:00Z [INFO] driver version 2.24 [1]"


def neuron_ls(args):
    mode = os.environ.get("STANDIN_LS", "")
    if mode == "hang":
        time.sleep(600)
    if mode == "no-driver":
        print("error: Neuron driver is not loaded", file=sys.stderr)
        return 1
    if mode == "flood":
        while True:
            print("DEBUG " * 1000)
    if not args:
        text = (RECORDED / "neuron_ls_trn2.txt").read_text()
        print(text.replace("trn2n.48xlarge", os.environ.get("STANDIN_TYPE", "trn2.48xlarge")))
        return 0
    if mode == "empty":
        print(NOISE)
        print("[]")
        return 0
    listed = os.environ.get("STANDIN_LIST", str(RECORDED / "neuron_ls_trn2.json"))
    lines = Path(listed).read_text().splitlines()
    print(NOISE)
    if mode == "noise-inside":
        lines.insert(20, NOISE)
        lines.insert(40, "NRT:nrt_infodump a warning {")
    print("\n".join(lines))
    print("[WARN] metadata service answered late")
    return 0


def neuron_monitor(args):
    mode = os.environ.get("STANDIN_MONITOR", "")
    config = json.loads(Path(args[args.index("-c") + 1]).read_text())
    tag = config["neuron_runtimes"][0]["tag_filter"].strip("^$")
    if mode == "crash":
        print("panic: cannot open /dev/neuron0", file=sys.stderr)
        return 2
    report = json.loads((RECORDED / "neuron_monitor_report.json").read_text())
    runtime = report["neuron_runtime_data"][0]
    runtime["neuron_runtime_tag"] = tag
    summary = runtime["report"]["execution_stats"]["execution_summary"]
    if mode == "errors":
        summary["timed_out"] = 2
    if mode == "another":
        report["neuron_hardware_info"]["neuron_device_type"] = "trainium1"
    for tick in range(1000):
        if mode == "silent":
            time.sleep(600)
        if mode == "ecc":
            report["system_data"]["neuron_hw_counters"]["neuron_devices"][0]["mem_ecc_uncorrected"] = tick
        print(NOISE, file=sys.stderr)
        if mode == "noise":
            print("level=warning msg=slow")
        print(json.dumps(report), flush=True)
        time.sleep(0.1)
    return 0


FACTORS = {
    "all_reduce": lambda r: 2 * (r - 1) / r,
    "all_gather": lambda r: (r - 1) / r,
    "reduce_scatter": lambda r: (r - 1) / r,
    "alltoall": lambda r: (r - 1) / r,
    "permute": lambda r: 1.0,
}


def nccom_test(args):
    mode = os.environ.get("STANDIN_NCCOM", "")

    def option(name, default=""):
        return args[args.index(name) + 1] if name in args else default

    if mode == "driver":
        print("Neuron DKMS Driver is not running! Read the troubleshooting guide")
        return 1
    if mode == "hang":
        time.sleep(600)
    if mode == "old" and "--report-to-json-file" in args:
        print("nccom-test: error: unrecognized arguments: --report-to-json-file", file=sys.stderr)
        return 2
    operation, size, workers = args[0], int(option("-b")), int(option("-r"))
    ranks = workers
    if option("--custom-replica-groups"):
        groups = json.loads(Path(option("--custom-replica-groups")).read_text())["replica_groups"]
        ranks = len(groups[0][0])
    if mode == "ignores-groups":
        ranks = workers
    if option("--custom-src-target-pairs"):
        pairs = json.loads(Path(option("--custom-src-target-pairs")).read_text())["src_target_pairs"][0]
        assert sorted(a for a, _ in pairs) == sorted(b for _, b in pairs)
    unit = 2.0**30 if mode == "old" else 1e9
    largest, step = int(option("-e")), int(option("-f", "0"))
    sizes = [size]
    while step and sizes[-1] * step <= largest:
        sizes.append(sizes[-1] * step)

    def figures(size):
        seconds = 2e-5 if mode == "flat" else 2e-5 + size / 50e9
        algbw = size / seconds / unit
        return seconds, algbw, algbw * FACTORS[operation](ranks)

    print("Warming up ...\n   size(B)    count(elems)    type    time(us)    algbw(GB/s)    busbw(GB/s)")
    if mode in ("fails", "wrong"):
        print(f"{largest}    Failure running neuron-bench - log file /tmp/nccom_test_log_7pqpdfjf.log")
        if mode == "wrong":  # the guide names the check's golden tensor, but prints no message of it
            print("output does not match the golden tensor: mismatch at rank 3")
        print("1 errors found - test failed")
        return 1
    counters = Path(os.environ.get("STANDIN_SYSFS", "/none"))
    for total in counters.glob("*/neuron_core0/stats/status/success/total"):
        total.write_text(str(int(total.read_text()) + 25))
    dtype = option("-d")
    rows = []
    for size in sizes:
        seconds, algbw, busbw = figures(size)
        print(f"{size}   {size // 2}   {dtype}   {seconds * 1e6:.2f}   {algbw:.2f}   {busbw:.2f}")
        row = {
            "size(B)": size + 64 if mode == "other-size" else size,
            "count(elems)": size // 2,
            "type": dtype,
            "algbw(GB/s)": algbw,
            "busbw(GB/s)": busbw,
            "time:avg(us)": seconds * 1e6,
            "algorithm": "mesh",
        }
        rows.append(row)
    print(f"Avg bus bandwidth:      {busbw:.4f}GB/s")
    if "--report-to-json-file" in args and mode != "no-report":
        text = "{ truncated" if mode == "broken-report" else json.dumps({"results": rows})
        Path(option("--report-to-json-file")).write_text(text)
    return 0


def neuron_explorer(args):
    mode = os.environ.get("STANDIN_EXPLORER", "")
    if mode == "fails":
        print("error: profiling needs a free NeuronCore", file=sys.stderr)
        return 1
    if args[0] == "capture":
        trace = Path(args[args.index("-s") + 1])
        trace.with_name(f"{trace.stem}_exec_2.ntff").write_text("trace")
        return 0
    assert Path(args[args.index("-s") + 1]).is_file()
    summary = json.loads((RECORDED / "explorer_summary.json").read_text())
    inner = next(iter(summary.values()))
    flops = float(os.environ.get("STANDIN_FLOPS", "0"))
    if flops:
        inner["hardware_flops"] = flops
        inner["hbm_read_bytes"] = inner["hbm_write_bytes"] = None
    print("[INFO] processing profile")
    print(json.dumps(summary, indent=2))
    return 0


if __name__ == "__main__":
    name = Path(sys.argv[0]).name.replace("-", "_")
    sys.exit(globals()[os.environ.get("STANDIN_AS", name)](sys.argv[1:]))
