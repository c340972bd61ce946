"""The questions that a data set asks after an edit, answered by both models in their own words.

Each is asked greedily, without examples, and its first sentence is judged by the rules of
`editing.probe.matching`. Questions of one criterion and group are one item (`cypher/checks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.rows.checks import CheckCounts
from ...editing.probe.matching import contains, first_sentence, gives
from ...editing.probe.prompts import uses_chat
from ...loaders.records import digest
from .conversation import Answerer, Asked

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ...loaders.records import Check
    from .record import Record
    from .resolved import Resolved

PROTOCOL = 1
"""Part of an edit's identity: raise it when the rules change."""

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
    change = effect.prompt_change if effect else None
    ask = Answerer(resolved.model.loaded, chat, change, resolved.runtime.progress)
    turns = [((Asked(text, cloze=not text.endswith("?")), ""),) for text in prompts]
    return dict(zip(prompts, ask(turns), strict=True))


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
            "old_pre": _old(check, pre[check.prompt]),
            "old_post": _old(check, post[check.prompt]),
            "stated_pre": check.pre,
            "stated_post": check.post,
        }
        for place, check in enumerate(checks)
    ]


def verdict(check: Check, text: str | None) -> bool | None:
    """Return True if a reply has an accepted answer, and all further ones; None: undecided.

    Answers that were right before the edit, and false ones, are the other options: the first that
    a reply mentions is its answer.
    """
    if text is None or not check.answers:
        return None
    others = [name for name in (*check.old_answers, *check.wrong) if name not in check.answers]
    said = first_sentence(text, [*check.answers, *others])
    further = (any(contains(said, name) for name in names) for names in check.further)
    return _all([gives(said, check.answers, others), *further])


def _old(check: Check, text: str | None) -> bool | None:
    if text is None or not check.old_answers:
        return None
    others = [name for name in (*check.answers, *check.wrong) if name not in check.old_answers]
    return gives(first_sentence(text, [*check.old_answers, *others]), check.old_answers, others)


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
