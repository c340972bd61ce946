"""The questions that a data set asks after an edit, answered by both models in their own words.

Each is asked greedily, in a chat or behind three examples, and the first sentence of the reply is
judged by the rules of `editing.probe.matching`. Questions of one criterion and group are one item
(`cypher/checks`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.rows.checks import CheckCounts
from ...editing.probe.matching import contains, first_sentence, gives
from ...editing.probe.prompts import QUESTION, Rendered, Renderer, uses_chat
from ...loaders.records import digest
from ..forms import examples
from ..forms.material import examples_first
from .battery import context_of

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ...loaders.records import Check
    from .record import Record
    from .resolved import Resolved

PROTOCOL = 1
"""Part of an edit's identity: raise it when the rules change."""

MAX_TOKENS = 32
"""Of an answer: a name, or a sentence around it."""
EXAMPLES = 3

Texts = Mapping[str, "str | None"]
"""Answers by prompt; None where the prompt is too long for the model."""


def both(resolved: Resolved, effect: EditEffect) -> list[dict[str, Any]]:
    """Ask both models, as `cypher/checks/write.cypher` takes it; the model is restored.

    Raises:
        ProbeError: NaN from the model, or a chat template that rejects a turn.
    """
    from ...editing.deltas import applied

    checks, loaded = resolved.request.rewrite.checks, resolved.model.loaded
    if not checks:
        return []
    asked = list(dict.fromkeys(check.prompt for check in checks))
    conditions = [each.prompt for check in checks for each in check.conditions]
    chat = uses_chat(loaded.tokenizer, resolved.request.chat)
    first = list(dict.fromkeys([*asked, *conditions]))
    key = ("checks", loaded.info.digest, loaded.info.dtype, f"{chat}", digest(first))
    pre = resolved.runtime.memoised(key, lambda: _answers(resolved, first, chat))
    if effect.changes_nothing:
        return judged(checks, pre, pre)
    with applied(loaded.model, effect):
        return judged(checks, pre, _answers(resolved, asked, chat, effect))


def _answers(
    resolved: Resolved, prompts: Sequence[str], chat: bool, effect: EditEffect | None = None
) -> Texts:
    """The answer to each prompt, in the state that the model is in."""
    from ...editing.probe.decoding import position_limit
    from ...editing.probe.greedy import written
    from ...editing.probe.prompts import prompt_ids

    loaded, change = resolved.model.loaded, effect.prompt_change if effect else None
    names = context_of(resolved.runtime, resolved.dataset, loaded).names
    limit = position_limit(loaded.model)
    renderer = Renderer(loaded.tokenizer, resolved.request.chat, change)
    asked = {text: _rendered(renderer, text, None if chat else names) for text in prompts}
    kept = [
        text
        for text, prompt in asked.items()
        if limit is None or len(prompt_ids(loaded.tokenizer, prompt)) + MAX_TOKENS <= limit
    ]
    texts = written(loaded, [asked[t] for t in kept], max_new_tokens=MAX_TOKENS, line=not chat)
    answers: dict[str, str | None] = dict.fromkeys(prompts)
    return answers | {text: each.text for text, each in zip(kept, texts, strict=True)}


def _rendered(renderer: Renderer, text: str, names: Collection[str] | None) -> Rendered:
    """A question, or a sentence to complete, as the model reads it.

    Args:
        names: of the graph, which no example shares; None: in a chat, without examples.
    """
    is_question = text.endswith("?")
    if names is None:
        return renderer.question(text) if is_question else renderer.cloze(text)
    shown = (examples.questions if is_question else examples.clozes)(names, EXAMPLES)
    asked = QUESTION.replace("{question}", text) if is_question else text
    return renderer.cloze(examples_first(shown, asked))


def judged(checks: Sequence[Check], pre: Texts, post: Texts) -> list[dict[str, Any]]:
    """The rows of checks whose prompts both models answered."""
    return [
        {
            "criterion": check.criterion,
            "item": check.group or f"question {place}",
            "every": check.every,
            "place": place,
            "prompt": check.prompt,
            "answers": list(check.answers),
            "met": _all([verdict(each, pre[each.prompt]) for each in check.conditions]),
            "text_pre": pre[check.prompt] or "",
            "text_post": post[check.prompt] or "",
            "right_pre": verdict(check, pre[check.prompt]),
            "right_post": verdict(check, post[check.prompt]),
            "old_pre": _gives(check, pre[check.prompt], check.old_answers),
            "old_post": _gives(check, post[check.prompt], check.old_answers),
            "stated_pre": check.pre,
            "stated_post": check.post,
        }
        for place, check in enumerate(checks)
    ]


def verdict(check: Check, text: str | None) -> bool | None:
    """Return True if a reply has an accepted answer, and all further ones; None: undecided."""
    found = _gives(check, text, check.answers)
    if text is None or not (check.answers and check.further):
        return found
    said = first_sentence(text, _names(check))
    return _all([found, *(contains(said, names) for names in check.further)])


def _gives(check: Check, text: str | None, answers: Sequence[str]) -> bool | None:
    """Return True if a reply gives one of some answers; None without any, or undecided.

    All other answers of the check are its options: the first that a reply mentions is its answer.
    """
    if text is None or not answers:
        return None
    names = _names(check)
    others = [name for name in names if name not in answers]
    return gives(first_sentence(text, names), answers, others)


def _names(check: Check) -> tuple[str, ...]:
    """Every answer of a check: accepted, right before the edit, and false ones."""
    return (*check.answers, *check.old_answers, *check.wrong)


def _all(verdicts: Sequence[bool | None]) -> bool | None:
    if False in verdicts:
        return False
    return None if None in verdicts else True


def measured(db: Database, edit: str) -> list[CheckCounts]:
    """The outcome of each criterion of an edit; [] of one without checks."""
    return db.read(rows.CheckCounts, "checks/outcome", owner=edit)


def write(record: Record, answers: Sequence[dict[str, Any]]) -> None:
    """Store the answers to the checks of an edit.

    Raises:
        LeaseLostError, JobInterrupt: as `Record.stage`.
    """
    record.db.atomically(
        lambda tx: tx.run(
            rows.WrittenRow,
            "checks/write",
            owner=record.lease.assert_owned(tx.run),
            rows=answers,
        )
    )
