"""Probes of a model's facts, by two measures: sampled answers and exact likelihood.

The sampled proportion `p` of right answers (ThinkEval's protocol, k = 5) is noisy; the
teacher-forced `likelihood` is exact and much cheaper. Both use the same prompt. `sampled` and
`likelihood` define the measures, `prompts` the prompt of a fact, `matching` when an answer is
right, wrong or undecided. Importing this module imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...loaders.records import unique
from ..errors import ProbeError
from ..evaluation_mode import evaluating
from .matching import gives
from .prompts import PromptChange, Query, Rendered, Renderer, Rendering
from .settings import (
    MEASURES,
    Measure,
    ProbeItem,
    ProbeResult,
    ProbeSettings,
)

if TYPE_CHECKING:
    from ..models import LoadedModel

__all__ = [
    "MEASURES",
    "Measure",
    "ProbeItem",
    "ProbeResult",
    "ProbeSettings",
    "Progress",
    "own_answers",
    "probe",
]

Progress = Callable[[int, int, str], None]
"""Called with the numbers of completed and of all sequences, and the stage's name."""


def probe(
    loaded: LoadedModel,
    items: Sequence[ProbeItem],
    settings: ProbeSettings | None = None,
    *,
    progress: Progress | None = None,
    prompt_change: PromptChange | None = None,
) -> list[ProbeResult]:
    """Probe a model for every item; results in the order of the items.

    The model, its tokenizer and the global random state are unchanged on return.

    Args:
        loaded: the model; probe an edited model inside `with applied(model, effect)`.
        items: facts to probe; a prompt of several items is evaluated once.
        settings: the defaults of `ProbeSettings` if None.
        progress: the stage is `sampling` or `likelihood`.
        prompt_change: applied to each plain prompt (in-context editing).

    Raises:
        ProbeError: an item without object or question, a prompt too long for the model, or NaN
            from the model; names the item.
        DeviceMemoryError: a single row does not fit on the device.
    """
    settings = settings or ProbeSettings()
    renderer = Renderer(loaded.tokenizer, settings.chat, prompt_change)

    def measure(queries: Sequence[Query]) -> dict[str, list[Any]]:
        with evaluating(loaded.model):
            return _measure(loaded, queries, settings, progress)

    return measured(items, settings, renderer, measure)


SURE = 0.5
"""Above this probability every token of an object is the likeliest one, and so the object is the
greedy answer."""


def own_answers(
    loaded: LoadedModel,
    items: Sequence[ProbeItem],
    settings: ProbeSettings | None = None,
    *,
    likelihoods: Sequence[float | None] = (),
    prompt_change: PromptChange | None = None,
) -> list[str]:
    """The model's own likeliest answer to the prompt of each item, in order.

    It is decoded greedily and ends with its first clause, or with the objects of the prompt that it
    begins with; "" where the model gives none. Model and tokenizer are unchanged on return.

    Args:
        loaded, items, settings, prompt_change: as in `probe`.
        likelihoods: of the items, as the model now gives them; None where it was not asked. An
            object above SURE is the answer, and is not decoded.

    Raises:
        ProbeError, DeviceMemoryError: as `probe`.
    """
    # Imported here because it imports torch, which `thinkeval --help` must not load.
    from .greedy import said

    settings = settings or ProbeSettings()
    renderer = Renderer(loaded.tokenizer, settings.chat, prompt_change)
    prompts = [queries_of(item, settings, renderer)[0].rendered for item in items]
    right: dict[Rendered, tuple[str, ...]] = {}
    for item, prompt in zip(items, prompts, strict=True):
        right[prompt] = (*right.get(prompt, ()), item.object.strip(), *item.aliases)
    sure: dict[Rendered, str] = {}
    for item, prompt, value in zip(items, prompts, likelihoods or [None] * len(items), strict=True):
        # The likelihood of several names, or of several texts, is no probability of one text; and
        # where a prompt has several objects, an answer may list them.
        averaged = settings.paraphrases and item.paraphrases and not item.separate
        if value is not None and value > SURE and len({*right[prompt]}) == 1 and not averaged:
            sure[prompt] = item.object.strip()
    names = unique(name for item in items for name in (item.object, *item.aliases))
    asked = [prompt for prompt in prompts if prompt not in sure]
    found = []
    if asked:
        found = said(loaded, asked, names, right=right, batch_tokens=settings.batch_tokens)
    answers = sure | dict(zip(asked, found, strict=True))
    return [answers[prompt] for prompt in prompts]


def measured(
    items: Sequence[ProbeItem],
    settings: ProbeSettings,
    renderer: Rendering,
    measure: Callable[[Sequence[Query]], dict[str, list[Any]]],
) -> list[ProbeResult]:
    """Results of items whose prompts something measures; see `probe`.

    Args:
        measure: from queries to one value a query for each measure, and under `answers` the
            sampled texts of each.
    """
    groups = [queries_of(item, settings, renderer) for item in items]
    queries = [query for group in groups for query in group]
    if not queries:
        return []
    values = measure(queries)
    answers = values.pop("answers")
    results, start = [], 0
    for item, group in zip(items, groups, strict=True):
        part = slice(start, start + len(group))
        start += len(group)
        columns = {name: column[part] for name, column in values.items()}
        results.append(_result(item, columns, answers[part], settings))
    return results


def queries_of(item: ProbeItem, settings: ProbeSettings, renderer: Rendering) -> list[Query]:
    """Query of the item's prompt or question, then those of its paraphrases if requested.

    Raises:
        ProbeError: the item has no object, prompt or question.
    """
    names = unique((item.object.strip(), *(alias.strip() for alias in item.aliases)))
    if not item.object.strip():
        raise ProbeError(f"'{item.id}' has no object", remedy="Give the fact an object.")
    if settings.ask == "question" and not (item.question or "").strip():
        raise ProbeError(
            f"'{item.id}' ({item.prompt} ...) has no question", remedy="Use --ask cloze."
        )
    if settings.ask == "cloze" and not item.prompt.strip():
        raise ProbeError(f"the prompt of '{item.id}' is empty", remedy="Give the fact a prompt.")
    main = (
        renderer.question(item.question or "")
        if settings.ask == "question"
        else renderer.cloze(item.prompt)
    )
    more = item.paraphrases if settings.paraphrases or item.separate else ()
    return [Query(item.id, text, names, item.longer) for text in (main, *map(renderer.cloze, more))]


def _measure(
    loaded: LoadedModel,
    queries: Sequence[Query],
    settings: ProbeSettings,
    progress: Progress | None,
) -> dict[str, list[Any]]:
    """The requested measures, each with one value per query, and the `answers`."""
    # Imported here because they import torch, which `thinkeval --help` must not load.
    from .likelihood import likelihoods
    from .sampled import Sampling, sample

    values: dict[str, list[Any]] = {"answers": [()] * len(queries)}
    if "p" in settings.measures:
        sampled = sample(
            loaded,
            queries,
            Sampling(
                settings.samples, settings.temperature, settings.max_new_tokens, settings.seed
            ),
            batch_tokens=settings.batch_tokens,
            done=_stage(progress, "sampling"),
        )
        values["p"] = [s.share for s in sampled]
        values["answers"] = [s.answers for s in sampled]
    if set(settings.measures) - {"p"}:
        scored = likelihoods(
            loaded,
            queries,
            batch_tokens=settings.batch_tokens,
            done=_stage(progress, "likelihood"),
        )
        values["likelihood"] = [s.likelihood for s in scored]
        values["likelihood_norm"] = [s.likelihood_norm for s in scored]
    return {k: v for k, v in values.items() if k == "answers" or k in settings.measures}


def _result(
    item: ProbeItem,
    values: dict[str, list[float | None]],
    answers: Sequence[tuple[str, ...]],
    settings: ProbeSettings,
) -> ProbeResult:
    averaged = settings.paraphrases and not item.separate
    n_texts = len(answers) if averaged else 1
    means = {name: _mean(column[:n_texts]) for name, column in values.items()}
    flat = tuple(answer for text in answers[:n_texts] for answer in text)
    names = unique((item.object.strip(), *(alias.strip() for alias in item.aliases)))
    return ProbeResult(
        id=item.id,
        p=means.get("p"),
        likelihood=means.get("likelihood"),
        likelihood_norm=means.get("likelihood_norm"),
        n_samples=sum(gives(answer, names, longer=item.longer) is not None for answer in flat),
        answers=flat,
        paraphrases={
            name: [value for value in column[1:] if value is not None]
            for name, column in values.items()
            if column[1:] and None not in column[1:]
        },
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are defined; None without one."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _stage(progress: Progress | None, stage: str) -> Callable[[int, int], None] | None:
    """Add the stage's name to a count of finished rows."""
    if progress is None:
        return None
    return lambda done, total: progress(done, total, stage)
