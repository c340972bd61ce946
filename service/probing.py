"""What is asked of a model, and what it answered: facts in, answers out.

The edited fact is asked with target_true and with target_new, and each of the rewrite's paraphrases
is an item of its own, so that generalization is measured without averaging the prompt itself away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from loaders.records import SUBJECT_SLOT, Fact
from service.answers import Answer, Question

if TYPE_CHECKING:
    from editing.models import LoadedModel
    from editing.probe import ProbeItem, ProbeResult, ProbeSettings

Progress = Callable[[int, int, str], None]


def ask(
    loaded: LoadedModel,
    questions: Sequence[Question],
    settings: ProbeSettings,
    *,
    prompt_change: Callable[[str], str] | None = None,
    progress: Progress | None = None,
) -> list[Answer]:
    """Ask a model for every fact; one answer a question, in order."""
    from editing.probe import probe

    items = [item for i, question in enumerate(questions) for item in _items(str(i), question)]
    results = probe(loaded, items, settings, prompt_change=prompt_change, progress=progress)
    by_id = {result.id: result for result in results}
    return [_answer(str(i), question, by_id) for i, question in enumerate(questions)]


def _fill(prompt: str, subject: str) -> str:
    return prompt.replace(SUBJECT_SLOT, subject, 1).rstrip()


def _items(key: str, question: Question) -> list[ProbeItem]:
    from editing.probe import ProbeItem

    fact = question.fact
    main = ProbeItem(
        id=key,
        prompt=_fill(fact.prompt, fact.subject),
        question=fact.question,
        paraphrases=tuple(_fill(p, fact.subject) for p in fact.paraphrases),
        object=fact.object,
        aliases=question.aliases,
    )
    others = [
        ProbeItem(
            id=f"{key}/{j}",
            prompt=_fill(prompt, fact.subject),
            question=None,
            paraphrases=(),
            object=fact.object,
            aliases=question.aliases,
        )
        for j, prompt in enumerate(question.generalization)
    ]
    return [main, *others]


def _values(result: ProbeResult) -> dict[str, float]:
    pairs = {
        "p": result.p,
        "likelihood": result.likelihood,
        "likelihood_norm": result.likelihood_norm,
    }
    return {name: float(value) for name, value in pairs.items() if value is not None}


def _answer(key: str, question: Question, results: Mapping[str, ProbeResult]) -> Answer:
    main = results[key]
    values = _values(main)
    paraphrased = [_values(results[f"{key}/{j}"]) for j in range(len(question.generalization))]
    return Answer(
        values=values,
        answers=tuple(main.answers),
        n_samples=main.n_samples,
        paraphrases={m: [v[m] for v in paraphrased] for m in values} if paraphrased else {},
    )


def questions_for(facts: Sequence[Fact], aliases: Mapping[str, tuple[str, ...]]) -> list[Question]:
    """One question a fact, with its object's aliases."""
    return [Question(fact, aliases.get(fact.object, ())) for fact in facts]
