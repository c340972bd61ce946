"""The cloze behind "It is true that" and "It is false that".

A high difference shows that the frame is read, not that the model gives a verdict: it is a ratio of
two clozes.
"""

from __future__ import annotations

import math

from .cloze import sentence
from .context import Context
from .grammar import clause
from .material import (
    LogP,
    Outcome,
    Prompt,
    Row,
    Target,
    Unit,
    Variant,
    by_options,
    compared,
    difference,
)

VERSION = 1
NEEDS = ()
TRUE, FALSE, BOTH = "true", "false", "difference"
VARIANTS = (
    Variant(TRUE),
    Variant(FALSE, "rank", has_accuracy=False, further="P(false) / P(cloze)"),
    Variant(BOTH, "pairs", further="ln P(true) − ln P(false)"),
)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt, and for `false` the cloze behind it, for `difference` both frames."""
    plain = sentence(target.fact)
    said = plain if context.begins_with_name(plain) else clause(plain)
    true, false = (f"It is {word} that {said}" for word in ("true", "false"))
    prompts = {TRUE: (true,), FALSE: (false, plain), BOTH: (true, false)}[variant.name]
    return [Unit(tuple(Row(Prompt(text), target.options) for text in prompts), (target.fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By likelihood behind one frame; of both by the pairs whose right object has more."""
    edited = target.new is not None
    if variant.name == TRUE:
        return by_options(values[0], target, edited=edited)
    if variant.name == FALSE:
        stated = math.exp(values[1][0])
        kept = math.exp(values[0][0]) / stated if stated else None
        return by_options(values[0], target, edited=edited, further=kept)
    gains = [difference(true, [false]) for true, false in zip(*values, strict=True)]
    plain = by_options(values[0], target, edited=edited)
    return Outcome(
        plain.p, plain.p_old, *compared(gains, edited=edited), chance=0.5, further=gains[0]
    )
