"""The cloze behind up to three sentences of the graph.

Unrelated facts are the control: they raise the probability by themselves, as they show the pattern.
Behind facts of the old object an edit may lose to it: the old object is revived.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...editing.joint import joined
from ...loaders.records import Fact
from .cloze import sentence
from .context import Context
from .material import LogP, NotAsked, Outcome, Prompt, Row, Target, Unit, Variant, by_options

VERSION = 1
NEEDS = ("other facts",)
SENTENCES = 3
UNRELATED, SUBJECT, OBJECT, STATED = "unrelated", "subject", "object", "stated"
REVIVAL = "old object wins behind the prefix only"
VARIANTS = (
    Variant(UNRELATED, control=True, further=REVIVAL),
    Variant(SUBJECT, further=REVIVAL),
    Variant(OBJECT, further=REVIVAL),
    Variant(STATED, further=REVIVAL),
)


def stated(fact: Fact) -> str:
    """A fact as a sentence."""
    return f"{joined(sentence(fact), fact.object)}."


def before(target: Target, context: Context, variant: Variant) -> list[Fact]:
    """The facts of the prefix; of an edit `object` is the old one.

    Raises:
        NotAsked: the graph has none.
    """
    fact = target.fact
    if variant.name == STATED:
        if not target.new:
            raise NotAsked("the fact is not edited: its own sentence gives the answer")
        return [fact]
    pools: dict[str, Iterable[Fact]] = {
        UNRELATED: (
            each for each in context.facts
            if not {each.subject, each.object} & {fact.subject, *target.options}
        ),
        SUBJECT: (
            each for each in context.about.get(fact.subject, ())
            if each.relation != fact.relation and each.object not in target.options
        ),
        OBJECT: (
            each for each in context.naming.get(fact.object, ())
            if not {each.subject, each.object} & {fact.subject, target.new}
        ),
    }  # fmt: skip
    found = context.drawn(pools[variant.name], SENTENCES, VERSION, variant.name, fact.id)
    if not found:
        raise NotAsked(f"the graph has no facts for the prefix {variant.name!r}")
    return found


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt with the prefix; of an edit the cloze too."""
    shown = before(target, context, variant)
    plain = sentence(target.fact)
    prompts = [" ".join((*map(stated, shown), plain)), *([plain] if target.new else [])]
    rows = tuple(Row(Prompt(text), target.options) for text in prompts)
    return [Unit(rows, (target.fact,), given=len(shown))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By likelihood behind the prefix; `further` is 1 where the prefix revives the old object."""
    edited = target.new is not None
    revived = None
    if edited:
        (new, old, *_), (plain_new, plain_old, *_) = values
        revived = float(old > new and plain_new > plain_old)
    return by_options(values[0], target, edited=edited, further=revived)
