"""Fluency and consistency of an edit: free texts of both models, stored and measured.

Off unless a score asks for it (`--generate`): a hundred tokens a prompt, twice, take longer than
all questions together. The prompts are those of the data set (CounterFact's `generation_prompts`);
else the rewrite's own prompt and paraphrases, which all begin with or speak of its subject. The
texts stay with the edit in the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.records import RewriteRequest, fill, unique
from ..models.edit import MetricValue

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from .record import Record
    from .resolved import Resolved
    from .runtime import Runtime


MEASURE = "text"
"""The measure of values that are taken over texts and not over probabilities."""

PROTOCOL = 1
"""Part of an edit's identity: raise it when the rules of generating or measuring change."""


@dataclass(frozen=True, slots=True)
class Texts:
    """One text a prompt by the unedited and by the edited model, each with its prompt."""

    prompts: tuple[str, ...]
    pre: tuple[str, ...]
    post: tuple[str, ...]


def prompts(rewrite: RewriteRequest) -> tuple[str, ...]:
    """Return the prompts that the models continue, without repeats."""
    if rewrite.generation_prompts:
        return unique(rewrite.generation_prompts)
    clozes = (rewrite.prompt, *rewrite.paraphrases)
    return unique(fill(cloze, rewrite.subject).rstrip(" ") for cloze in clozes)


def both(resolved: Resolved, effect: EditEffect) -> Texts:
    """The texts before and after the edit, with the same random numbers; the model is restored.

    The unedited model's are generated once for all edits of a rewrite.
    """
    from ...editing.deltas import applied

    request, model = resolved.request, resolved.model
    clozes = prompts(request.rewrite)
    key = ("texts", model.loaded.info.digest, model.loaded.info.dtype, f"{request.seed}")
    pre = resolved.runtime.memoised((*key, *clozes), lambda: _generate(resolved, clozes, None))
    with applied(model.loaded.model, effect):
        post = _generate(resolved, clozes, effect.prompt_change)
    return Texts(clozes, pre, post)


def _generate(resolved: Resolved, clozes: tuple[str, ...], prompt_change: Any) -> tuple[str, ...]:
    from ...editing.probe.free_text import generate

    return tuple(
        generate(
            resolved.model.loaded,
            clozes,
            seed=resolved.request.seed,
            prompt_change=prompt_change,
            batch_tokens=resolved.request.probe.batch_tokens,
            done=lambda done, total: resolved.runtime.progress(done, total, "writing"),
        )
    )


def measured(resolved: Resolved, record: Record, texts: Texts) -> list[MetricValue]:
    """Fluency (bits) and consistency, before and after; the texts are stored with the edit.

    `n` of fluency is the number of texts, of consistency that of reference texts: without any it
    is 0 with n = 0.
    """
    from ...editing.probe.text_metrics import consistency, fluency

    record.write_texts(prompts=list(texts.prompts), pre=list(texts.pre), post=list(texts.post))
    references = resolved.request.rewrite.reference_texts
    idf = _frequencies(resolved) if references else {}
    values: list[MetricValue] = []
    for suffix, generated in (("", texts.post), ("_pre", texts.pre)):
        for metric, value, n in (
            ("fluency", fluency(generated), len(generated)),
            ("consistency", consistency(generated, references, idf), len(references)),
        ):
            values.append(MetricValue(metric=metric + suffix, measure=MEASURE, value=value, n=n))
    return values


def _frequencies(resolved: Resolved) -> dict[str, float]:
    """Return the inverse document frequency of each word in the reference texts.

    The texts are those of the whole data set, and of this request.
    """
    from ...editing.probe.text_metrics import inverse_document_frequencies

    runtime, dataset, rewrite = resolved.runtime, resolved.dataset, resolved.request.rewrite

    def count() -> dict[str, float]:
        stored = runtime.content_of(dataset).rewrites
        texts = (text for each in (*stored, rewrite) for text in each.reference_texts)
        return inverse_document_frequencies(unique(texts))

    return runtime.memoised(("idf", dataset.id, dataset.digest, rewrite.id), count)


def stored(runtime: Runtime, edit: str) -> Texts | None:
    """The texts of a scored edit; None where none were generated."""
    found = runtime.db.read(rows.GenerationsRow, "edits/generations", id=edit)
    if not found or not found[0].prompts:
        return None
    return Texts(found[0].prompts, found[0].pre, found[0].post)
