"""The subject asked from the object, as a blank to fill in."""

from __future__ import annotations

import math

from ...editing.joint import joined
from ...loaders.records import Fact, fill
from . import examples
from .context import OPTIONS, Context
from .examples import BLANK, FILL
from .material import (
    LogP,
    NotAsked,
    Outcome,
    Prompt,
    Row,
    Target,
    Unit,
    Variant,
    difference,
    examples_first,
)

VERSION = 1
NEEDS = ("inverse",)
CONTROL = "no-object"
VARIANTS = (
    Variant("0-shot", "rank"),
    Variant("3-shot", "rank", examples=3),
    Variant(CONTROL, "rank", control=True),
)


def blank(fact: Fact, name: str | None) -> str:
    """The sentence with a blank for its subject; without an object if there is no name."""
    cloze = fill(fact.prompt, BLANK)
    return FILL.format(f"{cloze.rstrip() if name is None else joined(cloze, name)}.")


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt; of an edit one with the new object and one with the old one."""
    fact = target.fact
    if not target.new and len(context.subjects.get((fact.relation, fact.object), ())) != 1:
        raise NotAsked("another subject has the object too")
    others = context.other_subjects(target, OPTIONS - 1)
    if not others:
        raise NotAsked("no other subject of the relation has another object")
    shown = context.examples(examples.blanks, variant.examples)
    names = (target.new, fact.object) if target.new else (fact.object,)
    texts = [blank(fact, None if variant.control else name) for name in names]
    rows = (Row(Prompt(examples_first(shown, text)), (fact.subject, *others)) for text in texts)
    return [Unit(tuple(rows), (fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the rank of the subject; of an edit the margin is that of the new over the old object."""
    own = values[0]
    edited = target.new is not None
    return Outcome(
        p=math.exp(own[0]),
        p_old=math.exp(values[1][0]) if edited else None,
        margin=difference(own[0], values[1][:1] if edited else own[1:]),
        right=float(own[0] > max(own[1:])),
        chance=1 / len(own),
    )
