"""What a model answers at the prompts of a request to append: P of each name, before and after.

P of a name is its `likelihood_norm`: the exponential of the mean log-probability of its tokens
after the prompt (PEAK, Ma et al. 2024, §3.2, normalised as in its code), of this name without its
aliases. The prompts are the edit prompt, the paraphrases and the prompts of locality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ....loaders.records import RewriteRequest, digest
from ..probe import Progress, filled

if TYPE_CHECKING:
    from ....editing.deltas import EditEffect
    from ....editing.models import LoadedModel
    from ..resolved import Resolved
    from ..scope import Pairs

PromptRole = Literal["prompt", "paraphrase", "locality"]
STAGE = "answers of the append"
LISTS = ("correct", "hard", "random")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A complete prompt of a request to append, and the names that are probed there.

    Attributes:
        right: at a prompt of locality, its right answer; there the lists are empty.
    """

    role: PromptRole
    text: str
    new: str
    correct: tuple[str, ...] = ()
    hard: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    right: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """target_new, then the others, in the order in which `PromptAnswers` are cut."""
        right = (self.right,) if self.right is not None else ()
        return (self.new, *self.correct, *self.hard, *self.random, *right)


@dataclass(frozen=True, slots=True)
class PromptAnswers:
    """P of each name at one prompt; the lists are in the order of the prompt's."""

    prompt: Prompt
    new: float
    correct: tuple[float, ...]
    hard: tuple[float, ...]
    random: tuple[float, ...]
    right: float | None


def prompts(rewrite: RewriteRequest, near: Pairs) -> list[Prompt]:
    """The prompts of a request: its own, its paraphrases', and those of locality.

    Args:
        near: complete prompts about other subjects, each with its right answer.
    """
    lists = (rewrite.correct, rewrite.hard, rewrite.random)

    def cloze(role: PromptRole, text: str) -> Prompt:
        return Prompt(role, filled(text, rewrite.subject), rewrite.target_new, *lists)

    return [
        cloze("prompt", rewrite.prompt),
        *(cloze("paraphrase", text) for text in rewrite.paraphrases),
        *(Prompt("locality", text, rewrite.target_new, right=name) for text, name in near),
    ]


def answers(
    loaded: LoadedModel,
    asked: Sequence[Prompt],
    *,
    chat: str = "auto",
    prompt_change: Callable[[str], str] | None = None,
    progress: Progress | None = None,
) -> list[PromptAnswers]:
    """P of every name at every prompt, in batches over both.

    Args:
        chat: whether the chat template is used, as in `ProbeSettings`.
        prompt_change: of an in-context edit, applied to the plain prompts.

    Raises:
        ProbeError: a name without tokens, a prompt too long, NaN; names the prompt.
        DeviceMemoryError: a single row does not fit.
    """
    from ....editing.evaluation_mode import evaluating
    from ....editing.probe.likelihood import likelihoods
    from ....editing.probe.prompts import Query, Renderer

    renderer = Renderer(loaded.tokenizer, chat, prompt_change)
    queries = [
        Query(f"{prompt.role} {place}", rendered, (name,))
        for place, prompt in enumerate(asked)
        for rendered in [renderer.cloze(prompt.text)]
        for name in prompt.names
    ]

    def done(finished: int, total: int) -> None:
        if progress is not None:
            progress(finished, total, STAGE)

    with evaluating(loaded.model):
        found = iter([each.likelihood_norm for each in likelihoods(loaded, queries, done=done)])
    return [_of_prompt(prompt, found) for prompt in asked]


def _of_prompt(prompt: Prompt, values: Iterator[float]) -> PromptAnswers:
    def take(names: Sequence[str]) -> tuple[float, ...]:
        return tuple(next(values) for _ in names)

    return PromptAnswers(
        prompt,
        new=next(values),
        correct=take(prompt.correct),
        hard=take(prompt.hard),
        random=take(prompt.random),
        right=next(values) if prompt.right is not None else None,
    )


def before(resolved: Resolved) -> list[PromptAnswers]:
    """The unedited model's answers, asked once for all edits of a request."""
    loaded, probe = resolved.model.loaded, resolved.request.probe
    asked = prompts(resolved.request.rewrite, resolved.near)
    key = digest([asdict(prompt) for prompt in asked])
    return resolved.runtime.memoised(
        (STAGE, loaded.info.digest, loaded.info.dtype, probe.chat, key),
        lambda: answers(loaded, asked, chat=probe.chat, progress=resolved.runtime.progress),
    )


def after(
    resolved: Resolved, effect: EditEffect, pre: Sequence[PromptAnswers]
) -> list[PromptAnswers]:
    """The edited model's answers; it is restored. An effect that changes nothing leaves them."""
    from ....editing.deltas import applied

    if effect.changes_nothing:
        return list(pre)
    loaded = resolved.model.loaded
    with applied(loaded.model, effect):
        return answers(
            loaded,
            [each.prompt for each in pre],
            chat=resolved.request.probe.chat,
            prompt_change=effect.prompt_change,
            progress=resolved.runtime.progress,
        )


def both(resolved: Resolved, effect: EditEffect) -> list[dict[str, Any]]:
    """The answers before and after an edit as `rows`; none where the request replaces an answer."""
    if resolved.request.rewrite.kind != "append":
        return []
    pre = before(resolved)
    return rows(pre, after(resolved, effect, pre))


def rows(pre: Sequence[PromptAnswers], post: Sequence[PromptAnswers]) -> list[dict[str, Any]]:
    """Both sides of each prompt, as cypher/append/write_answers.cypher takes them."""
    out = []
    for place, (old, now) in enumerate(zip(pre, post, strict=True)):
        prompt = old.prompt
        row: dict[str, Any] = {"place": place, "role": prompt.role, "text": prompt.text}
        row |= {"new_pre": old.new, "new_post": now.new}
        if prompt.right is not None:
            row |= {"right_pre": old.right, "right_post": now.right}
        else:
            for name in LISTS:
                row[name] = list(getattr(prompt, name))
                row[f"{name}_pre"] = list(getattr(old, name))
                row[f"{name}_post"] = list(getattr(now, name))
        out.append(row)
    return out
