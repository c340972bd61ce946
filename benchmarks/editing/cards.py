"""Peak memory and time of an edit by each method on cards of four sizes, by the dry run.

    python benchmarks/editing/cards.py [--shape 8b] [--methods rome memit]

Each method is run on the shapes of a Llama of 8 or 70 billion parameters in bfloat16
(`thinkeval.editing.shapes`): nothing is fetched, and no GPU is needed. Texts are counted with a
token for every four characters, so that no tokenizer is needed either. The cards' speeds are
fractions of those in their data sheets (`CARDS`), not measured; hyperparameters are those that
`thinkeval` takes for the model. A dash is a card whose memory is too small.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from thinkeval.editing import hparams, registry, shapes
from thinkeval.editing.errors import EditingError
from thinkeval.editing.hparams import suggestion
from thinkeval.loaders import graph_yaml, graphs
from thinkeval.loaders.records import fill

HEADS = {"num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False}
SHAPES: dict[str, dict[str, Any]] = {
    "8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
           "num_attention_heads": 32, **HEADS},
    "70b": {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
            "num_attention_heads": 64, **HEADS},
}  # fmt: skip
START_S = 1e-5
"""Seconds to start an operation, Python included."""


def card(flops: float, reading: float, wide: float, copying: float) -> shapes.Speed:
    """The speed of a card by its data sheet: bfloat16, memory, float64, and the bus."""
    wide *= 0.75
    return shapes.Speed(0.6 * flops, 0.8 * reading, wide, wide / 25, wide / 1.5, START_S, copying)


CARDS = {
    "24 GB (RTX 4090)": (24, card(165e12, 1.01e12, 1.3e12, 20e9)),
    "48 GB (L40S)": (48, card(362e12, 0.86e12, 1.4e12, 20e9)),
    "80 GB (H100)": (80, card(989e12, 3.35e12, 67e12, 50e9)),
    "141 GB (H200)": (141, card(989e12, 4.8e12, 67e12, 50e9)),
}


def main() -> None:
    """Print a table of Markdown for each shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", nargs="+", default=[*SHAPES], choices=[*SHAPES])
    parser.add_argument("--methods", nargs="+", default=registry.names())
    options = parser.parse_args()
    for shape in options.shape:
        config = LlamaConfig(**SHAPES[shape])
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
        print(f"\n| {shape} | peak | {' | '.join(CARDS)} |\n|---|---:|{'---:|' * len(CARDS)}")
        for method in options.methods:
            if registry.info(method).kind != "prompt" and method != "none":
                print(row(method, model, shape), flush=True)


def row(name: str, model: Any, shape: str) -> str:
    """The row of a method: its peak, and its seconds on each card."""
    graph = graph_yaml.load(graphs.path("world")).graph
    known = f"Meta-Llama-3-{shape}"
    if hparams.without_file([name], known):
        values = suggestion.for_config(name, model.config).values
        chosen = hparams.from_values(name, values, None, source="suggestion")
    else:
        chosen = hparams.load(name, known)
    retain = [(fill(fact.prompt, fact.subject), fact.object) for fact in graph.facts]
    retain = retain[: getattr(chosen, "retain_limit", 0)]
    tokenizer = shapes.characters(4, model.config.vocab_size)
    try:
        cost = shapes.edit(registry.get(name), model, tokenizer, graph.rewrites[0], chosen, retain)
    except EditingError as error:
        return f"| {name} | {error} |"
    seconds = ((cost.seconds(speed), cost.peak <= size * 1e9) for size, speed in CARDS.values())
    times = ["–" if not fits else f"{s:,.0f} s" if s >= 10 else f"{s:.2g} s" for s, fits in seconds]
    return f"| {name} | {cost.peak / 1e9:.1f} GB | {' | '.join(times)} |"


if __name__ == "__main__":
    main()
