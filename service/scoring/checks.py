"""The questions that a data set asks after an edit, answered by both models in their own words.

Each is asked greedily, in a chat or behind three examples, and the first sentence of the reply is
judged by the rules of `editing.probe.matching`. Questions of one criterion and group are one item
(`cypher/checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.rows.checks import CheckCounts
from ...editing.probe.matching import contains, first_sentence, gives
from ...editing.probe.prompts import QUESTION, Rendered, Renderer, uses_chat
from ...loaders.records import digest
from ..forms import examples
from ..forms.material import examples_first
from ..models.checks import TRUTH_RATIO
from .battery import context_of

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...loaders.records import Check
    from ..graphs.datasets import Dataset
    from .record import Record
    from .resolved import Resolved
    from .runtime import Runtime

PROTOCOL = 2
"""Part of an edit's identity: raise it when the rules change."""

MAX_TOKENS = 32
"""Of an answer: a name, or a sentence around it."""
EXAMPLES = 3

Texts = Mapping[str, "str | None"]
"""Answers by prompt; None where the prompt is too long for the model."""


@dataclass(frozen=True, slots=True)
class Replies:
    """The answers of a model to checks.

    Attributes:
        ratios: truth ratios of the checks that ask for one; without those that have none.
    """

    texts: Texts
    ratios: Mapping[Check, float] = field(default_factory=dict)


def both(resolved: Resolved, effect: EditEffect) -> list[dict[str, Any]]:
    """Ask both models, as `cypher/checks/write.cypher` takes it; the model is restored.

    Raises:
        ProbeError: NaN from the model, or a chat template that rejects a turn.
    """
    from ...editing.deltas import applied

    checks, loaded = resolved.request.rewrite.checks, resolved.model.loaded
    if not checks:
        return []
    runtime, dataset, chat = resolved.runtime, resolved.dataset, resolved.request.chat
    pre = unedited(runtime, dataset, loaded, checks, chat)
    if effect.changes_nothing:
        return judged(checks, pre, pre)
    change = effect.prompt_change
    with applied(loaded.model, effect):
        return judged(checks, pre, ask(runtime, dataset, loaded, checks, chat, change=change))


def unedited(
    runtime: Runtime, dataset: Dataset, loaded: LoadedModel, checks: Sequence[Check], chat: str
) -> Replies:
    """The replies of a model before an edit, to the conditions too; asked once."""
    in_chat = uses_chat(loaded.tokenizer, chat)
    conditions = [each.prompt for check in checks for each in check.conditions]
    asked = digest([[check.stated for check in checks], conditions])
    key = ("checks", loaded.info.digest, loaded.info.dtype, f"{in_chat}", asked)
    return runtime.memoised(
        key, lambda: ask(runtime, dataset, loaded, checks, chat, conditions=conditions)
    )


def ask(
    runtime: Runtime,
    dataset: Dataset,
    loaded: LoadedModel,
    checks: Sequence[Check],
    chat: str,
    *,
    conditions: Sequence[str] = (),
    change: Callable[[str], str] | None = None,
) -> Replies:
    """The replies of a model, in the state that it is in.

    Args:
        conditions: further prompts.
        change: of an in-context edit, applied to the plain prompts.
    """
    from ...editing.probe.decoding import position_limit
    from ...editing.probe.greedy import written
    from ...editing.probe.prompts import prompt_ids

    in_chat = uses_chat(loaded.tokenizer, chat)
    names = context_of(runtime, dataset, loaded).names
    limit = position_limit(loaded.model)
    renderer = Renderer(loaded.tokenizer, chat, change)
    prompts = list(dict.fromkeys([*(check.prompt for check in checks), *conditions]))
    asked = {text: _rendered(renderer, text, None if in_chat else names) for text in prompts}
    kept = [
        text
        for text, prompt in asked.items()
        if limit is None or len(prompt_ids(loaded.tokenizer, prompt)) + MAX_TOKENS <= limit
    ]
    texts = written(loaded, [asked[t] for t in kept], max_new_tokens=MAX_TOKENS, line=not in_chat)
    answers: dict[str, str | None] = dict.fromkeys(prompts)
    answers |= {text: each.text for text, each in zip(kept, texts, strict=True)}
    rated = [check for check in checks if check.criterion == TRUTH_RATIO and check.prompt in kept]
    return Replies(answers, truth_ratios(loaded, {check: asked[check.prompt] for check in rated}))


def truth_ratios(loaded: LoadedModel, asked: Mapping[Check, Rendered]) -> dict[Check, float]:
    """TOFU's truth ratio of each check (Maini et al. 2024, section 2.2.2, Eq. 1).

    It is the mean over the false answers of P(answer)^(1 / its tokens), divided by that of the
    right one. A check without false answers, whose right answer has probability 0, or one of whose
    answers is too long for the model, has none.
    """
    from ...editing.evaluation_mode import evaluating
    from ...editing.probe.decoding import position_limit
    from ...editing.probe.likelihood import likelihoods
    from ...editing.probe.prompts import Query, answer_ids, prompt_ids

    limit, tokenizer = position_limit(loaded.model), loaded.tokenizer

    def fits(check: Check, prompt: Rendered) -> bool:
        ids = prompt_ids(tokenizer, prompt)
        names = (check.answers[0], *check.wrong)
        longest = max(len(answer_ids(tokenizer, prompt, ids, name)) for name in names)
        return limit is None or len(ids) + longest <= limit

    rated = {
        check: prompt
        for check, prompt in asked.items()
        if check.wrong and check.answers and fits(check, prompt)
    }
    queries = [
        Query(check.prompt, prompt, (name,))
        for check, prompt in rated.items()
        for name in (check.answers[0], *check.wrong)
    ]
    if not queries:
        return {}
    with evaluating(loaded.model):
        values = iter([each.likelihood_norm for each in likelihoods(loaded, queries)])
    found = {}
    for check in rated:
        right, wrong = next(values), [next(values) for _ in check.wrong]
        if right > 0:
            found[check] = fmean(wrong) / right
    return found


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


def judged(checks: Sequence[Check], before: Replies, after: Replies) -> list[dict[str, Any]]:
    """The rows of checks whose prompts both models answered."""
    pre, post = before.texts, after.texts
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
            "ratio_pre": before.ratios.get(check),
            "ratio_post": after.ratios.get(check),
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
    record.db.atomically(lambda tx: stored(tx, record.lease.assert_owned(tx.run), answers))


def stored(tx: Tx, edit: str, answers: Sequence[dict[str, Any]]) -> None:
    """Store the answers to the checks of an edit whose owner is known."""
    tx.run(rows.WrittenRow, "checks/write", owner=edit, rows=answers)
