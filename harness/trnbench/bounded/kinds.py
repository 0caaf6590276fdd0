"""Every kind of number that an option, a setting or a variable takes, with the bounds it makes sense in."""

from __future__ import annotations

from trnbench.bounded.number import OF_A_SECOND, POWERS_OF_TWO, Number

COUNTED = 2**53
"""Whole numbers up to here are exact as floats, and in every JSON reader."""

# How a run is carried out.
JOBS = Number(
    "number of processes", "it counts processes, 0 for as many as pay off", "1", 0, 4096, whole=True
)
TIME_LIMIT = Number(
    "time limit", "a limit is a number of seconds, 0 for none", "60", 0, 10_000_000, smallest=0.001
)
SAMPLING = Number(
    "time",
    "it is seconds of sampling for each case, 0 for the backend's own choice",
    "2",
    0,
    100_000,
    smallest=1e-6,
)
PROCESSES = Number(
    "number of processes", "it counts the processes that measure one case", "3", 1, 1000, whole=True
)
QUIET = Number(
    "time", "it is seconds to wait for a quiet machine, 0 for none", "600", 0, 10_000_000, smallest=0.001
)
MOST_FAILED = Number(
    "number of cases", "it counts failed and suspect cases, 0 for no limit", "1", 0, COUNTED, whole=True
)
RETRIES = Number(
    "number of tries",
    "it counts how often a case that crashed or hung is tried again",
    "1",
    0,
    1000,
    whole=True,
)
SEED = Number("seed", "a seed is a whole number", "1", 0, 2**64 - 1, whole=True)

RANKS = Number(
    "number of ranks", "it counts ranks of a collective, 0 where the file says", "64", 0, 2**20, whole=True
)

# What is kept of runs and of the model's errors.
KEPT = Number("number of runs", "it counts the newest runs", "10", 0, COUNTED, whole=True)
SAMPLE = Number("number of cases", "it counts cases", "10000", 1, COUNTED, whole=True)
DAYS = Number("age", "it is a number of days", "30", 0, 36_500)
BROKEN = Number("number of points", "it counts published inequalities", "0", 0, COUNTED, whole=True)
PERCENT = Number("percentage", "it is a number with % behind it", "3%", 0, 1_000_000, units={"%": 1})

# Kernels of one's own.
INSTRUCTIONS = Number("number of instructions", "it counts instructions", "20000000", 1, 10**12, whole=True)
TOLERANCE = Number("tolerance", "it is a share of the largest value", "0.01", 0, 1_000_000)
MEMORY = Number(
    "size", "a size is a number of bytes, with K, M or G behind it", "4G", 1, 2**50, floored=True,
    units=POWERS_OF_TWO,
)  # fmt: skip
TRACE = MEMORY._replace(example="64M")
DIMENSION = Number("dimension", "a dimension counts elements", "512", 1, 2**40, whole=True)
PROGRAMS = Number("number of programs", "it counts programs of a grid", "2", 1, 2**31 - 1, whole=True)

# Models, and how they are laid out.
WIDTH = Number("width", "it counts features, heads, words or tokens", "4096", 1, 2**31 - 1, whole=True)
OPTIONAL = Number("count", "it counts what a model may lack, 0 for none", "0", 0, 2**31 - 1, whole=True)
LAYERS = Number("number of layers", "it counts layers", "32", 1, 4096, whole=True)
DEGREE = Number("degree", "it counts ranks that share the work", "8", 1, 2**20, whole=True)
SEQUENCES = Number("batch", "it counts sequences", "16", 1, 2**31 - 1, whole=True)
TOKENS = Number("length", "it counts tokens", "4096", 1, 2**31 - 1, whole=True)

# Plans.
AWAITED = Number(
    "time", "it is a time above 0 with ms or s behind it", "20ms", 1e-9, 100_000, units=OF_A_SECOND
)
REQUESTS = Number("rate", "it is a number of requests a second", "4", 1e-6, 10**9)
UTILISATION = Number(
    "utilisation", "it is the share of the time in which replicas work", "70%", 1e-3, 1,
    units={"": "1", "%": "0.01"},
)  # fmt: skip
TRAINING = Number("length of a training", "it is a number of days", "30", 1e-3, 36_500)
TRAINED = Number(
    "number of tokens", "it counts tokens, with K, M, B or T behind it for thousands to millions of millions",
    "1T", 1, 10**18, units={"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12},
)  # fmt: skip
SHOWN = Number("number of rows", "it counts options", "10", 1, 100_000, whole=True)

# Axes of kernels.
AXIS = Number(
    "number",
    "a number may have K, M, G or T behind it, for 2^10, 2^20, 2^30 and 2^40",
    "4096",
    -(2**100),
    2**100,
    units=POWERS_OF_TWO,
)
EXPONENT = Number("exponent", "an exponent is a whole number", "10", -(2**62), 2**62, whole=True)

# Collectives and links. The largest message over the slowest link ends within the model's clock, 2^63 ps.
MESSAGE = Number(
    "size", "a number with K, M or G behind it, which are powers of two", "64K", 0, 2**44, floored=True,
    units=POWERS_OF_TWO,
)  # fmt: skip
STEP_FACTOR = Number("factor", "it multiplies the size", "2", 1, 2**50)
RANK = Number("rank", "ranks are counted from 0", "0", 0, 2**31 - 1, whole=True)
GROUP = Number("number of ranks", "it counts ranks", "8", 1, 2**31 - 1, whole=True)
TOP = Number("number of links", "it counts links", "20", 1, COUNTED, whole=True)
OVERSUBSCRIPTION = Number(
    "oversubscription", "it says how many times less the network carries than the adapters", "2", 1, 1000
)
LEFT_OF_LINK = Number("factor", "0 is a dead link, 1 a whole one, 0.5 half", "0.5", 0, 1000, smallest=0.001)
LEFT_OF_RANK = Number("share", "it is the share of its speed that a rank has left", "0.5", 0.001, 1)
LATE = Number("time", "a time has a unit: ns, us, ms or s", "50us", 0, 1000, units=OF_A_SECOND)
SHARE = Number("share", "it is a part of the whole, in any unit", "1", 0, 1e12)
ZIPF = Number("exponent", "0 is even", "1.2", 0, 100)
HOT = Number("share", "it is that of rank 0", "0.5", 0, 1)
INSTANCES = Number("size", "a size counts instances", "64", 1, 2**17, whole=True)
"""Beyond what any document describes; `System.topology` bounds what is drawn or listed of it."""

# What cost tables hold: cycles, seconds, bytes and rates.
COST = Number("cost", "no cost and no count is below zero", "64", 0, 1e18)

FOREIGN = Number("number", "as another program prints it", "1", -1e300, 1e300)

# What launchers and addresses say.
PORT = Number("port", "a port is a whole number", "29400", 1, 65_535, whole=True)
JOB = Number("number of a job", "it counts jobs", "1", 0, COUNTED, whole=True)
