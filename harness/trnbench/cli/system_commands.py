"""Commands about systems, documents, kernels and this installation: what they take, and where their bodies
are.
"""

from __future__ import annotations

from typing import Any

from trnbench.terminal.declaration import Branch, Leaf, commands
from trnbench.terminal.vocabulary import GRAPH, SELECTION, TABLE, WORDS

_PLAIN = {"default": "table"}  # whatever settings say: they may be what is wrong
_SPEC: dict[str, dict[str, Any]] = {
    "scope": {
        "many": False,
        "name": "scope",
        "default": "",
        "offers": None,
        "help": "Scope of the peaks: core, logical-core, device, instance, ultraserver or cluster.",
    }
}
_STDOUT = {"help": "Where it goes.  [default: stdout]"}

__getattr__ = commands(
    WORDS,
    {
        "list": Leaf(
            "trnbench.cli.list:list_",
            """List what there is: kernels (the default), instances, cases, tags, families, backends, formats,
    importers or sections.

    The options narrow it down as they do for `trnbench run`, whose cases `list cases` shows.
    """,
            f"what {SELECTION} {TABLE}",
        ),
        "info": Leaf(
            "trnbench.cli.info:info",
            """Show all about one kernel or one instance.

    Of a kernel: axes, formulas, peaks, implementations, what would be skipped. Of an instance: its parts,
    its figures with sources, what it cannot do.
    """,
            f"subject peak {TABLE}",
        ),
        "spec": Branch(
            """Show, list, check and compare the documented figures.

    A figure keeps its printed digits, its unit, its scope and its source. Where documents
    disagree, none is dropped: `--peak` says which one percentages are taken of.
    """,
            {
                "show": Leaf(
                    "trnbench.cli.spec.tables:show",
                    """Show every figure of an instance, device or core, as printed and normalised.

                    Each has scope, evidence, source, place, and what replaced it. Assumptions and the chosen
                    peak with its alternatives follow.

                    Example: trnbench spec show trn2-16.48xlarge --peak latest
                    """,
                    f"system peak scope facts {TABLE}",
                    {**_SPEC, "system": {"metavar": "INSTANCE|DEVICE|CORE"}},
                ),
                "list": Leaf(
                    "trnbench.cli.spec.tables:list_",
                    "List all systems: what they are made of, other names, and headline peaks with their "
                    "sources.",
                    f"peak facts {TABLE}",
                ),
                "check": Leaf(
                    "trnbench.cli.spec.check:check",
                    """Find every disagreement of value, unit, sum or count between documents, and list those
                    that are known and no rule can find. All generations unless some are named.

                    A figure stands for what its last printed digit allows: half a unit of it, and never more
                    than 5 %. Rules: value count prose unit-base rounded words per-device devices-sum
                    cores-sum hosts-sum link-sum product clock.
                    """,
                    f"generations rule strict facts {TABLE}",
                    {
                        "strict": {
                            "help": "Exit with 1 when a disagreement, or a figure in it, is in no dispute."
                        }
                    },
                ),
                "diff": Leaf(
                    "trnbench.cli.spec.diff:diff",
                    """Compare two instances, devices or cores, figure by figure, with the ratio of B to A.

            Rates are the peaks that the policy chooses, each of its own whole system unless --scope names a
            part that both have. Figures of unlike scopes stand side by side without a ratio.

            Example: trnbench spec diff trn1.32xlarge trn2-16.48xlarge --scope device
            """,
                    f"A B peak scope facts {TABLE}",
                    _SPEC,
                ),
            },
        ),
        "topology": Branch(
            "Show, check and export the graph of a system.",
            {
                "show": Leaf(
                    "trnbench.cli.topology:show",
                    """Show shape, neighbours, links with the origin of their figures, and what follows from
                    them.

                    A cluster takes a size: trn1-ultracluster:64.
                    """,
                    f"system all {GRAPH} open-cores {TABLE}",
                    {"all": {"help": "Show every device, however many."}},
                ),
                "check": Leaf(
                    "trnbench.cli.topology:check",
                    """Check graphs against their documents: every system unless named.

            Symmetry, connectivity, counts, sums of links, printed neighbour tables, names such as 4D
            hypercube. Exits with 1 when a check fails.
            """,
                    f"system failures {GRAPH} open-cores {TABLE}",
                    {"system": {"nargs": -1, "metavar": "[INSTANCE]..."}},
                ),
                "export": Leaf(
                    "trnbench.cli.topology:export",
                    """Write a graph as text, JSON, Graphviz DOT or an SVG picture.

            JSON holds everything and can be read again: trnbench.topology.graph.from_json.
            """,
                    f"system graph output force {GRAPH} open-cores",
                    {"output": _STDOUT},
                    needs={"force": "output"},
                ),
            },
        ),
        "plugin": Branch(
            "List, check and create plugins.",
            {
                "list": Leaf(
                    "trnbench.cli.plugin:list_",
                    "Every plugin: where it comes from, what it brings, how long it takes, what is wrong.",
                    TABLE,
                ),
                "check": Leaf(
                    "trnbench.cli.plugin:check",
                    """Hold plugins to the contract: facts, topologies, kernels, values, bounds, determinism,
                    reports.

                    NAME is a plugin or a distribution, PATH a project's folder or a module, installed or not.
                    Without either, every installed plugin is checked. Exit code 1 when a check fails.
                    """,
                    f"plugin only {TABLE}",
                ),
                "new": Leaf(
                    "trnbench.cli.plugin:new",
                    "Write the project of a new plugin: it installs, and passes its own tests.",
                    "name dir",
                ),
            },
        ),
        "doctor": Leaf(
            "trnbench.cli.doctor:doctor",
            """Say what works here, what does not, and what to do.

    Exit code 0 unless something is broken, then 1.
    """,
            TABLE,
            {"format": _PLAIN},
        ),
        "config": Branch(
            "Show settings and where each one comes from.",
            {
                "show": Leaf(
                    "trnbench.cli.config:show",
                    "Every setting: its value, where it comes from, what it is for.",
                    f"preset setting-files {TABLE}",
                    {"preset": {"help": "As it is with this preset."}},
                )
            },
            default="show",
            settings={"options_metavar": "", "subcommand_metavar": "[OPTIONS]"},
            old={"path": "show --files"},
        ),
        "completion": Leaf(
            "trnbench.cli.completion:completion",
            "Print the completion script of a shell; where to put it is said on stderr.",
            "shell",
        ),
    },
)
