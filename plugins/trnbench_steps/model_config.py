"""From a configuration to a model: the rules of its architecture, applied."""

from __future__ import annotations

from typing import Any

from trnbench.bounded import kinds
from trnbench.errors import BadInput
from trnbench_steps.architecture import architectures
from trnbench_steps.config import REQUIRED, Config
from trnbench_steps.description import Description
from trnbench_steps.layer import Layer
from trnbench_steps.mixers import mixers
from trnbench_steps.model import Model, ModelSource, PublishedCount
from trnbench_steps.networks import networks


def read_model(
    values: Any,
    name: str,
    where: str,
    *,
    source: ModelSource | None = None,
    published: tuple[PublishedCount, ...] = (),
) -> Model:
    """The model that the configuration `values` describes.

    Raises `BadInput` for an architecture that is not known, a key that is missing, and a value that no
    model has; each names the key.
    """
    if not isinstance(values, dict):
        raise BadInput(
            f"{where} is no model's configuration",
            cause="it holds no keys with values at its top",
            try_="the config.json beside a model's weights",
        )
    top = Config(values, where)
    architecture = top.word("model_type")
    rules = architectures().get(architecture)
    if rules is None:
        raise _unknown(architecture, where)
    top.architecture = architecture
    return _model(Description(architecture, rules, top), name, source, published)


def _unknown(architecture: str, where: str) -> BadInput:
    from difflib import get_close_matches

    from trnbench.errors import quoted

    known = sorted(architectures())
    near = get_close_matches(architecture, known, n=3, cutoff=0.6)
    return BadInput(
        f"{where}: model_type {quoted(architecture)} is no architecture known here",
        cause=f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}",
        try_="the model_type of a known one whose layers are the same, in a copy of the file",
    )


def _model(
    described: Description, name: str, source: ModelSource | None, published: tuple[PublishedCount, ...]
) -> Model:
    rules = described.rules
    layers: dict[Layer, int] = {}
    norms, parallel = _norms(described), _parallel(described)
    pattern = []
    for mixer, network in zip(mixers(described), networks(described), strict=True):
        layer = Layer(attention=mixer, feed_forward=network, norm=rules.norm, norms=norms, parallel=parallel)
        pattern.append(layers.setdefault(layer, len(layers)))
    tied = described.top if rules.inside and described.top.has("tie_word_embeddings") else described.config
    return Model(
        name=name,
        architecture=described.architecture,
        hidden=described.hidden,
        vocabulary=described.count("vocab_size"),
        kinds=tuple(layers),
        pattern=tuple(pattern),
        embedding=described.count("embedding_size", described.hidden),
        positions=described.count("max_position_embeddings", REQUIRED) if rules.learned_positions else 0,
        token_types=described.count("type_vocab_size", 0, kinds.OPTIONAL) if rules.encoder else 0,
        embedding_norm=rules.embedding_norm,
        final_norm=rules.final_norm,
        norm=rules.norm,
        tied=tied.flag("tie_word_embeddings", rules.defaults.get("tie_word_embeddings", REQUIRED)),
        head=rules.head,
        head_bias=rules.head_bias,
        pooler=rules.pooler,
        encoder=rules.encoder,
        shared_layers=rules.shared_layers,
        left_out=rules.left_out,
        source=source,
        published=published,
    )


def _parallel(described: Description) -> bool:
    if described.architecture == "falcon":
        return described.flag("parallel_attn", True) or described.flag("new_decoder_architecture", False)
    if described.architecture == "gpt_neox":
        return described.flag("use_parallel_residual", True)
    return described.rules.parallel


def _norms(described: Description) -> int:
    """Falcon has one before both branches, or one each (7B: one; 40B and 180B: two)."""
    if described.architecture == "falcon":
        both = (
            described.count("num_ln_in_parallel_attn", 2)
            if described.flag("new_decoder_architecture", False)
            else 1
        )
        return both if _parallel(described) else 2
    return described.rules.norms
