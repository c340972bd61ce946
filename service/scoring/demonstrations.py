"""Demonstrations for in-context editing, built from the stored graph.

A demonstration must not contain anything that will be measured. So none is derived from a fact in
the rewrite's scope (Preservation and IFR probe those), and, unless the method's hyperparameters
say `exclude_named: false`, none is about its subject or names the subject, target_true or
target_new by any of their names. Of each other fact whose relation has
further objects, one of these, drawn by seed, becomes the new object: a counterfactual of the same
kind as the edit.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...editing.in_context.demonstrations import Demonstration
from ...editing.joint import joined
from ...editing.probe.matching import contains
from ...editing.probe.prompts import QUESTION, Renderer, prompt_ids
from ...loaders.records import (
    Fact,
    KnowledgeGraph,
    RewriteRequest,
    digest,
    fill,
    unique,
)
from .scope import Pairs, Scope

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings
    from .resolved import Resolved

SLACK = 2
"""Tokens that a text may gain where two of its parts meet."""


def state_for(resolved: Resolved) -> dict[str, Any]:
    """The state that `ike` takes: `demonstrations`, and `room` for the questions to come."""
    request, scope = resolved.request, resolved.scope
    graph = resolved.runtime.content_of(resolved.dataset)
    measured = {fact.id for fact in scope.facts}
    tokenizer = resolved.model.loaded.tokenizer
    return {
        "demonstrations": build(
            graph,
            request.rewrite,
            measured,
            seed=request.seed,
            exclude_named=getattr(resolved.hparams, "exclude_named", True),
        ),
        "room": room_for(tokenizer, request.rewrite, scope, resolved.near, request.probe),
    }


def described(state: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a state: digest and number of the demonstrations, and how many were used."""
    pool: Sequence[Demonstration] = state["demonstrations"]
    described = {
        "digest": digest([asdict(d) for d in pool]),
        "available": len({d.source for d in pool}),
        "room": state["room"],
    }
    return described | {key: state[key] for key in ("used", "kinds") if key in state}


def build(
    graph: KnowledgeGraph,
    rewrite: RewriteRequest,
    measured: Collection[str],
    *,
    seed: int,
    exclude_named: bool = True,
) -> tuple[Demonstration, ...]:
    """Copy, update and retain demonstrations of every fact that may be shown, in the graph's order.

    `update` asks by a paraphrase of the fact, or by its question where it has none; `retain` asks
    for a fact of another subject and relation, whose answer is the true one. A fact without either
    has no `update`, and one whose relation has no other object has no example at all.

    Args:
        measured: ids of the facts that will be probed.
        seed: of the draws; each fact has a stream of its own.
        exclude_named: True if facts that name the subject or a target are left out too.
    """
    edited = (rewrite.subject, rewrite.target_true, rewrite.target_new) if exclude_named else ()
    hidden = unique(
        name for entity in edited for name in (entity.strip(), *graph.aliases(entity.strip()))
    )
    shown = [
        fact
        for fact in sorted(graph.facts, key=lambda f: f.id)
        if fact.id not in measured and not contains(_sentence(fact), hidden)
    ]
    objects: dict[str, set[str]] = {}
    answers: dict[tuple[str, str], set[str]] = {}
    for fact in graph.facts:
        objects.setdefault(fact.relation, set()).add(fact.object)
        answers.setdefault((fact.subject, fact.relation), set()).add(fact.object)
    built: list[Demonstration] = []
    for fact in shown:
        draw = random.Random(digest([seed, fact.id]))
        others = sorted(objects[fact.relation] - answers[fact.subject, fact.relation])
        others = [name for name in others if name != fact.subject and not contains(name, hidden)]
        if others:
            built += _of(fact, draw.choice(others), shown, draw)
    return tuple(d for d in built if not contains(d.text, hidden))


def room_for(
    tokenizer: Any, rewrite: RewriteRequest, scope: Scope, near: Pairs, probe: ProbeSettings
) -> int:
    """Tokens of the longest question, as it is asked, and of the longest answer."""
    renderer = Renderer(tokenizer, probe.chat)
    rendered = [renderer.cloze(text) for text in _clozes(rewrite, scope.facts, near)]
    rendered += [renderer.question(text) for text in _questions(rewrite, scope.facts)]
    question = max(len(prompt_ids(tokenizer, text)) for text in rendered)
    names = [rewrite.target_true, rewrite.target_new, *(f.object for f in scope.facts)]
    names += [answer for _, answer in near]
    names += [alias for name in list(names) for alias in scope.aliases.get(name, ())]
    encoded = tokenizer([f" {name}" for name in unique(names)], add_special_tokens=False)
    answer = max(map(len, encoded["input_ids"]))
    return question + max(answer, probe.max_new_tokens) + SLACK


def _of(
    fact: Fact, new: str, shown: Sequence[Fact], draw: random.Random
) -> Iterator[Demonstration]:
    """The demonstrations of a fact with its new object."""
    prompt = _fill(fact.prompt, fact.subject)
    stated = joined(prompt, new)
    yield Demonstration("copy", fact.id, stated, prompt, new)
    other_words = [_fill(text, fact.subject) for text in fact.paraphrases]
    other_words = other_words or [QUESTION.replace("{question}", q) for q in fact.questions]
    if other_words:
        yield Demonstration("update", fact.id, stated, draw.choice(other_words), new)
    apart = [f for f in shown if f.subject != fact.subject and f.relation != fact.relation]
    if apart:
        other = draw.choice(apart)
        yield Demonstration(
            "retain", fact.id, stated, _fill(other.prompt, other.subject), other.object
        )


def _fill(prompt: str, subject: str) -> str:
    return fill(prompt, subject).lstrip()


def _sentence(fact: Fact) -> str:
    """A fact's sentence with all that it names."""
    return f"{_fill(fact.prompt, fact.subject)} {fact.subject} {fact.object}"


def _clozes(rewrite: RewriteRequest, facts: Iterable[Fact], near: Pairs) -> list[str]:
    """Every cloze that a score of the rewrite may ask."""
    own = [_fill(text, rewrite.subject) for text in (rewrite.prompt, *rewrite.paraphrases)]
    theirs = [_fill(text, f.subject) for f in facts for text in (f.prompt, *f.paraphrases)]
    return list(unique((*own, *theirs, *(prompt for prompt, _ in near))))


def _questions(rewrite: RewriteRequest, facts: Iterable[Fact]) -> list[str]:
    return list(unique((rewrite.question or "", *(f.question or "" for f in facts))))
