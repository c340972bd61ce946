"""A fact about the object, asked through the edited fact: two steps in one question.

`phrase` puts the noun phrase of the first question into the second cloze, `2-shot` asks with "Let X
be the answer to the question …". The control asks the second cloze of a blank. `turns` asks the two
questions in one conversation: the second is about the name that the model gave to the first. No
name that could be handed on is not a wrong answer, and is counted by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...editing.probe.prompts import QUESTION
from ...loaders.records import SUBJECT_SLOT, Fact, as_template, fill
from . import examples
from .context import OPTIONS, Context
from .examples import BLANK, LET_X
from .generated import SHORT
from .grammar import nested, phrase
from .material import (
    Answer,
    LogP,
    NextTurn,
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
PHRASE, CONTROL, TURNS = "phrase", "blank", "turns"
VARIANTS = (
    Variant(PHRASE, "rank", further="ln P(end | chain) − ln P(end | blank)"),
    Variant("2-shot", "rank", examples=2, further="ln P(end | chain) − ln P(end | blank)"),
    Variant(CONTROL, "rank", control=True),
    Variant(TURNS, "stop", further="handed on", on_request=True),
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
    second = second_question(end)
    text = LET_X.format(question_of(target.fact), fill(second, "X"))
    shown = context.examples(examples.chains, variant.examples)
    return examples_first(shown, QUESTION.format(question=text))


def second_question(end: Fact) -> str:
    """The question of the chain's last fact, with `{}` for its subject.

    Raises:
        NotAsked: it has none, or the question does not name its subject.
    """
    found = as_template(question_of(end), end.subject)
    if SUBJECT_SLOT not in found:
        raise NotAsked("the second question does not name its subject")
    return found


def conversations(target: Target, context: Context) -> list[Unit]:
    """One conversation a chain: the second question is about the name that the model gave.

    Raises:
        NotAsked: the model has no chat template.
    """
    if not context.chat:
        raise NotAsked("the model has no chat template")
    fact = target.fact
    alike = {each.object for each in context.facts if each.relation == fact.relation}
    names = tuple(dict.fromkeys((*target.options, *sorted(alike))))
    first = Row(Prompt("", user=SHORT + question_of(fact)), names)
    return [
        Unit((first,), (fact, end), then=NextTurn(SHORT + second_question(end), options))
        for end, options in ends(target, context)
    ]


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One unit a chain: its prompt, then that of the control; or its conversation."""
    question_of(target.fact)
    if variant.name == TURNS:
        return conversations(target, context)
    out = []
    for end, options in ends(target, context):
        texts = dict.fromkeys((composed(target, end, context, variant), fill(end.prompt, BLANK)))
        rows = tuple(Row(Prompt(text), options) for text in texts)
        out.append(Unit(rows, (target.fact, end)))
    return out


def score(values: LogP | Sequence[Answer], target: Target, variant: Variant) -> Outcome:
    """By the rank of the chain's end; `further` is the gain over the control.

    Of a conversation by what the second answer gives. Where the first one handed no name on, the
    outcome is undecided; `further` is 1 or 0.
    """
    if variant.name == TURNS:
        return _of_turns(cast("Sequence[Answer]", values), target)
    values = cast("LogP", values)
    gain = difference(values[0][0], values[1][:1]) if len(values) > 1 else None
    return by_options(values[0], target, edited=target.new is not None, further=gain)


def _of_turns(answers: Sequence[Answer], target: Target) -> Outcome:
    second = answers[1:]
    text, length = " → ".join(a.text for a in answers), sum(a.tokens for a in answers)
    if not second:
        chance = 1 / len(target.options)
        return Outcome(None, None, None, None, chance, further=0.0, text=text, length=length)
    given = [None if each is None else float(each) for each in second[0].gives]
    return Outcome(
        p=given[0],
        p_old=given[1] if target.new else None,
        margin=None,
        right=given[0],
        chance=1 / len(given),
        further=1.0,
        text=text,
        length=length,
    )
