"""The fact's other clozes; probabilities are means over them."""

from __future__ import annotations

import math
from statistics import fmean

from ...loaders.records import fill
from .context import Context
from .material import LogP, NotAsked, Outcome, Prompt, Row, Target, Unit, Variant, likeliest

VERSION = 1
NEEDS = ("paraphrases",)
VARIANTS = (Variant("0-shot"),)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt a paraphrase."""
    fact = target.fact
    if not fact.paraphrases:
        raise NotAsked("the fact has no paraphrases")
    rows = (Row(Prompt(fill(p, fact.subject)), target.options) for p in fact.paraphrases)
    return [Unit(tuple(rows), (fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the mean likelihood of each option over the paraphrases."""
    means = (fmean(map(math.exp, column)) for column in zip(*values, strict=True))
    return likeliest([[math.log(mean) if mean else -math.inf for mean in means]], target)
