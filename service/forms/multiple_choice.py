"""The question with its options as a list, in all cyclic orders; answered by text or by letter.

Both are candidates behind the same prompts. An option has every position once, so that a liking for
a position cancels in the mean; such a model is right in few facts in all orders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from string import ascii_uppercase

from .context import Context
from .material import (
    LogP,
    NotAsked,
    Outcome,
    Prompt,
    Row,
    Target,
    Unit,
    Variant,
    by_options,
)
from .question import question_of

VERSION = 1
NEEDS = ("question", "3 options")
LEAST = 3
TEXT, LETTER = "text", "letter"
VARIANTS = tuple(
    Variant(name, "orders", further="right in all orders", on_request=True)
    for name in (TEXT, LETTER)
)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt for each cyclic order of the options, which begin in alphabetical order."""
    question = question_of(target.fact)
    if len(target.options) < LEAST:
        raise NotAsked("the fact has fewer than three options")
    first = sorted(target.options)
    rows = []
    for shift in range(len(first)):
        order = first[shift:] + first[:shift]
        letters = dict(zip(order, ascii_uppercase, strict=False))
        lines = (f"{letter}. {name}" for name, letter in letters.items())
        prompt = Prompt("\n".join((f"Question: {question}", *lines, "Answer:")))
        if variant.name == LETTER:
            rows.append(Row(prompt, tuple(letters[n] for n in target.options), words=True))
        else:
            rows.append(Row(prompt, target.options))
    return [Unit(tuple(rows), (target.fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the mean over the orders of each option's fraction of the probability of all options."""
    shares = [_shares(row) for row in values]
    means = [fmean(column) for column in zip(*shares, strict=True)]
    every = all(own > max(others) for own, *others in shares)
    logs = [math.log(share) if share else -math.inf for share in means]
    return by_options(logs, target, edited=target.new is not None, further=float(every))


def _shares(row: Sequence[float]) -> list[float]:
    """The probabilities of a row divided by their sum; 0 where that is 0."""
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    weights = [math.exp(value - highest) for value in row]
    return [weight / sum(weights) for weight in weights]
