"""Model organisms: a small GPT-2 or Llama that knows the facts of one graph and little else.

An organism of about a million parameters is trained on the verbalised facts of any `KnowledgeGraph`
in a minute or two on one thread, so that all steps (probe, edit, probe again, score) run offline
without a published model. It is a substitute for one: that its facts are gathered at the subject's
last token by the first layers, where ROME and MEMIT edit, is imposed in training by an attention
mask (`rows.attention_masks`), not an observation.

    keys.py      facts to learn                  fillers.py, names.py   invented facts around them
    corpus.py    sentences                       tokens.py, rows.py     tokens, rows, masks
    shapes.py    untrained models                training.py            training loop
    recall.py    measured recall (report.py)     store.py               cache of trained organisms

Importing this imports no torch; `train` does.
"""

from __future__ import annotations

import random

from ...loaders.records import KnowledgeGraph
from .config import ARCHITECTURES, OrganismConfig
from .corpus import Corpus
from .keys import learnt
from .report import FactRecall, RecallReport
from .store import Organism, train

__all__ = [
    "ARCHITECTURES",
    "FactRecall",
    "Organism",
    "OrganismConfig",
    "RecallReport",
    "sentences",
    "train",
]


def sentences(graph: KnowledgeGraph, *, seed: int = 0, n: int = 2000) -> list[str]:
    """The first `n` sentences of the training text of this graph's organism.

    Used as the text of covariance statistics. Facts recur in other words from epoch to epoch,
    together with the invented facts around them.

    Args:
        graph: any graph with facts.
        seed: of wording and order.
        n: number of sentences.
    """
    rng = random.Random(seed)
    graph = learnt(graph)
    corpus = Corpus(graph, 1)
    corpus = Corpus(graph, 2) if len(corpus.keys) <= 150 else corpus
    texts: list[str] = []
    while len(texts) < n and corpus.keys:
        texts += [sentence.text for sentence in corpus.epoch(rng)]
    return texts[:n]
