"""A fact about the object, asked through the edited fact: two steps in one question.

`phrase` puts the noun phrase of the first question into the second cloze, `2-shot` asks with "Let X
be the answer to the question …". The control asks the second cloze of a blank.
"""

from __future__ import annotations

from ...editing.probe.prompts import QUESTION
from ...loaders.records import SUBJECT_SLOT, Fact, as_template, fill
from . import examples
from .context import OPTIONS, Context
from .examples import BLANK, LET_X
from .grammar import nested, phrase
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
    difference,
    examples_first,
)
from .question import question_of

VERSION = 1
NEEDS = ("question", "chains")
CHAINS = 3
"""Second facts of one fact at most; which ones is decided by the graph and the fact."""
PHRASE, CONTROL = "phrase", "blank"
VARIANTS = (
    Variant(PHRASE, "rank", further="ln P(end | chain) − ln P(end | blank)"),
    Variant("2-shot", "rank", examples=2, further="ln P(end | chain) − ln P(end | blank)"),
    Variant(CONTROL, "rank", control=True),
)


def ends(target: Target, context: Context) -> list[tuple[Fact, tuple[str, ...]]]:
    """Facts about the right object, each with its options; of an edit the old end is the second.

    Raises:
        NotAsked: there is none whose end tells the chains apart.
    """
    fact, found = target.fact, []
    for each in context.drawn(context.about.get(target.right, ()), 1000, fact.id):
        right: tuple[str, ...] = (each.object,)
        if target.new:
            old = context.objects.get((fact.object, each.relation), ())
            if not old or any(other.object == each.object for other in old):
                continue
            right = (each.object, old[0].object)
        others = context.foils(each.subject, each.relation, right, OPTIONS - len(right))
        options = (*right, *others)
        if each.object != fact.subject and len(options) > 1:
            found.append((each, options))
    if not found:
        raise NotAsked("no second fact continues the chain")
    return found[:CHAINS]


def inner(fact: Fact) -> str:
    """The noun phrase of a fact's object, by its question.

    Raises:
        NotAsked: no rule gives one.
    """
    found = phrase(as_template(question_of(fact), fact.subject))
    if found is None:
        raise NotAsked("no rule makes a noun phrase of the question")
    return fill(found, fact.subject)


def composed(target: Target, end: Fact, context: Context, variant: Variant) -> str:
    """The prompt of one chain.

    Raises:
        NotAsked: a question is missing, or does not name its subject.
    """
    if variant.name == CONTROL:
        return fill(end.prompt, BLANK)
    if variant.name == PHRASE:
        return nested(end.prompt, inner(target.fact))
    second = as_template(question_of(end), end.subject)
    if SUBJECT_SLOT not in second:
        raise NotAsked("the second question does not name its subject")
    text = LET_X.format(question_of(target.fact), fill(second, "X"))
    shown = context.examples(examples.chains, variant.examples)
    return examples_first(shown, QUESTION.format(question=text))


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One unit a chain: its prompt, then that of the control."""
    question_of(target.fact)
    out = []
    for end, options in ends(target, context):
        texts = dict.fromkeys((composed(target, end, context, variant), fill(end.prompt, BLANK)))
        rows = tuple(Row(Prompt(text), options) for text in texts)
        out.append(Unit(rows, (target.fact, end)))
    return out


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the rank of the chain's end; `further` is the gain over the control."""
    gain = difference(values[0][0], values[1][:1]) if len(values) > 1 else None
    return by_options(values[0], target, edited=target.new is not None, further=gain)
