"""What is asked of a model, and what it answered: facts in, answers out.

The edited fact is asked with target_true and with target_new; the rewrite's paraphrases are asked
beside it and kept out of its mean, so that generalization is measured and efficacy stays itself.
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

    items = [_item(str(i), question) for i, question in enumerate(questions)]
    results = probe(loaded, items, settings, prompt_change=prompt_change, progress=progress)
    return [_answer(result) for result in results]


def _fill(prompt: str, subject: str) -> str:
    return prompt.replace(SUBJECT_SLOT, subject, 1).rstrip()


def _item(key: str, question: Question) -> ProbeItem:
    from editing.probe import ProbeItem

    fact, separate = question.fact, bool(question.generalization)
    clozes = question.generalization if separate else fact.paraphrases
    return ProbeItem(
        id=key,
        prompt=_fill(fact.prompt, fact.subject),
        question=fact.question,
        paraphrases=tuple(_fill(p, fact.subject) for p in clozes),
        object=fact.object,
        aliases=question.aliases,
        separate=separate,
    )


def _values(result: ProbeResult) -> dict[str, float]:
    pairs = {
        "p": result.p,
        "likelihood": result.likelihood,
        "likelihood_norm": result.likelihood_norm,
    }
    return {name: float(value) for name, value in pairs.items() if value is not None}


def _answer(result: ProbeResult) -> Answer:
    return Answer(
        values=_values(result),
        answers=result.answers,
        n_samples=result.n_samples,
        paraphrases=result.paraphrases,
    )


def questions_for(facts: Sequence[Fact], aliases: Mapping[str, tuple[str, ...]]) -> list[Question]:
    """One question a fact, with its object's aliases."""
    return [Question(fact, aliases.get(fact.object, ())) for fact in facts]
